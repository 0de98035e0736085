"""The files of a store: where they are, what is in them, who may write."""
