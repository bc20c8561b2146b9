"""Planning, playing and auditing of a run."""

if __name__ != "dpregret.workflows":  # the link at the top of a clone, as a module of its own
    raise ImportError("import dpregret.workflows: 'workflows' alone would load a second copy of it")
