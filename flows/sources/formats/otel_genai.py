"""Traces of OpenTelemetry with the messages of models' requests: OTLP as JSON, or spans and events on lines.

Each request repeats the conversation so far. Its messages stand in attributes (``gen_ai.input.messages``,
``gen_ai.output.messages``, ``gen_ai.system_instructions``), or, older, in an event a message (``gen_ai.user.message``,
``gen_ai.choice``), which are events of the span or log records. OpenLLMetry and OpenInference have an attribute for
each piece of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from compaction.transcript import Transcript
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.blocks import NO_TIME, iso_time
from flows.sources.reading.exchanges import LoggedExchange
from flows.sources.reading.flat_messages import flat_messages, is_flat
from flows.sources.reading.parts import as_chat, decoded
from flows.sources.reading.prompt_log import conversations
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, first_text, need_list, nested, objects_in, text_or_none

NAME = "otel_genai"
_INPUT, _OUTPUT, _INSTRUCTIONS = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
_REQUESTS = ("chat", "generate_content", "text_completion")
"""Operations that are a model's request: spans of agents and tools repeat what these have."""
_MESSAGES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CHOICE = "gen_ai.choice"
_KIND = "openinference.span.kind"
_DETAILS = "gen_ai.client.inference.operation.details"
_USED = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    (
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
)
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_IDS = ("gen_ai.conversation.id", "session.id")
_TIMES = (("startTimeUnixNano", "start_time"), ("endTimeUnixNano", "end_time"), ("timeUnixNano", "timestamp"))
_LOOKED_AT = 200


@dataclass
class _Span:
    """A span, or the log records that name one."""

    key: Any
    attributes: Record
    events: list[tuple[str, Any]] = field(default_factory=list)
    started: str | None = None
    ended: str | None = None
    is_log: bool = False


def detect(head: Head) -> bool:
    """Whether a span has the messages of a request."""
    spans = (span for value in head.values(5) for span in _spans_in(value))
    return any(_has_messages(span) for _, span in zip(range(_LOOKED_AT), spans, strict=False))


def _has_messages(span: _Span) -> bool:
    names = {name for name, _ in span.events}
    if any(map(is_flat, span.attributes)):
        return True
    return bool({_INPUT, _OUTPUT} & span.attributes.keys() or names & {*_MESSAGES, _CHOICE, _DETAILS}) or (
        "events" in span.attributes and "gen_ai.request.model" in span.attributes
    )


def read(source: Source) -> Iterator[Transcript]:
    """The conversations, each when it is finished."""
    yield from conversations(source, NAME, _exchange, _spans(source))


def _spans(source: Source) -> Iterator[tuple[int | None, str, _Span]]:
    """All spans; log records of one span in a row are one."""
    held: tuple[int | None, str, _Span] | None = None
    for where, ref, value in source.values(1):
        spans: list[_Span] = []
        with source.setting_aside(where, ref, value):
            spans += _spans_in(value)
            if not spans:
                raise MalformedError("no span of a trace")
        for index, span in enumerate(spans):
            if held is not None and span.is_log and span.key == held[2].key:
                held[2].events += span.events
                continue
            if held is not None:
                yield held
            held = where, f"{ref}#{index}" if len(spans) > 1 else ref, span
    if held is not None:
        yield held


def _spans_in(value: Any) -> Iterable[_Span]:
    """The spans and log records of a request of OTLP by their start, or the one that a value is."""
    resources = objects_in(nested(value, "resourceSpans")) + objects_in(nested(value, "resourceLogs"))
    if not resources:
        return [_span(value)] if isinstance(value, dict) and _is_span(value) else []
    held = (scope for one in resources for key in one for scope in objects_in(one[key]))
    found = [_span(one) for scope in held for key in ("spans", "logRecords") for one in objects_in(scope.get(key))]
    return sorted(found, key=lambda span: span.started or "")


def _is_span(value: Record) -> bool:
    is_named = any(key in value for key in ("spanId", "span_id", "context"))
    return is_named and isinstance(value.get("attributes"), (list, dict))


def _span(record: Record) -> _Span:
    context = as_dict(record.get("context"))
    key = record.get("spanId") or record.get("span_id") or context.get("span_id")
    started, ended, said = (next(filter(None, map(_time, map(record.get, names))), None) for names in _TIMES)
    attributes = _attributes(record.get("attributes"))
    if "body" in record or "eventName" in record or "event_name" in record:
        name = first_text(record.get("eventName"), record.get("event_name"), attributes.get("event.name")) or ""
        body = record.get("body")
        held = as_dict(_value(body)) if isinstance(body, dict) and _is_typed(body) else body
        return _Span(key, {}, [(name, {**attributes, **as_dict(held)})], said, said, is_log=True)
    events = [(str(one.get("name")), _attributes(one.get("attributes"))) for one in objects_in(record.get("events"))]
    return _Span(key, attributes, events, started, ended)


