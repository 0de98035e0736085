"""Selects stored answers for the scores of another judge."""
