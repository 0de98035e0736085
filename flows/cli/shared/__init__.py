"""What several commands share: options, completion, exit codes, how a flow is run."""
