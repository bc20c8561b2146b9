"""Are the fits, the verdicts and the gate right? Planted laws, simulated."""
