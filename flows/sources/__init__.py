"""Stored logs of coding agents → ``Transcript``: one module a format, all read the same way.

``discover`` turns files, folders and globs into inputs; ``read_input`` recognises an input's format from its content
and reads it. Nothing in a file raises: what cannot be read is set aside with file, line and reason, and what is
deliberately no message (a demonstration, a recorded summary, progress notices) is counted on the transcript.

To read in this order: ``base`` (inputs, results, the open source), ``decode`` (bytes to JSON), ``blocks`` (content
to visible text), ``session`` (pieces to the normal form), a format, ``registry``. A new format is one module with a
``FORMAT``, and its name in ``registry``.
"""

from flows.sources.base import Head, Input, ReadResult, SetAside, Source, SourceError, SourceFormat
from flows.sources.discovery import covers, discover
from flows.sources.registry import Reading, formats, read_input

__all__ = [
    "Head",
    "Input",
    "ReadResult",
    "Reading",
    "SetAside",
    "Source",
    "SourceError",
    "SourceFormat",
    "covers",
    "discover",
    "formats",
    "read_input",
]
