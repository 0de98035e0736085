"""Calls by the providers' batch interfaces."""
