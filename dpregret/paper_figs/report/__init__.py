"""One self-contained page that shows a whole run: claims, tables, curves, figures, errata, audit, costs.

The page is one HTML file without a link to the outside; its charts are drawn by Observable Plot, which is embedded.
"""
