"""``compaction-eval serve``: nightly runs on a schedule."""
