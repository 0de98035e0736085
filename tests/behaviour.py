"""What every component puts out on the same inputs, as digests: an output that changes wants a raised version.

Each component works on edge cases, which depend on no other component, and on the sample sessions, whose input may come
from others (the responder answers what the prober asks). Beside the digest of what it puts out stands that of what it
was given, so that only the component that changed is named. ``tests/golden/behaviour.json`` has the digests;
``python -m tests.pin`` writes them.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import cycle, product
from pathlib import Path
from typing import Any

import compaction.adapters.peers
import compaction.pipeline
import compaction.summarizers.extractive
import compaction.summarizers.model
import flows.pipeline.measure_plan
import flows.redaction.detector
import flows.sessions.task_type_rule
import flows.sources.registry
from compaction import (
    CompactedContext,
    Message,
    Method,
    NotApplicable,
    SummaryError,
    Transcript,
    compact,
    load_registry,
)
from compaction.methods import parse_method
from compaction.model import SummaryRequest
from compaction.strategy import History
from compaction.testing import ScriptedModel, ScriptedProvider, ScriptedSummarizer
from flows.redaction import Redactor
from flows.sources import Input, ReadResult, discover, formats, read_input
from flows.support.sample_sessions import sample_folder as samples_folder
from tests.compaction.histories import compacted
from tests.component import COUNTER, PARTS, Component, Part, Trial, component_of, digest, number_of, outcome_of, plain
from tests.component_inputs import BUDGET, SECTIONS, edge_histories, edge_sessions, sample_sessions
from tests.flows.redaction import planted
from tests.flows.sources import logs
from tests.judge.blinding_cases import methods
from tests.judging_components import judging_components, probe_components

GOLDEN = Path(__file__).parent / "golden" / "behaviour.json"


def version_problem(component: Component, pinned: Mapping[str, Any] | None, found: Mapping[str, Any]) -> str:
    """Why a component's version must be changed before anything is pinned; empty where it is right."""
    name, version = component.name, component.version
    if pinned is None:
        return ""
    if number_of(version) < number_of(pinned["version"]):
        return f"{name} has version {version}, but version {pinned['version']} is pinned: a version is never taken back"
    is_other = any(pinned[part][0] == found[part][0] and pinned[part][1] != found[part][1] for part in PARTS)
    if pinned["version"] == version and is_other:
        return (
            f"{name} puts out something else but is still version {version}: "
            f"raise its version ({component.raised}), then run `python -m tests.pin`"
        )
    return ""


def output_problem(component: Component, pinned: Mapping[str, Any] | None, found: Mapping[str, Any]) -> str:
    """What must be done about a component; empty if its output is the pinned one."""
    if pinned == found:
        return ""
    if why := version_problem(component, pinned, found):
        return why
    if pinned is None:
        what = "is not pinned"
    elif pinned["version"] != component.version:
        what = f"has version {component.version} now, {pinned['version']} is pinned"
    else:
        what = "was given something else"
    return f"{component.name} {what}: run `python -m tests.pin`"


def read_golden() -> dict[str, Any]:
    """The golden file: component → its entry."""
    found: dict[str, Any] = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    return found


def components() -> dict[str, Component]:
    """All of them, by name."""
    found = [*_strategies(), *_of_compaction(), *probe_components(), *judging_components(), *_of_intake()]
    return {component.name: component for component in found}


def _strategies() -> Iterator[Component]:
    specs: dict[str, list[str]] = {}
    for method in methods().values():
        specs.setdefault(method.strategy.id, []).append(method.spec)
    registry = load_registry()
    for id, found in sorted(registry.items()):
        if found.function.__module__.startswith("compaction."):
            own = sorted(set(specs.get(id, [id])))
            number = number_of(found.version) + 1
            raised = f'@strategy("{id}", version={number})'
            shipped = sorted({id, *(Method(found, {**found.params, **variant}).spec for variant in found.variants)})
            version = found.version + _inner_versions(own)
            yield Component(id, version, raised, partial(_compact_edges, own), partial(_compact_samples, shipped))
    piped = sorted({*specs["pipeline"], *PIPELINES})
    yield component_of(
        "pipeline",
        compaction.pipeline,
        partial(_compact_edges, piped),
        partial(_compact_samples, PIPELINES[:2]),
        _inner_versions(piped),
    )
    called = ["peer:tests.behaviour:last(keep=3)"]
    yield component_of("adapters", compaction.adapters.peers, partial(_compact_edges, called))


