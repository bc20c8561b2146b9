"""The plan of a run: read and checked in a child process, passed on as data."""
