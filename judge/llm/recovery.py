"""A language model that may fetch dropped messages before it answers: it replies with a request or with its answer.

A request is a reply in JSON, so that every provider and the call cache take it. Each round is a call of its own that
begins as the one before it did: instructions, context, what was fetched so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from compaction.code_version import identity_version
from compaction.memo import Memo
from compaction.model import Model, ModelError, ModelRequest, ReplyError
from compaction.strategies.recovery import FetchRequest, Recovery
from compaction.transcript import Message
from judge.answer import Answer, AnswerError
from judge.llm.data import json_text
from judge.llm.responder import HEADROOM, ROOM, answer_prompt, context_json
from judge.llm.verdict_form import json_object

VERSION = 1
"""Raise it when something is shown, or a reply read otherwise. The prompt takes part by its text."""

REQUEST_TOKENS = 100
"""Room for a request beside that for an answer, which may be short."""


@cache
def recovery_prompt() -> str:
    """The system message: the responder's, and how to fetch."""
    more = files("judge").joinpath("prompts", "recover.md").read_text(encoding="utf-8").strip()
    return f"{answer_prompt()}\n\n{more}"


def recovering_name(responder: str) -> str:
    """The name of a responder with what lets it fetch; its answers are kept apart by it."""
    return f"{responder} + recover@{identity_version({'prompt': recovery_prompt(), 'version': VERSION})}"


@dataclass(frozen=True, slots=True)
class RecoveredAnswer:
    """An answer, and the requests by which messages were fetched for it."""

    answer: Answer
    """Its tokens and costs are those of all rounds."""
    requests: tuple[str, ...]
    """Each as JSON (``write_request``), in order."""


class RecoveringResponder:
    """Sees one context, one question and what it fetches: not the truth, not the strategy, no other probe."""

    def __init__(self, model: Model, responder: str) -> None:
        """``responder`` is the name of the one that does not fetch."""
        self.name = recovering_name(responder)
        self._model = model
        self._system = Message("system", recovery_prompt())
        self._shown: Memo[str] = Memo(ROOM)

    def answer(
        self,
        context: tuple[Message, ...],
        question: str,
        max_tokens: int,
        recovery: Recovery,
        fetches: int,
        replicate: int = 0,
    ) -> RecoveredAnswer:
        """Let the model fetch from ``recovery`` at most ``fetches`` times, and answer.

        A request that cannot be read counts as a fetch, and the model is told what is wrong with it.

        Raises:
            AnswerError: The model's reason, or it asked once more where it had to answer.
            CallsStoppedError: No call may be made any more.
        """
        named = tuple(sorted(recovery.shortened))
        shown = f'{{"context":[{self._shown.of(context_json, context, named)}],\n"fetched":[\n'
        shared, fetched = len(shown), list[str]()
        items = [message for message in context if message.is_unreadable]
        rounds: list[Answer] = []
        requests: list[str] = []
        for left in range(fetches, -1, -1):
            so_far = ",\n".join(fetched)
            asked = f'{shown}{so_far}],\n"question":{json_text(question)},\n"fetches_left":{left}}}'
            messages = (self._system, *items, Message("user", asked))
            limit = HEADROOM * max_tokens + REQUEST_TOKENS
            rounds.append(self.ask(ModelRequest(messages, limit, replicate=replicate, shared=shared)))
            fault = ""
            try:
                request = read_request(rounds[-1].text)
            except ReplyError as error:
                request, fault = FetchRequest(), f"this is no request: {error}"
            if request is None:
                return RecoveredAnswer(_sum_up(rounds), tuple(requests))
            requests.append(write_request(request))
            brought = recovery.fetch(request) if left else ()
            found = context_json(brought, [message.seq for message in brought if message.seq is not None])
            fetched.append(f'{{"request":{json_text(fault or _plain(request))},"messages":[{found}]}}')
        raise AnswerError(f"the model asked for more than its {fetches} fetches and gave no answer")

    def ask(self, request: ModelRequest) -> Answer:
        """One round: the model's reply."""
        try:
            done = self._model.complete(request)
        except ModelError as error:
            raise AnswerError(str(error)) from error
        return Answer(done.text.strip(), done.model, done.input_tokens, done.output_tokens, done.cost_usd)


def read_request(text: str) -> FetchRequest | None:
    """The request that a reply makes; None for an answer. Raises ReplyError for a request that cannot be read."""
    try:
        given = json_object(text)
    except ReplyError:
        return None
    if not given or not given.keys() <= {"search", "messages"}:
        return None
    search, numbers = given.get("search", ""), given.get("messages", [])
    if len(given) > 1:
        raise ReplyError("it has both search and messages")
    if not isinstance(search, str) or ("search" in given and not search.strip()):
        raise ReplyError("search is no text")
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise ReplyError("messages is no list of numbers")
    return FetchRequest(search.strip(), tuple(numbers))


def write_request(request: FetchRequest) -> str:
    """A request as JSON, which ``read_request`` reads."""
    return orjson.dumps(_plain(request)).decode()


def _plain(request: FetchRequest) -> dict[str, Any]:
    return {"search": request.search} if request.search else {"messages": list(request.messages)}


def _sum_up(rounds: Sequence[Answer]) -> Answer:
    """The last round's answer with the tokens and costs of all."""
    costs = [one.cost_usd for one in rounds if one.cost_usd is not None]
    return replace(
        rounds[-1],
        input_tokens=sum(one.input_tokens for one in rounds),
        output_tokens=sum(one.output_tokens for one in rounds),
        cost_usd=sum(costs) if len(costs) == len(rounds) else None,
    )
