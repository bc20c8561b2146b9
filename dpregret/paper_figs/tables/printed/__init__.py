"""Tables as the papers print them: their rows, columns and formulas, and beneath each rate what was measured.

`models` reads a paper's `printed.yaml`, `filled` puts the verdicts beneath the rates; `web`, `tex` and `text` show it.
"""
