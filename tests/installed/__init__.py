"""The wheel with nothing but its dependencies: every command once, and the notebook."""
