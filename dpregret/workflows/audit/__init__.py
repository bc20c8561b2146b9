"""The audit: every private learner against neighbouring inputs chosen to expose it."""
