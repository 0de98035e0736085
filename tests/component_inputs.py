"""What the components are given: edge cases, and the sample sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import judge.blinding
import judge.embedded.prober
import judge.llm.judge
import judge.llm.prober
import judge.llm.responder
from compaction import (
    CompactionPoint,
    Message,
    ToolCall,
    Transcript,
    counted,
)
from compaction.model import Section
from compaction.points import find_points, legal_cuts
from flows.config.study import Study
from flows.sources import discover, read_input
from flows.support.sample_sessions import sample_folder as samples_folder
from judge import Probe
from tests.compaction.histories import build, random_words
from tests.component import COUNTER
from tests.judge.llm import probe_cases

BUDGET = 8_000
"""Tokens; the sample sessions have several times as many."""


def counted_session(*messages: Message) -> tuple[Message, ...]:
    return tuple(counted(replace(message, seq=number), COUNTER) for number, message in enumerate(messages))


@cache
def edge_histories() -> dict[str, tuple[Message, ...]]:
    """Histories of awkward shapes: empty, one message, only tools, images, reused ids, and a few of everything."""
    calls = [ToolCall(f"c{n}", "bash", f'{{"command": "pytest -q tests/test_{n}.py"}}') for n in range(4)]
    tools: list[Message] = []
    for call in calls:
        text = f"FAILED {call.id}\nError: {call.id} of 9\n" * 5
        tools += Message("assistant", tool_calls=(call,)), Message("tool", text, tool_call_id=call.id, tool_name="bash")
    again = [
        replace(m, tool_calls=(calls[0],)) if m.tool_calls else replace(m, tool_call_id=calls[0].id) for m in tools
    ]
    image = Message("user", "Look at this.\n[image image/png, 31 KB]")
    shot = Message("tool", "[image image/png, 640x480]", tool_call_id="c0", tool_name="screenshot")
    asks = Message("assistant", "", "I see.", (calls[0],))
    return {
        "empty": (),
        "one message": counted_session(Message("user", "Please mend the login.")),
        "only tools": counted_session(*tools),
        "images": counted_session(image, asks, shot, image, Message("assistant", "A chart.")),
        "reused ids": counted_session(Message("system", "rules"), Message("user", "go on"), *again),
        **{f"drawn {seed}": build(random_words(seed)) for seed in (1, 4, 8, 11, 17)},
        "work": probe_cases.SESSION.messages,
    }


@cache
def edge_sessions() -> tuple[Transcript, ...]:
    """The same as whole sessions."""
    return tuple(Transcript(name, messages, cwd="/srv/app") for name, messages in edge_histories().items())


@cache
def sample_sessions() -> tuple[Transcript, ...]:
    """The sessions that come with the package, without where they lie."""
    found = [transcript for input in discover([samples_folder()]) for transcript in read_input(input).transcripts]
    return tuple(
        replace(transcript, source_path="", messages=counted_session(*transcript.messages))
        for transcript in sorted(found, key=lambda transcript: transcript.session_id)
    )


def points_of(transcript: Transcript) -> list[CompactionPoint]:
    """The middle of a session and its end, or where the default finds points."""
    messages = transcript.messages
    found = find_points(transcript, Study(points=f"tokens:{2 * BUDGET}").points_spec)
    if found or not messages:
        return found[:3]
    legal = [cut for cut, is_legal in enumerate(legal_cuts(messages)) if is_legal and cut >= len(messages) // 2]
    return [CompactionPoint(transcript.session_id, 1, cut, 1_000) for cut in legal[:1]]


def contexts_of(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """What a method could leave, without any method: all, the end, and the end behind a summary."""
    end = tuple(messages[-len(messages) // 3 :])
    gone = [message.text for message in messages[: -len(end)] if message.text]
    files = "## Files\n- `src/pool.py` (modified): size\n- `src/new.py` (created)\n\n## State\n"
    summary = Message("user", files + "\n".join(gone)[:3_000], covers=tuple(range(len(messages) - len(end))))
    return [tuple(messages), end, (summary, *end)]


SECTIONS = (
    Section("Goal", ("intent",), "What is wanted."),
    Section("Files and errors", ("files", "errors"), "Files with what was done to them, errors with their fix."),
    Section("State", ("state", "decisions", "details"), "What holds now and why."),
    Section("Next", ("next_steps",), "What is to be done."),
    Section("Else", ("free",), "Anything else."),
)


@cache
def sample_probes() -> dict[tuple[str, int], list[Probe]]:
    """Session and cut → the probes of the sample sessions."""
    prober = judge.embedded.prober.EmbeddedProber()
    return {
        (transcript.session_id, point.cut_seq): [p for p in prober.probes(transcript, point) if isinstance(p, Probe)]
        for transcript in sample_sessions()
        for point in points_of(transcript)
    }
