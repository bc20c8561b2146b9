"""The tables of a paper, as CSV, Markdown, LaTeX and HTML."""
