"""The command's verbs, one module each; ``options`` holds what they share."""
