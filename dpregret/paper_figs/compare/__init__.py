"""Two runs beside each other, and the gate against the committed reference."""
