"""What is printed: the tables of a paper, as CSV, Markdown, LaTeX and HTML."""
