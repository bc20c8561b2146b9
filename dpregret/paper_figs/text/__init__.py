"""Numbers, formulas and names as text, and how tables are read back."""
