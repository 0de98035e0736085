"""A small session whose facts are known, drafts on it that are right, and a model that writes them."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from compaction import CompactionPoint, Message, TiktokenCounter, ToolCall, Transcript, counted
from compaction.model import ModelRequest
from compaction.testing import ScriptedModel
from judge import NotAsked, Probe, ProbeFailed
from judge.llm.prober import ModelProber
from judge.llm.probes.reply import SCHEMAS

COUNTER = TiktokenCounter()
CUT = 15
LATER = "The rotation of keys goes to vault-agent 9.9.1"


def call(id: str, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id, name, json.dumps(arguments))


def transcript(*steps: Message, id: str = "s") -> Transcript:
    return Transcript(id, tuple(counted(replace(m, seq=i), COUNTER) for i, m in enumerate(steps)))


SESSION = transcript(
    Message("system", "You are an agent of the brewery 7.7."),
    Message("user", "Please make the session store survive a broker restart."),
    Message("assistant", "First the suite.", tool_calls=(call("1", "Bash", command="pytest -q tests/store"),)),
    Message(
        "tool",
        "Traceback (most recent call last):\n  E   ConnectionResetError: [Errno 104] by peer at\n"
        "  10.0.0.7:6380\nExit code 1",
        tool_call_id="1",
        tool_name="Bash",
        is_error=True,
    ),
    Message("assistant", "", tool_calls=(call("2", "Read", file_path="src/broker.py"),)),
    Message("tool", "1\ttimeout = 30", tool_call_id="2", tool_name="Read"),
    Message(
        "assistant",
        "I keep one pool of twelve sockets, because the broker closes idle ones after `idle_cap`. "
        "Opening a socket for each request would exhaust its file handles.",
        tool_calls=(
            call("3", "Edit", file_path="src/pool.py", old_string="size = 4", new_string="size = 12\nidle_cap = 90"),
        ),
    ),
    Message("tool", "The file src/pool.py has been updated.", tool_call_id="3", tool_name="Edit"),
    Message(
        "assistant",
        "",
        tool_calls=(
            call("4", "Write", file_path="src/retry.py", content='def again(call):\n    return "once more"\n'),
        ),
    ),
    Message("tool", "File created successfully at: src/retry.py", tool_call_id="4", tool_name="Write"),
    Message(
        "assistant",
        "",
        tool_calls=(
            call(
                "5",
                "TodoWrite",
                todos=[
                    {"content": "raise the pool size", "status": "completed"},
                    {"content": "write the restart test for retry.py", "status": "pending"},
                    {"content": "document idle_cap in the handbook", "status": "pending"},
                ],
            ),
        ),
    ),
    Message("tool", "ok", tool_call_id="5", tool_name="TodoWrite"),
    Message("assistant", "", tool_calls=(call("6", "Bash", command="pytest -q tests/store"),)),
    Message(
        "tool",
        "FAILED tests/store/test_pool.py::test_idle - AssertionError: 91 != 90\n1 failed, 6 passed in 0.2s",
        tool_call_id="6",
        tool_name="Bash",
        is_error=True,
    ),
    Message("assistant", "One is red still. Next I'll mend test_idle with a frozen clock."),
    Message("user", LATER),
    Message("assistant", "Later: " + LATER),
)
POINT = CompactionPoint("s", 1, CUT, 1000)

DRAFTS: dict[str, dict[str, Any]] = {
    "recall": {
        "probes": [
            {
                "evidence": [{"message": 3, "quote": "ConnectionResetError: [Errno 104] by peer"}],
                "kind": "error",
                "question": "With which error did the first run of the store's tests end?",
                "answer": "ConnectionResetError: [Errno 104] by peer",
            }
        ]
    },
    "decision": {
        "probes": [
            {
                "evidence": [
                    {"message": 6, "quote": "I keep one pool of twelve sockets, because the broker closes idle ones"}
                ],
                "question": "How does the session store get its connections, and why?",
                "decision": "One pool of twelve sockets",
                "reason": "The broker closes idle ones after `idle_cap`",
                "alternatives": "Opening a socket for each request, which would exhaust file handles",
            }
        ]
    },
    "continuation": {
        "question": "Where does the work on the session store stand, and what is left?",
        "items": [
            {
                "part": "open",
                "text": "write the restart test for retry.py",
                "message": 10,
                "quote": "write the restart test for retry.py",
            },
            {
                "part": "failing",
                "text": "tests/store/test_pool.py::test_idle: AssertionError: 91 != 90",
                "message": 13,
                "quote": "test_pool.py::test_idle - AssertionError",
            },
            {
                "part": "next",
                "text": "mend test_idle with a frozen clock",
                "message": 14,
                "quote": "Next I'll mend test_idle with a frozen clock",
            },
        ],
    },
    "constraint": {
        "question": "What has to hold for the work at all times?",
        "rules": [
            {
                "text": "The session store has to survive a broker restart",
                "message": 1,
                "quote": "make the session store survive a broker restart",
            }
        ],
    },
    "artifact": {
        "question": "Which files did the work on the store leave behind or change, and how?",
        "files": [
            {
                "path": "src/pool.py",
                "state": "modified",
                "change": "`size` is 12 and `idle_cap` is new",
                "message": 6,
                "quote": "size = 12 idle_cap = 90",
            },
            {
                "path": "src/retry.py",
                "state": "created",
                "change": "`again` calls once more",
                "message": 8,
                "quote": "def again(call):",
            },
        ],
    },
}


def type_of(request: ModelRequest) -> str:
    """Which probe a request asks for; ``guess`` where it asks a question without a history."""
    return next((kind for kind, schema in SCHEMAS.items() if request.schema is schema), "guess")


def drafts(probe_type: str, entry: int = 0, **changed: Any) -> dict[str, Any]:
    """The right reply for a type with some fields of its probe, or of one of its items, set otherwise."""
    reply = deepcopy(DRAFTS[probe_type])
    entries = next(value for value in reply.values() if isinstance(value, list))
    for key, value in changed.items():
        (reply if key in reply else entries[entry])[key] = value
    return reply


def writer(guess: str = "I cannot know.", **replies: Mapping[str, Any]) -> ScriptedModel:
    """A model that writes the right drafts, or what it is given for a type, and always guesses the same."""

    def answer(request: ModelRequest) -> str:
        kind = type_of(request)
        return guess if kind == "guess" else json.dumps(replies.get(kind, DRAFTS[kind]))

    return ScriptedModel(answer)


def ask(
    model: ScriptedModel, session: Transcript = SESSION, point: CompactionPoint = POINT
) -> dict[str, Probe | NotAsked | ProbeFailed]:
    return {p.probe_type: p for p in ModelProber(model, counter=COUNTER).probes(session, point)}


def one(
    probe_type: str, guess: str = "I cannot know.", entry: int = 0, **changed: Any
) -> Probe | NotAsked | ProbeFailed:
    """What becomes of a type's right draft with some fields changed."""
    return ask(writer(guess, **{probe_type: drafts(probe_type, entry, **changed)}))[probe_type]


def reason(found: Probe | NotAsked | ProbeFailed) -> str:
    return found.reason if isinstance(found, NotAsked) else "asked"
