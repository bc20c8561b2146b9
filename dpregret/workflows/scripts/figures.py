"""Draw the figures of one paper."""

import gc

from dpregret.paper_figs.figures.write import write_figures
from dpregret.workflows.plan.titles import display_names
from dpregret.workflows.run.script import PAPERS, running

with running(snakemake) as script:
    gc.set_threshold(50_000, 20, 100)  # figures are many small objects: to look for cycles takes a tenth of the time
    further = {
        key: script.file(f"{stage}/{script.of}")
        for key, stage in (("costs_file", "oracles"), ("exact", "exact"))
        if f"{stage}/{script.of}" in script.plan.made
    }
    write_figures(
        script.runs(script.of),
        PAPERS / script.of,
        script.out,
        experiments=set(script.config.papers[script.of].experiments),
        names=display_names(),
        **further,
    )
