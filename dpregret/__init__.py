"""Reproducibility benchmark for differentially private online and projection-free optimisation."""

__version__ = "0.1.0"
