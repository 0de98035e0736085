"""The embedded engine: prober, responder and judge in the process, deterministic, without a model or a key.

It measures what *survives*: whether the facts of a session can still be read off a compacted context. No language
model reads, answers or grades, and every place that shows its scores says so. Read in this order: ``facts`` (what a
session proves), ``prober`` (questions with proven answers), ``responder`` (an extractive reader of the context),
``claims`` (an answer taken apart), ``judge`` (the formulas).
"""

from judge.embedded.judge import EmbeddedJudge
from judge.embedded.prober import EmbeddedProber
from judge.embedded.responder import EmbeddedResponder

__all__ = ["EmbeddedJudge", "EmbeddedProber", "EmbeddedResponder"]
