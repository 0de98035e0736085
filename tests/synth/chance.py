"""Where all chance comes from: the same draws for the same seed and purpose, on every machine."""

from __future__ import annotations

from random import Random


def chance_of(seed: int | str, *purpose: str | int) -> Random:
    """A source of draws of its own for each purpose, so that one part of a corpus does not hang on another."""
    return Random("/".join(map(str, (seed, *purpose))))
