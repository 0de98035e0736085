"""A language model that says which tool call comes next in a session, given what is left of its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from compaction.code_version import identity_version
from compaction.model import Completion, Model, ModelRequest, ReplyError
from compaction.transcript import Message, ToolCall
from judge.llm.data import json_text
from judge.llm.responder import context_json
from judge.llm.verdict_form import json_object
from judge.measures import next_action
from judge.measures.next_action import NO_CALL

VERSION = 1
"""Raise it when a context is shown or a reply read otherwise. The prompt takes part by its text."""

MAX_TOKENS = 2_000
"""Of a reply: a call with 20 lines of a file has some 400."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"tool": {"type": "string"}, "arguments": {"type": "string"}},
    "required": ["tool", "arguments"],
    "additionalProperties": False,
}
"""Arguments are the text of a JSON object: their names differ from tool to tool, which strict schemas do not take."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The next tool call as a model says it; without a call where it says that none follows."""

    call: ToolCall | None
    completion: Completion


@cache
def action_prompt() -> str:
    """The system message."""
    return files("judge").joinpath("prompts", "next_action.md").read_text(encoding="utf-8").strip()


def action_version() -> str:
    """Name and version of the measure: of the prompt, the reply's reading and the comparison of actions."""
    made_of = {"prompt": action_prompt(), "asked": VERSION, "compared": next_action.VERSION}
    return f"next_action@{identity_version(made_of)}"


class ModelActor:
    """Sees one context and the names of the session's tools a call: not the method, not what the session did."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._system = Message("system", action_prompt())

    def propose(self, context: Sequence[Message], tools: Mapping[str, Sequence[str]], replicate: int = 0) -> Proposal:
        """Ask for the next call. ``replicate`` is the number of the repetition, which is asked anew.

        Raises ModelError with the model's reason, or CallsStoppedError.
        """
        shown = f'{{"context":[{context_json(context)}],\n'
        asked = Message("user", f'{shown}"tools":{json_text({name: [*keys] for name, keys in tools.items()})}}}')
        items = (message for message in context if message.is_unreadable)
        request = ModelRequest(
            (self._system, *items, asked),
            MAX_TOKENS,
            SCHEMA,
            replicate=replicate,
            check=parse_action,
            shared=len(shown),
        )
        completion = self._model.complete(request)
        return Proposal(parse_action(completion.text), completion)


def parse_action(text: str) -> ToolCall | None:
    """The call in a reply; None for ``none``. Raises ReplyError for a reply of another form."""
    given = json_object(text)
    tool, arguments = given.get("tool"), given.get("arguments")
    if not isinstance(tool, str) or not tool.strip():
        raise ReplyError("tool is missing or no text")
    if tool.strip().lower() == NO_CALL:
        return None
    if isinstance(arguments, dict):
        arguments = orjson.dumps(arguments).decode()
    if not isinstance(arguments, str):
        raise ReplyError("arguments is missing or no text")
    return ToolCall("next", tool.strip(), arguments)
