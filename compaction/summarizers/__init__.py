"""What writes the summaries that strategies ask for: ``extractive`` without a model, ``model`` with one."""
