"""Shell command lines, read without running them: ``effects`` is the way in."""