PIPELINES = (
    'pipeline(steps="none",budget=60)',
    'pipeline(steps="none -> head_tail(tail=4)",budget=60,last_resort="groups",minimum_preserved_groups=2)',
    'pipeline(steps="head_tail(tail=8) when messages>6 -> empty",target="not(tokens>120)")',
    'pipeline(steps="head_tail(tail=8) -> empty",target="not(tokens>120)",early_stop=false)',
    'pipeline(steps="freeform_summary -> none",trigger="messages>4",skip_failed=true,budget=40,last_resort="off")',
)
"""Pipelines with a budget, a target, triggers and a floor."""


QUESTIONS = (
    "Which error message did the command `pytest -q tests/store` give the first time that it failed?",
    "Which error message did the person report at the start?",
)
"""For methods that fetch what a question asks for."""


def last(messages: list[dict[str, Any]], keep: int = 3) -> list[dict[str, Any]]:
    """A callable of somebody else's, for the adapter."""
    return [*messages[:1], {"role": "user", "content": f"{len(messages)} messages"}, *messages[-keep:]]


def _inner_versions(specs: Sequence[str]) -> str:
    """The versions of the methods inside other methods."""
    found = {part for spec in specs for part in parse_method(spec).version.split("+")[1:]}
    return "".join(f"+{part}" for part in sorted(found))


def _summary(number: Iterator[int], request: SummaryRequest) -> str:
    """A summary in the sections that a request has; another at each call."""
    said = f"call {next(number)} on {len(request.span)} messages"
    if not request.sections:
        return f"<summary>\n{said}\n</summary>"
    return "\n\n".join(f"## {section.title}\n- {said}" for section in request.sections)


def _compact_edges(specs: Sequence[str]) -> Iterator[Trial]:
    for method, (name, messages) in product(map(parse_method, specs), edge_histories().items()):
        yield [method.spec, _history_digest("edges", name)], _chain(method, messages, 100)


def _compact_samples(specs: Sequence[str]) -> Iterator[Trial]:
    for method, transcript in product(map(parse_method, specs), sample_sessions()):
        yield (
            [method.spec, _history_digest("samples", transcript.session_id)],
            _chain(method, transcript.messages, BUDGET),
        )


@cache
def _history_digest(part: Part, name: str) -> str:
    """The digest of a history, for those that are given to many."""
    samples = {transcript.session_id: transcript.messages for transcript in sample_sessions()}
    return digest((samples if part == "samples" else edge_histories())[name])


