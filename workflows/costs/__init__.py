"""What a run will cost before it is run: `python -m dpregret.workflows.costs PROFILE --cores 64`."""
