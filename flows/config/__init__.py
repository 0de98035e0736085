"""What a study says: its file, its defaults, its models and its runner."""