def _chain(method: Method, messages: Sequence[Message], budget: int) -> Any:
    """A compaction in the middle of a session and one at its end, of what the first left and what came since."""
    summarizer = ScriptedSummarizer(partial(_summary, iter(range(1_000))))
    provider = ScriptedProvider()
    left: tuple[Message, ...] = ()
    made: list[Any] = []
    start = 0
    for cut in sorted({len(messages) // 2, len(messages)}):
        session = tuple(messages[:cut])
        given = (*left, *messages[start:cut])
        history = History(
            given,
            COUNTER,
            budget,
            (start,) if start else (),
            summarizer,
            left,
            session,
            tuple(compacted(session)),
            {"openai": provider, "anthropic": provider},
        )
        left, start = given, cut
        try:
            done = compact(history, method)
        except (NotApplicable, SummaryError) as why:
            made.append(f"{type(why).__name__}: {why}")
            continue
        left = done.messages
        made += _outcome_of(done, session), method.limit(history)
        if method.recalls:
            made += (_by_seq(method.recall(left, question, session), session) for question in QUESTIONS)
    return [made, _requests(summarizer.requests), provider.requests]


def _outcome_of(done: CompactedContext, session: Sequence[Message]) -> list[Any]:
    return [_by_seq(done.messages, session), done.flags, done.tokens, len(done.calls), done.covered, done.dropped]


def _by_seq(messages: Sequence[Message], session: Sequence[Message]) -> list[Any]:
    """The messages; an unchanged one is given as its number."""
    said = {message.seq: message for message in session}
    return [m.seq if m.seq is not None and said.get(m.seq) == m else m for m in messages]


def _requests(requests: Sequence[SummaryRequest]) -> list[Any]:
    return [[r.prompt, [m.seq for m in r.span], r.sections, r.previous, r.max_tokens] for r in requests]


def _of_compaction() -> Iterator[Component]:
    yield component_of(
        "embedded-summarizer",
        compaction.summarizers.extractive,
        partial(_summarize, [transcript.messages for transcript in edge_sessions()]),
        lambda: _summarize([transcript.messages for transcript in sample_sessions()]),
    )
    yield component_of("model-summarizer", compaction.summarizers.model, _summarize_by_model)


def _summarize(histories: Sequence[Sequence[Message]]) -> Iterator[Trial]:
    for messages, sections, room in product(histories, ((), SECTIONS), (60, 1_500)):
        middle = len(messages) // 2
        summarizer = compaction.summarizers.extractive.EmbeddedSummarizer(COUNTER)
        previous, texts = "", []
        for span in (tuple(messages[:middle]), tuple(messages[middle:])):
            try:
                previous = summarizer.summarize(SummaryRequest((), span, sections, previous, room)).text
            except SummaryError as why:
                texts.append(f"failed: {why}")
            texts.append(previous)
        yield [messages, sections, room], texts


def _summarize_by_model() -> Iterator[Trial]:
    for reply in ("  a summary ", " "):
        model = ScriptedModel(lambda _, reply=reply: reply)
        request = SummaryRequest((Message("system", "Sum up."), Message("user", "hello")), (), SECTIONS, "", 100)
        summarizer = compaction.summarizers.model.ModelSummarizer(model, 3)
        yield reply, [outcome_of(partial(summarizer.summarize, request)), model.requests]


def _order_of_formats() -> Iterator[Trial]:
    """A new format is another input: only the logs that none knew are read again for it."""
    names = [known.name for known in formats()]
    yield sorted(names), names


def _of_intake() -> Iterator[Component]:
    registry = flows.sources.registry
    yield component_of("readers", registry, _order_of_formats)
    for known in formats():
        yield Component(
            f"reader {known.name}",
            str(known.version),
            f"version={known.version + 1} in FORMAT of {known.read.__module__.replace('.', '/')}.py",
            partial(_read_logs, known.name),
            partial(_read_samples, known.name),
        )
    yield component_of(
        "task-types",
        flows.sessions.task_type_rule,
        partial(_classify, edge_sessions()),
        lambda: _classify(sample_sessions()),
    )
    detector = flows.redaction.detector
    yield component_of("redaction", detector, _redact_planted, _redact_samples)


@cache
def _logs() -> tuple[tuple[str, str, Any, Any], ...]:
    """Format, name of the log, content, and what is read of it; the hand-made logs of the readers' tests."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for format, module in logs.MODULES.items():
            for kind in ("LINES", "DOCUMENT", "TEXT", "ARCHIVE", "DATABASE"):
                content = getattr(module, kind, None)
                if content is None:
                    continue
                name = "log.jsonl" if kind == "LINES" else "log.json"
                path = Path(folder) / format / kind / getattr(module, "NAME", name)
                path.parent.mkdir(parents=True)
                if kind in ("ARCHIVE", "DATABASE"):
                    path = path.with_suffix(".eval" if kind == "ARCHIVE" else ".db")
                    content(path)
                    content = kind
                elif kind == "TEXT":
                    path.write_text(content, encoding="utf-8")
                else:
                    lines = content if kind == "LINES" else [content]
                    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
                result = read_input(Input(path, "file", path.stat().st_size, 0))
                found.append((format, kind, content, _read(result, folder)))
    return tuple(found)


def _read(result: ReadResult, folder: str) -> Any:
    """The result of reading, without the folder's path."""
    text = json.dumps(plain(result), sort_keys=True)
    return text.replace(json.dumps(folder)[1:-1], "FOLDER")


def _read_logs(format: str) -> Iterator[Trial]:
    for name, kind, content, result in _logs():
        if format == name or format.startswith(f"{name}_"):
            yield [name, kind, content], result


def _read_samples(format: str) -> Iterator[Trial]:
    for name, content, result in _sample_logs():
        if name == format:
            yield content, result


@cache
def _sample_logs() -> tuple[tuple[str | None, str, Any], ...]:
    found = []
    for input in sorted(discover([samples_folder()]), key=lambda found: found.path.name):
        result = read_input(input)
        content = hashlib.sha256(input.path.read_bytes()).hexdigest()
        found.append((result.format, content, _read(result, samples_folder())))
    return tuple(found)


def _classify(sessions: Sequence[Transcript]) -> Iterator[Trial]:
    for transcript in sessions:
        yield transcript, flows.sessions.task_type_rule.classify(transcript)


def _redact_planted() -> Iterator[Trial]:
    """Every third shape of a credential, each in another place, and one under every key: a value takes 50 ms."""
    planted.DRAW.seed(7)
    redactor = Redactor(key="")
    for (shape, secret), place in zip(list(planted.shapes())[::3], cycle(planted.PLACES.values())):
        text = place(shape.replace("{{", "{").replace("}}", "}").replace("{}", secret))
        yield [flows.redaction.detector.DETECTOR, text], redactor.redact(text)
    for key, wrap in zip(planted.KEYS, cycle(planted.NESTS.values())):
        text = json.dumps(wrap(key, planted.random_text(24)))
        yield [flows.redaction.detector.DETECTOR, text], redactor.redact_json(text)


def _redact_samples() -> Iterator[Trial]:
    redactor = Redactor(key="")
    for transcript in sample_sessions():
        yield [flows.redaction.detector.DETECTOR, transcript], redactor.redact_transcript(transcript)
