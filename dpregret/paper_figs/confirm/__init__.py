"""From verdicts on fresh seeds to a table, its counts and a figure."""
