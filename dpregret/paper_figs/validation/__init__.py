"""Validation of fits and verdicts by simulated results with planted laws."""
