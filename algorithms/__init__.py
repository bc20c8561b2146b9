"""The mathematics: learners, and the privacy mechanisms and constraint sets that they are made of."""
