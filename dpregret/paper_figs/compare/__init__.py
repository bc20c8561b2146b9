"""Comparison of two runs, and the gate against the committed reference."""
