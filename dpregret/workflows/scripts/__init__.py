"""One script a rule, of the same name."""
