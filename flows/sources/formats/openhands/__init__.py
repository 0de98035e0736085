"""OpenHands: events, trajectories, outputs and completions."""
