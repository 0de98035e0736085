"""Somebody else's own class as a method: ``peers`` finds and calls it; the modules named after a peer import it."""
