"""Measures of the stored session alone, without a question, an answer or a judge.

``said`` takes a message apart into names and lines, ``needs`` finds what a session needed again after a point, and
which of it a compacted context has lost. A package of its own: the version of a strategy's code does not depend on how
it is measured.
"""
