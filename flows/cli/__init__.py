"""The command ``compaction-eval``: a module for each verb; ``shared`` holds what several verbs use."""
