"""Results of tau-bench and tau2-bench."""
