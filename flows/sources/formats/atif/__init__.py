"""Harbor's Agent Trajectory Interchange Format."""
