"""From the rows of runs to cells, fits and verdicts."""
