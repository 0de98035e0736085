"""Checks that a judge sees altered answers: true answers are altered, scored and noted in the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import product

from compaction import Message
from compaction.model import CallsStoppedError, Model, ModelError, ModelRequest
from flows.config.study import Study
from flows.pipeline.engine import engine_for
from flows.pipeline.tasks.task_context import session
from flows.sessions.session_parts import SessionInfo, read_parts
from flows.store.row_codec import probe_of
from flows.store.store import Store
from flows.support.clock import now
from flows.support.errors import UsageError
from flows.support.progress import Report
from flows.validation.audit import open_judging
from judge import JudgeCase, Probe
from judge.audit.validity import TrueAnswer, ValidityRow, measure_validity, split_items


def check_validity(store: Store, study: Study, a_type: int, report: Report) -> list[ValidityRow]:
    """Have the study's judge score altered answers.

    Args:
        store: Must have questions.
        study: Names the judge and its rubric. Where a language model judges and another one answers, each puts the
            truths into its own words, for the check of self-preference.
        a_type: Questions of each type, spread over the sessions.
        report: Is told of the calls.

    Raises:
        UsageError: the store has no question.
        CallsStoppedError: at the budget.
    """
    answers = list(_true_answers(store, study, a_type))
    if not answers:
        raise UsageError(f"store {store.name} has no questions yet; make some with: compaction-eval run")
    with open_judging(store, study, report, "answers") as opened:
        models = [study.settings(spec) for spec in (*study.judge_specs, study.responder)]
        if len(models) == 2 and all(models) and models[0] != models[1]:  # a panel has no words of its own
            writers = [opened.model(settings) for settings in models if settings]
            words = list(opened.run(lambda asked: _reword(*asked), list(product(writers, answers))))
            own, others = words[: len(answers)], words[len(answers) :]
            answers = [
                replace(answer, own_words=said, other_words=other_said)
                for answer, said, other_said in zip(answers, own, others, strict=True)
            ]
        return measure_validity(opened.judge, answers, opened.run)


_REWORD = (
    "Put the text into your own words. Keep every fact, name, number, path, command and quoted value exactly as it is, "
    "add nothing, leave nothing out, and keep the language. Reply with the text alone."
)


def _reword(writer: Model, answer: TrueAnswer) -> str | None:
    """A truth in a model's own words; None where the call failed."""
    text = answer.case.answer
    asked = (Message("system", _REWORD), Message("user", text))
    try:
        return writer.complete(ModelRequest(asked, 200 + len(text))).text
    except CallsStoppedError:
        raise
    except ModelError:
        return None


def note_validity(store: Store, study: Study, rows: Sequence[ValidityRow]) -> None:
    """Store the measured validity in the place of earlier rows of this judge's version; the store is locked."""
    engine = engine_for(study)
    note_rows(store, engine.judge_id, engine.judge.version.judge, rows)


def note_rows(store: Store, judge_id: str, judge: str, rows: Sequence[ValidityRow]) -> None:
    """Store rows of a judge beside those of other alterations; the store is locked."""
    of_judge = {"judge_id": judge_id, "judge": judge, "measured_at": now()}
    new = {row.alteration for row in rows}
    known = [row for record in store.records("validity") for row in record["rows"] if row["judge_id"] == judge_id]
    kept = [row for row in known if row["alteration"] not in new]
    store.record("validity", judge_id, {"rows": [*kept, *({**asdict(row), **of_judge} for row in rows)]}, replace=True)


def _true_answers(store: Store, study: Study, a_type: int) -> Iterator[TrueAnswer]:
    rubric = study.load_rubric()
    probes = _probes(store)
    by_type: dict[str, list[tuple[SessionInfo, Probe]]] = {}
    for turn in range(max((len(found) for _, found in probes), default=0)):  # one of each session first
        for info, found in probes:
            if turn < len(found):
                by_type.setdefault(found[turn].probe_type, []).append((info, found[turn]))
    of_session = {info.session_id: found for info, found in probes}
    for kind, all_of_type in by_type.items():
        for info, probe in all_of_type[:a_type]:
            own = {*split_items(probe.ground_truth)}
            truths = dict.fromkeys(other.ground_truth for of, other in all_of_type if of is not info)
            others = tuple(truth for truth in truths if own.isdisjoint(split_items(truth)))
            also = (s.text for other in of_session[info.session_id] if other is not probe for s in other.statements)
            messages = session(store, info).messages
            context = tuple(messages[seq] for seq in sorted({one.seq for one in probe.evidence}))
            case = JudgeCase(probe, probe.ground_truth, context, rubric.asked.get(kind, ()))
            yield TrueAnswer(case, info.session_id, others, tuple(dict.fromkeys(also)))


def _probes(store: Store) -> list[tuple[SessionInfo, list[Probe]]]:
    table = store.probes.dataset().to_table()
    of_session: dict[str, list[Probe]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: str(row["probe_id"])):
        if row["status"] == "done":
            of_session.setdefault(row["session_id"], []).append(probe_of(row))
    infos = (info for part in read_parts(store) for info in part.sessions)
    known = sorted(infos, key=lambda info: info.session_id)
    return [(info, of_session[info.session_id]) for info in known if info.session_id in of_session]
