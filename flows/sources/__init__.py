"""Stored logs of coding agents → ``Transcript``: one module a format, all read the same way.

``discover`` turns files, folders and globs into inputs; ``read_input`` recognises an input's format from its content
and reads it. Nothing in a file raises: what cannot be read is set aside with file, line and reason, and what is
deliberately no message (a demonstration, a recorded summary, progress notices) is counted on the transcript.

Read the modules of ``reading`` in this order: ``inputs``, ``base`` (the description of a format, the opened input),
``decode`` (bytes to JSON), ``values`` (access to JSON), ``blocks`` (content to visible text), ``session`` (pieces to a
``Transcript``); then a format, and ``registry``. A new format is one module of ``formats`` with a ``FORMAT``.
"""

from flows.sources.discovery import coverage_of, discover
from flows.sources.reading.base import Head, Source, SourceFormat
from flows.sources.reading.inputs import Input, ReadResult, SetAside, SourceError
from flows.sources.registry import InputReading, formats, read_input

__all__ = [
    "Head",
    "Input",
    "InputReading",
    "ReadResult",
    "SetAside",
    "Source",
    "SourceError",
    "SourceFormat",
    "coverage_of",
    "discover",
    "formats",
    "read_input",
]
