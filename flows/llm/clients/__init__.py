"""The clients of the providers' interfaces."""
