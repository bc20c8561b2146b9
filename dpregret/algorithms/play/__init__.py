"""The loops that play learners: nothing else draws, sums losses or looks at points."""
