"""Which learner for a setting, from what was measured."""
