"""Sessions of goose."""
