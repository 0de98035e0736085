"""The cache of calls: a call that was paid for is never paid again."""
