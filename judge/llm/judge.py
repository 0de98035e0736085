"""A language model as judge: one call an answer, all criteria of its probe type together.

What is asked is the system message: the task, all criteria of the rubric with their anchors, the form of the verdict.
It depends on the rubric and the protocol, and on nothing in a case. What is judged is the user message, a JSON object.
Under the protocol ``study`` it begins with the compacted context, under ``closed`` it has none. So all requests begin
alike, and those on one context are the same up to its end: a provider keeps such a beginning and charges less for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from string import Template
from typing import Any, Literal, get_args

import orjson

from compaction.memo import Memo
from compaction.model import Completion, Model, ModelError, ModelRequest, ReplyError
from compaction.transcript import Message
from judge import blinding
from judge.blinding import blind_text, context_text, has_opaque
from judge.llm.data import answer_text, json_text
from judge.llm.verdict_form import Form, Verdict
from judge.probe import Probe
from judge.rubric import Criterion, Rubric
from judge.scoring import JudgeCase, JudgeError, JudgeVersion

Protocol = Literal["study", "closed"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
Calling = Literal["alone", "pack"]
"""Whether a call has one answer or several."""
CALLINGS: tuple[Calling, ...] = get_args(Calling)

VERSION = 2
"""Raise it when a case is asked otherwise, or a verdict read otherwise. The prompts take part by their text."""

TOKENS_PER_CRITERION, TOKENS_BESIDE = 200, 400
"""Room for a verdict: a reason of two sentences takes about 60 tokens, its entry about 30 more. Twice that."""

ROOM = 32_000_000
"""Characters of contexts whose shown form is remembered."""

REMEMBERED = 4_096
"""Probes, and answers: many methods leave what a probe asks for, and then their answers are often the same."""


@dataclass(frozen=True, slots=True)
class JudgePrompts:
    """The prompts of a judge."""

    judge: str
    """System message. Lines that begin with ``@study`` or ``@closed`` are for that protocol only, those with ``@alone``
    or ``@pack`` for one answer in a call, or several."""
    again: str
    """What is added when a verdict could not be read."""


@cache
def judge_prompts() -> JudgePrompts:
    """The prompts that come with the package."""
    folder = files("judge").joinpath("prompts")
    read = {
        name: folder.joinpath(f"{name}.md").read_text(encoding="utf-8").strip() for name in ("judge", "judge_again")
    }
    return JudgePrompts(read["judge"], read["judge_again"])


def judge_versions() -> dict[str, int]:
    """The declared versions that a score depends on: of the judge, and of how a context is blinded."""
    return {"version": VERSION, "blinding": blinding.VERSION}


def judge_version(
    model: Model, rubric: Rubric, protocol: Protocol, prompts: JudgePrompts, versions: Mapping[str, int]
) -> JudgeVersion:
    """The identity of a model judge: whatever can change a score, and nothing else."""
    return JudgeVersion(
        judge=model.name,
        model=str(model.identity.get("model", model.name)),
        rubric=rubric.name,
        prompt_sha256=sha256_of([lines_for(prompts.judge, protocol), lines_for(prompts.again, protocol)]),
        protocol=protocol,
        params={
            "identity": dict(model.identity),
            "rubric_sha256": rubric.sha256,
            "schema_sha256": sha256_of(whole_form(rubric).schema()),
            "tokens_per_criterion": TOKENS_PER_CRITERION,
            "tokens_beside": TOKENS_BESIDE,
            **versions,
        },
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """The parts of a request that all cases with the same criteria share."""

    form: Form
    max_tokens: int
    ids: str
    """The last field of a case."""


class ModelJudge:
    """Scores answers by a rubric with a language model; safe to call from many threads."""

    def __init__(
        self, model: Model, rubric: Rubric, protocol: Protocol, *, prompts: JudgePrompts | None = None
    ) -> None:
        """``prompts`` take the place of those that come with the package."""
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol {protocol!r}: expected {' or '.join(PROTOCOLS)}")
        self.rubric = rubric
        self._model = model
        self._protocol = protocol
        self._prompts = prompts or judge_prompts()
        self.version = judge_version(model, rubric, protocol, self._prompts, judge_versions())
        self._system = Message("system", instructions(rubric, self._prompts, protocol))
        self._schema = whole_form(rubric).schema()
        self._tasks: dict[tuple[str, ...], _Task] = {}
        self._contexts: Memo[str] = Memo(ROOM)
        self._answer = lru_cache(maxsize=REMEMBERED)(_shown_answer)
        self._probes: dict[int, tuple[Probe, str, str]] = {}

    def score(self, case: JudgeCase) -> Verdict:
        """One entry for each criterion of the case.

        Raises JudgeError when there is no verdict (its cause is the ModelError, if there was one), CallsStoppedError
        when no call may be made any more.
        """
        if not case.criteria:
            return Verdict((), 0.0, {})
        task = self._task(case.criteria)
        request = self.request(case)
        try:
            return _ask(self._model, request, task.form)
        except ReplyError as error:
            problem = str(error)
        try:
            return replace(_ask(self._model, self._again(request, task, problem), task.form), asked_again=True)
        except ReplyError as error:
            raise JudgeError(f"two verdicts could not be read: {problem}; then {error}") from error

    def request(self, case: JudgeCase) -> ModelRequest:
        """The first request to the model about a case."""
        task = self._task(case.criteria)
        context = self._context(case.context) if self._protocol == "study" else ""
        user = Message("user", f"{{{context}{self._fields(case)}}}")
        shared = len(context) + 1 if context else 0
        return ModelRequest((self._system, user), task.max_tokens, self._schema, case.replicate, task.form.read, shared)

    def _again(self, request: ModelRequest, task: _Task, problem: str) -> ModelRequest:
        # The reply is not shown: it may repeat what misled the model. Nor is it a turn of its own: some templates
        # refuse two user turns in a row.
        system, user = request.messages
        prompt = Template(lines_for(self._prompts.again, self._protocol))
        note = prompt.substitute(problem=problem, criteria=", ".join(task.form.criteria))
        return replace(request, messages=(system, user.with_text(f"{user.text}\n\n{note}")))

    def _fields(self, case: JudgeCase) -> str:
        question, truth = self._probe(case.probe)
        answer = self._answer(case.answer, case.probe.max_tokens)
        return f'{question},\n{truth},\n"model_response":{answer},\n{self._task(case.criteria).ids}'

    def _context(self, context: tuple[Message, ...]) -> str:
        return self._contexts.of(_shown_context, context)

    def _probe(self, probe: Probe) -> tuple[str, str]:
        known = self._probes.get(id(probe))
        if known is None:
            question = f'"probe_question":{json_text(probe.question)}'
            known = probe, question, f'"ground_truth":{json_text(probe.ground_truth or None)}'
            if len(self._probes) >= REMEMBERED:
                self._probes.clear()
            self._probes[id(probe)] = known
        return known[1], known[2]

    def _task(self, criteria: tuple[str, ...]) -> _Task:
        task = self._tasks.get(criteria)
        if task is None:
            self._tasks[criteria] = task = self._make_task(criteria)
        return task

    def _make_task(self, criteria: tuple[str, ...]) -> _Task:
        unknown = [id for id in criteria if id not in self.rubric.criteria]
        if unknown:
            raise JudgeError(f"rubric {self.rubric.name} has no criterion {unknown[0]!r}")
        form = Form(self.rubric, tuple(id for id in self.rubric.criteria if id in criteria))
        tokens = TOKENS_BESIDE + TOKENS_PER_CRITERION * len(form.criteria)
        ids = f'"rubric_criteria":{json_text(form.criteria)}'
        return _Task(form, tokens, ids)


def whole_form(rubric: Rubric) -> Form:
    """The form of a verdict on all criteria that any probe type is asked."""
    asked = {id for ids in rubric.asked.values() for id in ids}
    return Form(rubric, tuple(id for id in rubric.criteria if id in asked))


def instructions(rubric: Rubric, prompts: JudgePrompts, protocol: Protocol, calling: Calling = "alone") -> str:
    """The system message."""
    form = whole_form(rubric)
    return Template(lines_for(prompts.judge, protocol, calling)).substitute(
        criteria="\n\n".join(_describe(rubric.criteria[id]) for id in form.criteria),
        dimensions=", ".join(f"`{name}`" for name in form.dimensions),
    )


def _shown_context(context: tuple[Message, ...]) -> str:
    if has_opaque(context):
        raise JudgeError(
            "the context holds an item that nobody but its provider can read, so no judge can be shown it: use the "
            "protocol closed"
        )
    return f'"compacted_context":{json_text(context_text(context))},\n'


def _shown_answer(answer: str, max_tokens: int) -> str:
    # An answer may quote what only one method writes.
    return json_text(blind_text(answer_text(answer, max_tokens)))


def _ask(model: Model, request: ModelRequest, form: Form) -> Verdict:
    """Raises ReplyError for a reply that cannot be read, JudgeError for none."""
    read: list[Verdict] = []
    wrong: list[ReplyError] = []

    def check(text: str) -> None:
        try:
            read.append(form.read(text))
        except ReplyError as error:
            wrong.append(error)
            raise

    try:
        done: Completion = model.complete(replace(request, check=check))
    except ModelError as error:
        if error.kind != "invalid":
            raise JudgeError(str(error)) from error
        # The call may have been joined to an identical one in flight, whose check is another's.
        raise (wrong[-1] if wrong else ReplyError("it does not have the form that was asked for")) from error
    return read[-1] if read else form.read(done.text)


def lines_for(prompt: str, protocol: Protocol, calling: Calling = "alone") -> str:
    """A prompt without the lines of the other protocol and the other way of calling, and without the marks."""
    for own, marks in ((protocol, PROTOCOLS), (calling, CALLINGS)):
        others = tuple(f"@{name} " for name in marks if name != own)
        kept = [line.removeprefix(f"@{own} ") for line in prompt.splitlines() if not line.startswith(others)]
        prompt = "\n".join(kept)
    return prompt


def _describe(criterion: Criterion) -> str:
    weight = "" if criterion.weight == 1 else f", weight {criterion.weight:g}"
    anchors = "\n".join(f"- {score}: {text}" for score, text in sorted(criterion.anchors.items()))
    return f"### {criterion.id} ({criterion.dimension}{weight})\n{criterion.question}\n{anchors}"


def sha256_of(value: Any) -> str:
    """SHA-256 of plain data, as hex digits."""
    # Keys stay in their order: a model writes the fields of a schema in it.
    return hashlib.sha256(orjson.dumps(value)).hexdigest()
