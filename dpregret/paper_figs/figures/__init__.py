"""Figures for a paper: their style, the look of every algorithm, their words, and one module a kind of figure."""
