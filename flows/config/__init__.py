"""The content of a study: its file, its defaults, its models and its runner."""
