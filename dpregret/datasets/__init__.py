"""Losses, streams and data sets."""

if __name__ != "dpregret.datasets":  # the link at the top of a clone, as a module of its own
    raise ImportError("import dpregret.datasets: 'datasets' alone would load a second copy of it")
