"""Looking after a store without a daemon."""
