"""From the rows of runs to verdicts, tables, figures and the report."""

if __name__ != "dpregret.paper_figs":  # the link at the top of a clone, as a module of its own
    raise ImportError("import dpregret.paper_figs: 'paper_figs' alone would load a second copy of it")
