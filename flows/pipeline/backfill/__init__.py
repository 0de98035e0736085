"""Which stored answers get scores of another judge."""
