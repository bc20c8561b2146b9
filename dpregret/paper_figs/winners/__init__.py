"""Winners: cells that can be compared, the table of winners, performance profiles, and laws that predict regret."""
