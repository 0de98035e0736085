"""The embedded engine: prober, responder and judge in the process, deterministic, without a model or a key.

It measures what *survives*: how far statements that a session proves can still be read in a compacted context. No
language model reads, answers or grades, and every place that shows its scores says so. Read in this order: ``prober``
(questions with statements that are proven), ``judge.measures.states`` (what a context tells of them), ``responder``
(the lines in which it does), ``judge`` (the formulas).
"""

from judge.embedded.judge import EmbeddedJudge
from judge.embedded.prober import EmbeddedProber
from judge.embedded.responder import EmbeddedResponder

__all__ = ["EmbeddedJudge", "EmbeddedProber", "EmbeddedResponder"]
