"""Common parts of strategies: pieces of a history, requests to a summariser, the wire formats of others."""
