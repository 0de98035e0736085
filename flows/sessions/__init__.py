"""Sessions as a store keeps them: their parts, their copies, their task types."""
