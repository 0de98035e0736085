"""The summarisers of strategies: ``extractive`` without a model, ``model`` with one."""