def _time(value: Any) -> str | None:
    """A time in nanoseconds since the epoch, as text or a number, or in a form of its own."""
    digits = value if isinstance(value, int) else int(value) if isinstance(value, str) and value.isdigit() else None
    if digits is None or digits < 10**17:
        return iso_time(value)
    return iso_time(digits / 10**9) if digits < 1 << 63 else NO_TIME


def _attributes(value: Any) -> Record:
    if isinstance(value, dict):
        return value
    return {str(one.get("key")): _value(one.get("value")) for one in objects_in(value)}


def _is_typed(value: Record) -> bool:
    return len(value) == 1 and next(iter(value)).endswith("Value")


def _value(value: Any) -> Any:
    """A value of OTLP, which names its type."""
    value = as_dict(value)
    for kind, held in value.items():
        if kind == "arrayValue":
            return [_value(one) for one in as_list(nested(held, "values"))]
        if kind == "kvlistValue":
            return _attributes(nested(held, "values"))
        if kind == "intValue":
            return int(held) if isinstance(held, str) and held.lstrip("-").isdigit() else held
        return held
    return None


def _exchange(span: _Span) -> LoggedExchange | None:
    known = {**span.attributes}
    for name, body in span.events:
        if name == _DETAILS:
            known.update(body)
    if known.get("gen_ai.operation.name", "chat") not in _REQUESTS or known.get(_KIND, "LLM") != "LLM":
        return None
    events = [*span.events, *((str(one.get("event.name")), one) for one in objects_in(decoded(known.get("events"))))]
    prompt, answers = _of_attributes(known) if {_INPUT, _OUTPUT} & known.keys() else _of_events(events)
    if not prompt and not answers:
        prompt, answers = flat_messages(known)
    if not prompt and not answers:
        return None
    used = [next((known[name] for name in names if name in known), None) for names in _USED]
    return LoggedExchange(
        prompt=prompt,
        answers=[one[0] for one in answers],
        behind=answers[0][1:] if answers else [],
        key=text_or_none(known.get("gen_ai.response.id")),
        native_id=first_text(*map(known.get, _IDS)),
        model=first_text(*map(known.get, _MODELS)),
        time=span.ended or span.started,
        tools=decoded(known.get("gen_ai.tool.definitions")),
        usage=make_usage(*used),
    )


def _of_attributes(known: Record) -> tuple[list[Record], list[list[Record]]]:
    """The messages of a request, and those of each choice of its answer."""
    told = decoded(known.get(_INSTRUCTIONS))
    prompt = as_chat({"role": "system", "content": told}) if told else []
    for message in need_list(decoded(known.get(_INPUT, [])), _INPUT):
        prompt += as_chat(as_dict(message))
    answers = need_list(decoded(known.get(_OUTPUT, [])), _OUTPUT)
    return prompt, [as_chat(as_dict(message), "assistant") for message in answers]


def _of_events(events: list[tuple[str, Any]]) -> tuple[list[Record], list[list[Record]]]:
    prompt: list[Record] = []
    answers: list[list[Record]] = []
    for name, told in events:
        body = as_dict(decoded(as_dict(told).get("gen_ai.event.content"))) or as_dict(told)
        if name in _MESSAGES:
            prompt += as_chat(_message(body, _MESSAGES[name]))
        elif name == _CHOICE:
            said = decoded(body.get("message"))
            held = said if isinstance(said, dict) else {"content": said}
            answers.append(as_chat(_message({"tool_calls": body.get("tool_calls"), **held}, "assistant")))
    return prompt, answers


def _message(body: Record, role: str) -> Record:
    told = {key: decoded(body.get(key)) for key in ("content", "tool_calls") if body.get(key) is not None}
    return {"role": role, **told, **({"id": body["id"]} if "id" in body else {})}


FORMAT = SourceFormat(
    NAME,
    "OpenTelemetry traces of models' requests: OTLP as JSON, or spans as JSON lines",
    "spans with `gen_ai.input.messages` or `gen_ai.output.messages`, with pieces of messages such as "
    "`gen_ai.prompt.0.content` or `llm.input_messages.0.message.role`, or with events such as `gen_ai.user.message`",
    detect,
    read,
    order=106,
    version=2,
)
