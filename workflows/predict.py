"""The old name of `dpregret.workflows.costs`."""

raise SystemExit("dpregret.workflows.predict is gone: python -m dpregret.workflows.costs PROFILE")
