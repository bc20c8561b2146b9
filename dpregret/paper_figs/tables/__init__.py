"""The tables of a paper, as CSV, Markdown and LaTeX; its own printed table as HTML too."""
