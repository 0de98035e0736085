"""Common parts of commands: options, completion, exit codes, and the call of a flow."""
