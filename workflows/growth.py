"""The old name of `dpregret.workflows.costs`."""

raise SystemExit("dpregret.workflows.growth is gone: python -m dpregret.workflows.costs --fit results results/ci")
