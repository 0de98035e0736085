"""A language model that answers a probe from a compacted context and nothing else.

The context goes into the request as one piece of data and not as turns of the chat. Turns would hand the roles on: a
system prompt or a request in the transcript would be the responder's own, providers refuse tool calls of tools that
the request does not declare, and results whose call was compacted away. As data every context can be sent to every
provider, and each message keeps the role that it had. Only what nobody but its provider can read (an encrypted
compaction) goes as it is, before the data; a client that cannot send it refuses the request.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from compaction.code_version import identity_version
from compaction.memo import Memo
from compaction.model import Model, ModelError, ModelRequest
from compaction.transcript import Message, ToolCall
from judge.answer import Answer, AnswerError
from judge.llm.data import json_text, neutralise

VERSION = 1
"""Raise it when a context is shown otherwise. The prompt takes part by its text."""

HEADROOM = 2
"""The model may write so many times the tokens that its question allows: an answer that is cut off is no answer, and
one that is merely too long is graded for it."""

ROOM = 16_000_000
"""Characters of contexts whose shown form is remembered."""


@cache
def answer_prompt() -> str:
    """The responder's system message."""
    return files("judge").joinpath("prompts", "answer.md").read_text(encoding="utf-8").strip()


class ModelResponder:
    """Sees one context and one question a call: not the truth, not the strategy, no other probe."""

    def __init__(self, model: Model, prompt: str | None = None) -> None:
        """``prompt`` takes the place of the one that comes with the package."""
        text = answer_prompt() if prompt is None else prompt
        made_of = {"model": dict(model.identity), "prompt": text, "version": VERSION}
        self.name = f"{model.name}@{identity_version(made_of)}"
        self._model = model
        self._system = Message("system", text)
        self._shown: Memo[str] = Memo(ROOM)

    def answer(self, context: Sequence[Message], question: str, max_tokens: int, replicate: int = 0) -> Answer:
        """The model's answer. Raises AnswerError with the model's reason, or CallsStoppedError."""
        shown = f'{{"context":[{self._messages(context)}],\n'
        asked = Message("user", f'{shown}"question":{json_text(question)}}}')
        items = (message for message in context if message.is_unreadable)
        request = ModelRequest(
            (self._system, *items, asked), HEADROOM * max_tokens, replicate=replicate, shared=len(shown)
        )
        try:
            done = self._model.complete(request)
        except ModelError as error:
            raise AnswerError(str(error)) from error
        return Answer(done.text.strip(), done.model, done.input_tokens, done.output_tokens, done.cost_usd)

    def _messages(self, context: Sequence[Message]) -> str:
        if not isinstance(context, tuple):
            return context_json(context)
        return self._shown.of(context_json, context)


def context_json(context: Sequence[Message], named: Collection[int] = ()) -> str:
    """The messages of a context as JSON objects, one a line, with commas between them.

    Calls are numbered through the context, and a result says which one it belongs to where the call is still there.
    Messages of which the ``seq`` is ``named`` are shown with it, so that they can be asked for.
    """
    numbers: dict[str, int] = {}
    count = 0
    lines = []
    for message in context:
        shown: dict[str, Any] = {"role": message.role}
        if message.seq in named:
            shown["message"] = message.seq
        if message.role == "tool":
            if message.tool_call_id in numbers:
                shown["result_of_call"] = numbers[message.tool_call_id]
            if message.tool_name:
                shown["tool"] = message.tool_name
            if message.is_error:
                shown["failed"] = True
        if message.reasoning:
            shown["thinking"] = message.reasoning
        if message.is_unreadable:
            shown["stands_for"] = "earlier messages, as an item that precedes this one"
        elif message.text or not (message.reasoning or message.tool_calls):
            shown["text"] = message.text
        line = json_text(shown)
        if message.tool_calls:
            calls = []
            for call in message.tool_calls:
                count += 1
                numbers[call.id] = count
                calls.append(f'{{"call":{count},"tool":{json_text(call.name)},"arguments":{_arguments(call)}}}')
            line = f'{line[:-1]},"calls":[{",".join(calls)}]}}'
        lines.append(line)
    return ("\n" + ",\n".join(lines) + "\n") if lines else ""


def _arguments(call: ToolCall) -> str:
    """The JSON object as it was written (read and written again, long numbers would change); else a JSON string."""
    try:
        is_object = isinstance(orjson.loads(call.arguments), dict)
    except ValueError:  # cut off, or no JSON from the start
        is_object = False
    return neutralise(call.arguments) if is_object else json_text(call.arguments)
