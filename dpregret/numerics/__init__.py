"""The engine: compiled loops, draws, ordered sums, exponentials and eigenvectors; see README.md."""
