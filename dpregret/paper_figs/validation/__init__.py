"""Are the fits and the verdicts right? Planted laws, simulated."""
