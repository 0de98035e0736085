"""Audits of a judge: plain gradings, hostile texts, and signs that give a method away."""
