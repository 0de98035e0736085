"""Whether a judge can be trusted: plain gradings, hostile texts, and what gives a method away."""
