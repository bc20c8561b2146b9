"""Figures for a paper: their style, the curve styles of algorithms, and one module per kind of figure."""
