"""What strategies share: parts of a history, requests to a summariser, the wire formats of others."""
