"""Observations of Langfuse, as its API, its exports and its page of a trace give them.

A generation has a model's request under ``input`` and the answer under ``output``, in the form of whatever API was
called. Each request repeats the conversation so far; exports have the newest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript, Usage
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.exchanges import LoggedExchange
from flows.sources.reading.parts import as_chat, chat_of, decoded
from flows.sources.reading.prompt_log import conversations
from flows.sources.reading.usage import count_or_none, make_usage, sum_counts
from flows.sources.reading.values import as_dict, first_text, nested, objects_in

NAME = "langfuse"
_NAMES = {
    "trace": ("traceId", "trace_id"),
    "start": ("startTime", "start_time"),
    "end": ("endTime", "end_time"),
    "session": ("sessionId", "session_id"),
    "model": ("model", "providedModelName", "provided_model_name"),
    "usage": ("usageDetails", "usage_details", "usage"),
    "cost": ("totalCost", "total_cost", "calculatedTotalCost"),
}
"""Fields under the names of the API and of the exports."""
_ITEMS = ("function_call", "reasoning", "message")


def detect(head: Head) -> bool:
    """Whether there is a generation, on its own or in a trace or a page of them."""
    return any(_is_generation(one) for value in head.values(5) for one in [value, *_list_observations(value)])


def _is_generation(value: Any) -> bool:
    return nested(value, "type") == "GENERATION" and all(_field(value, name) for name in ("trace", "start"))


def _list_observations(value: Any) -> list[Record]:
    """The observations of a trace, or of a page."""
    return objects_in(nested(value, "observations")) or objects_in(nested(value, "data"))


def _field(record: Record, name: str) -> Any:
    return next((record[key] for key in _NAMES[name] if record.get(key) is not None), None)


def read(source: Source) -> Iterator[Transcript]:
    """The conversations, each when it is finished."""
    yield from conversations(source, NAME, _exchange, _by_start(source))


def _by_start(source: Source) -> Iterator[tuple[int | None, str, Record]]:
    found: list[tuple[str, int | None, str, Record]] = []
    for where, ref, value in source.values(1):
        held = _list_observations(value) if nested(value, "type") is None else []
        about = {"session_id": _field({**as_dict(value.get("trace")), **value}, "session")} if held else {}
        for index, one in enumerate(held or [value]):
            place = f"{ref}#{index}" if held else ref
            record = {**about, **one} if isinstance(one, dict) else {"type": None, "value": one}
            found.append((str(_field(record, "start") or ""), where, place, record))
    for _, where, ref, record in sorted(found, key=lambda one: one[0]):
        yield where, ref, record


def _exchange(record: Record) -> LoggedExchange | None:
    if not isinstance(record.get("type"), str):
        raise MalformedError("an observation without a type")
    if record["type"] != "GENERATION":
        return None
    prompt, answers = _prompt(decoded(record.get("input"))), _answers(decoded(record.get("output")))
    if not prompt and not answers:
        return None
    return LoggedExchange(
        prompt=prompt,
        answers=[one[0] for one in answers],
        behind=answers[0][1:] if answers else [],
        key=first_text(record.get("id")),
        native_id=first_text(_field(record, "session")),
        model=first_text(_field(record, "model")),
        time=iso_time(_field(record, "end")) or iso_time(_field(record, "start")),
        tools=nested(decoded(record.get("input")), "tools"),
        usage=_usage(record),
    )


def _prompt(given: Any) -> list[Record]:
    """The messages of a request: a list of them, or what the API takes besides with them."""
    told: list[Record] = []
    if isinstance(given, dict):
        told = [{"role": "system", "content": given[key]} for key in ("system", "instructions") if given.get(key)]
        given = next((given[key] for key in ("messages", "input", "prompt") if key in given), [given])
    told = [one for message in told for one in as_chat(message)]
    return told + chat_of(given if isinstance(given, list) else [given] if given else [])


def _answers(given: Any) -> list[list[Record]]:
    """The messages of each choice of an answer."""
    if not given:
        return []
    if isinstance(given, dict):
        inner = next((given[key] for key in ("output", "messages") if isinstance(given.get(key), list)), None)
        given = inner if inner is not None else [given]
    values = given if isinstance(given, list) else [given]
    if any(nested(value, "type") in _ITEMS for value in values):
        found = chat_of(values, "assistant")
        return [found] if found else []
    return [found for value in values if (found := chat_of([value], "assistant"))]


def _usage(record: Record) -> Usage | None:
    """Figures of kinds that do not overlap, by their names."""
    used = as_dict(decoded(_field(record, "usage")))
    counts = {str(name): count for name, value in used.items() if (count := count_or_none(value)) is not None}
    read = {name: count for name, count in counts.items() if name.startswith("input") or "cache" in name}
    cached = [count for name, count in read.items() if "cache" in name and "creation" not in name]
    written = [count for name, count in counts.items() if name.startswith("output")]
    return make_usage(sum_counts(read.values()), sum_counts(written), sum_counts(cached), _field(record, "cost"))


FORMAT = SourceFormat(
    NAME,
    "Langfuse's observations: a list, a page or a trace of its API, or JSON lines of an export",
    "objects of type GENERATION with `traceId` and `startTime` (or `trace_id`, `start_time`)",
    detect,
    read,
    order=107,
)
