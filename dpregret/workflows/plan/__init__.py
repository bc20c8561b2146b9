"""The plan of a run: read and checked in a process of its own, handed on as data."""
