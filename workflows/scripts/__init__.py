"""One module a rule: `main` does a job of the rule with what its command line names (workflows/task.py)."""
