"""Validation of fits and verdicts by simulated results with known laws."""
