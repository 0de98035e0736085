"""Figures, not tests: ``pytest tests/benchmarks -m benchmark -s`` prints them side by side, measured in one run."""
