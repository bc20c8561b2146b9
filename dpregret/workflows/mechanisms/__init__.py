"""Tools about mechanisms for prefix sums: an exact audit of one of your own, test vectors, and pages of numbers."""
