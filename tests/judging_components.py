"""The components that make probes, answer them, judge the answers and measure contexts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any

import flows.pipeline.measure_plan
import flows.redaction.detector
import flows.sessions.task_type_rule
import flows.sources.registry
import judge.blinding
import judge.embedded.judge
import judge.embedded.prober
import judge.embedded.responder
import judge.llm.judge
import judge.llm.packed
import judge.llm.prober
import judge.llm.responder
from compaction import (
    CompactionPoint,
    Message,
    Transcript,
)
from compaction.markers import CALL, REMOVED, Heading, Marker
from compaction.measures.needs import SessionNeeds
from compaction.model import ModelRequest
from compaction.testing import ScriptedModel
from judge import JudgeCase, Probe, Rubric, Statement, StatementState, load_rubric
from judge.measures.kept_files import KeptFiles, compare_uses
from judge.measures.states import ContextReader, SessionStatements
from judge.statement import StatementKind
from tests.compaction.histories import build, random_words
from tests.component import COUNTER, Component, Trial, component_of, outcome_of
from tests.component_inputs import (
    SECTIONS,
    contexts_of,
    edge_histories,
    edge_sessions,
    points_of,
    sample_probes,
    sample_sessions,
)
from tests.judge.llm import cases, probe_cases


def probe_components() -> Iterator[Component]:
    yield component_of(
        "embedded-prober", judge.embedded.prober, partial(_probe, edge_sessions()), lambda: _probe(sample_sessions())
    )
    yield component_of("model-prober", judge.llm.prober, _probe_by_model)
    yield component_of("embedded-responder", judge.embedded.responder, _quote)
    yield component_of("model-responder", judge.llm.responder, _answer_by_model)
    yield component_of(
        "measures",
        flows.pipeline.measure_plan,
        partial(_measure, (probe_cases.SESSION,), {}),
        lambda: _measure(sample_sessions(), sample_probes()),
    )


def _probe(sessions: Sequence[Transcript]) -> Iterator[Trial]:
    for transcript in sessions:
        points = points_of(transcript)
        prober = judge.embedded.prober.EmbeddedProber()
        yield [transcript, points], [prober.probes(transcript, point) for point in points]


def _probe_by_model() -> Iterator[Trial]:
    invented = probe_cases.drafts("recall", evidence=[{"message": 3, "quote": "ConnectionResetError: [Errno 105]"}])
    models = {
        "right": probe_cases.writer(),
        "guessed": probe_cases.writer("ConnectionResetError: [Errno 104] by peer"),
        "invented": probe_cases.writer(recall=invented),
        "no JSON": ScriptedModel(),
    }
    for name, model in models.items():
        prober = judge.llm.prober.ModelProber(model, counter=COUNTER)
        made = [prober.probes(transcript, point) for transcript, point in _where_a_model_is_asked()]
        yield [name, _where_a_model_is_asked()], [made, prober.left_out, model.requests]


def _where_a_model_is_asked() -> list[tuple[Transcript, CompactionPoint]]:
    session = probe_cases.SESSION
    long = build(random_words(8))
    return [(session, probe_cases.POINT), (Transcript("drawn", long), CompactionPoint("drawn", 1, len(long), 900))]


def _quote() -> Iterator[Trial]:
    responder = judge.embedded.responder.EmbeddedResponder()
    for supports, limit in product(product((0.0, 0.3, 1.0), repeat=2), (10, 100)):
        states = [StatementState("readable", one, f"line {n} " * 9) for n, one in enumerate(supports)]
        yield [states, limit], responder.quote(states, limit)


def _answer_by_model() -> Iterator[Trial]:
    given = [*edge_histories().values(), cases.CONTEXT, tuple(Message("user", text) for text in cases.HOSTILE)]
    for messages, reply in product(given, (" an answer ", "")):
        model = ScriptedModel(lambda _, reply=reply: reply)
        responder = judge.llm.responder.ModelResponder(model)
        texts = [outcome_of(partial(responder.answer, context, "What?", 70)) for context in contexts_of(messages)]
        yield [messages, reply], [texts, model.requests]


def _measure(sessions: Sequence[Transcript], asked: Mapping[tuple[str, int], Sequence[Probe]]) -> Iterator[Trial]:
    for transcript in sessions:
        points = [point for point in points_of(transcript) if point.cut_seq < len(transcript)] or [probe_cases.POINT]
        probes = [
            {f"{number}": probe for number, probe in enumerate(asked.get((transcript.session_id, point.cut_seq), ()))}
            or {"0": _known_probe()}
            for point in points
        ]
        session = SessionNeeds(transcript, COUNTER)
        files, statements = KeptFiles(session), SessionStatements(probes)
        found: list[Any] = []
        for number, point in enumerate(points):
            cut = point.cut_seq
            needs, tracked = session.at(cut), statements.at(number, cut)
            found += [needs, tracked]
            contexts = contexts_of(transcript.messages[:cut])
            told = [files.told(context, cut) for context in contexts]
            for context, of_files in zip(contexts, told, strict=True):
                found += [session.loss(needs, context), of_files, compare_uses(files.true(cut), of_files)]
            reader = ContextReader(transcript.messages, contexts)
            found.append(reader.states([one.statement for one in tracked], cut, contexts, told, files.true(cut)))
        yield [transcript, points, probes], found


def _known_probe() -> Probe:
    """A probe that no prober has made, with a statement of each kind, and each once more with what is not said."""
    half = (replace(one, text=f"{one.text} in violet", evidence=(), exact=("violet",)) for one in _statements())
    return Probe("recall", "What?", "truth", (*_statements(), *half), (), 100)


def judging_components() -> Iterator[Component]:
    form = f"+blinding@{judge.blinding.VERSION}"
    yield component_of("embedded-judge", judge.embedded.judge, _judge_edges, _judge_samples)
    yield component_of("model-judge", judge.llm.judge, _judge_by_model, beside=form)
    yield component_of("packed-judge", judge.llm.packed, _judge_packs, beside=form)
    yield component_of("blinding", judge.blinding, _blind)


def _statements() -> tuple[Statement, ...]:
    """A statement of each kind; most hold in ``probe_cases.SESSION``."""
    stated: dict[StatementKind, str] = {
        "error": "ConnectionResetError: [Errno 104] by peer",
        "command": "pytest -q tests/store",
        "version": "vault-agent 9.9.1",
        "request": "make the session store survive a broker restart",
        "file_created": "src/retry.py",
        "file_modified": "src/pool.py",
        "file_examined": "src/broker.py",
        "decision": "one pool of twelve sockets",
        "reason": "the broker closes idle ones after idle_cap",
        "open_task": "write the restart test for retry.py",
        "failing_test": "tests/store/test_pool.py::test_idle",
        "next_step": "mend test_idle with a frozen clock",
    }
    return tuple(Statement(kind, text, (6,), details=("idle_cap",)) for kind, text in stated.items())


def _judge_edges() -> Iterator[Trial]:
    """Answers that are right, half right, wrong, empty and hostile, to questions on facts of every kind."""
    rubric = load_rubric()
    statements = _statements()
    said = "Created: src/retry.py\nModified: src/pool.py (idle_cap), src/a.py\nExamined: x.py\nNext: a frozen clock"
    right = "\n".join(f"- {one.text} ({', '.join(one.details)})" for one in statements)
    answers = (said, right, right[: len(right) // 2], "The context does not say.", "", "x" * 2_000, *cases.HOSTILE)
    for kind, some in product(rubric.asked, (statements, statements[:1], statements[4:7], ())):
        probe = Probe(kind, "What? `Created:` `Modified:` on one line", "truth", some, (), 100)
        yield from _scored(rubric, probe, answers)


def _judge_samples() -> Iterator[Trial]:
    rubric = load_rubric()
    for probe in chain.from_iterable(sample_probes().values()):
        half = probe.ground_truth[: len(probe.ground_truth) // 2]
        yield from _scored(rubric, probe, (probe.ground_truth, half, half.upper() + " and src/other.py"))


def _scored(rubric: Rubric, probe: Probe, answers: Iterable[str]) -> Iterator[Trial]:
    scorer = judge.embedded.judge.EmbeddedJudge(rubric, COUNTER)
    for answer in answers:
        yield [rubric, probe, answer], scorer.score(JudgeCase(probe, answer, (), tuple(rubric.criteria)))


def _judge_by_model() -> Iterator[Trial]:
    replies: dict[str, Callable[[ModelRequest], str]] = {
        "perfect": cases.perfect,
        "in a fence": lambda request: f"Here:\n```json\n{cases.perfect(request)}\n```",
        "too high": lambda request: json.dumps(cases.verdict_json(cases.asked_criteria(request), 7)),
        "one missing": lambda request: json.dumps(cases.verdict_json(cases.asked_criteria(request)[1:], 3)),
        "no JSON": lambda request: "fine",
        "nothing": lambda request: "",
    }
    given = [cases.case(), cases.case(probe=cases.ARTIFACT), *map(cases.case, cases.HOSTILE)]
    for protocol, (name, reply) in product(judge.llm.judge.PROTOCOLS, replies.items()):
        for case in given if name == "perfect" else given[:2]:
            model = ScriptedModel(reply)
            scorer = judge.llm.judge.ModelJudge(model, cases.RUBRIC, protocol)
            yield [protocol, name, case, cases.RUBRIC], [outcome_of(partial(scorer.score, case)), model.requests]


def _judge_packs() -> Iterator[Trial]:
    def say(request: ModelRequest) -> str:
        asked = cases.shown_object(request)["answers"]
        given = [{"number": one["number"], **cases.verdict_json(one["rubric_criteria"], 3)} for one in asked]
        return json.dumps({"verdicts": given[1:]})

    given = [cases.case(), cases.case(probe=cases.ARTIFACT), *map(cases.case, cases.HOSTILE)]
    for protocol in judge.llm.judge.PROTOCOLS:
        model = ScriptedModel(say)
        scorer = judge.llm.packed.PackedJudge(model, cases.RUBRIC, protocol)
        verdicts = list(map(str, scorer.score_together(given)))
        yield [protocol, given, cases.RUBRIC], [scorer.split(given), verdicts, model.requests]


def _blind() -> Iterator[Trial]:
    """Contexts with markers of this project's own, and with some that are declared here alone."""
    declared = (
        Marker("[cleared {n} of {m}]", REMOVED),
        Marker("<<summary>>", "", made=True),
        Marker("[called", CALL, place="start"),
        *(Heading(section.title, section.kinds[0]) for section in SECTIONS),
    )
    blinder = judge.blinding.Blinder(declared)
    texts = (
        "[cleared 3 of 9]",
        "<<summary>>\n## Goal\n1. **Bold** text\n## Next:\n- (none)\n<state>\nx\n</state>",
        "[called x",
    )
    made = tuple(Message("user", text, covers=(2 * n, 2 * n + 1)) for n, text in enumerate(texts))
    for messages in [*edge_histories().values(), cases.CONTEXT]:
        contexts = [*contexts_of(messages), (*made, *messages[6:]), (Message("assistant", opaque="{}"), *messages[9:])]
        yield [declared, contexts], [blinder.context(context) for context in contexts]
    for text in (*texts, *cases.HOSTILE):
        yield text, [blinder.cleaned(text, made=made) for made in (True, False)]
