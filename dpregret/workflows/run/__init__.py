"""One play: its seeds, its process, the store that keeps its rows."""
