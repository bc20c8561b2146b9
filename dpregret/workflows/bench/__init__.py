"""Is this tree slower than a commit? `python -m dpregret.workflows.bench BASE`."""
