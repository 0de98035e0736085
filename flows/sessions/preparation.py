"""Prepares a session from its log: secrets are masked, messages counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from compaction.tokens import TokenCounter, counted
from compaction.transcript import Transcript
from flows.redaction import Redactor
from flows.sources.reading.inputs import path_text


def prepared(
    transcript: Transcript, counter: TokenCounter, redactor: Redactor | None, masked: Counter[str] | None = None
) -> Transcript:
    """A session without its secrets, with its messages numbered and counted.

    Args:
        transcript: The session as it was read.
        counter: What counts tokens.
        redactor: What masks secrets; None for none.
        masked: Is added to: kind of secret → number of places that were masked.
    """
    if redactor is not None:
        transcript, found = redactor.redact_transcript(transcript)
        if masked is not None:
            masked.update(found)
    messages = tuple(
        counted(message if message.seq == i else replace(message, seq=i), counter)
        for i, message in enumerate(transcript.messages)
    )
    # Names of folders and files end up in these, and need not be UTF-8.
    id, path, parent = transcript.session_id, transcript.source_path, transcript.parent_session_id
    return replace(
        transcript,
        session_id=path_text(id),
        source_path=path_text(path),
        parent_session_id=None if parent is None else path_text(parent),
        messages=messages,
    )
