"""Use cases: one function is one thing a caller can do, in one transaction."""
