"""An old name: what jobs take stands in their benchmark files."""

raise SystemExit("dpregret.workflows.measure is gone: results/*/benchmark says what jobs took")
