"""The mathematics: learners, and the privacy mechanisms and constraint sets that they use."""

if __name__ != "dpregret.algorithms":  # the link at the top of a clone, as a module of its own
    raise ImportError("import dpregret.algorithms: 'algorithms' alone would load a second copy of it")
