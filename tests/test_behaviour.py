"""What a component puts out changes with its version and not without."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import compaction.adapters.peers
import compaction.pipeline
import compaction.summarizers.extractive
import compaction.summarizers.model
import flows.pipeline.measure_plan
import flows.redaction.redactor
import flows.sessions.task_type_rule
import flows.sources.registry
import judge.blinding
import judge.embedded.judge
import judge.embedded.prober
import judge.embedded.responder
import judge.llm.judge
import judge.llm.prober
import judge.llm.responder
import judge.measures.states
from compaction.registry import REGISTRY
from compaction.summarizers.model import ModelSummarizer
from compaction.testing import ScriptedModel
from flows.config.study import Study
from flows.pipeline.plan import method_rows, reader_of
from judge.llm import ModelResponder
from judge.llm.prober import ModelProber
from tests import behaviour, component_inputs, pin
from tests.behaviour import Component, components, output_problem, read_golden, version_problem

COMPONENTS = components()
PINNED = read_golden()


@pytest.fixture(autouse=True)
def forget() -> Any:
    """What is remembered of the logs was read by the readers as they are."""
    yield
    for kept in (behaviour._logs, behaviour._sample_logs, component_inputs.sample_probes):
        kept.cache_clear()


def test_every_component_is_pinned_and_nothing_else() -> None:
    assert sorted(PINNED) == sorted(COMPONENTS), "run `python -m tests.pin`"


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_puts_out_what_is_pinned_for_its_version(name: str) -> None:
    component = COMPONENTS[name]
    why = output_problem(component, PINNED.get(name), component.digests())
    assert not why, why


def last_message(history: Any, **_: Any) -> Any:
    return history.messages[-1:]


def change_strategy(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(REGISTRY, "codex_local", replace(REGISTRY["codex_local"], function=last_message))


def change_reader(patch: pytest.MonkeyPatch) -> None:
    known = list(flows.sources.registry._FORMATS)
    place = next(n for n, one in enumerate(known) if one.name == "pi")
    read = known[place].read
    known[place] = replace(known[place], read=lambda source: (replace(t, title="Other") for t in read(source)))
    patch.setattr(flows.sources.registry, "_FORMATS", tuple(known))


def change_order(patch: pytest.MonkeyPatch) -> None:
    first, *others = flows.sources.registry._FORMATS
    patch.setattr(flows.sources.registry, "_FORMATS", (*others, first))


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "codex_local": change_strategy,
    "pipeline": lambda patch: patch.setattr(compaction.pipeline, "drop_to_budget", lambda groups, *_, **__: groups),
    "embedded-summarizer": lambda patch: patch.setattr(compaction.summarizers.extractive, "EMPTY", "- (nothing)"),
    "model-summarizer": lambda patch: patch.setattr(compaction.summarizers.model, "HEADROOM", 3),
    "embedded-prober": lambda patch: patch.setattr(judge.embedded.prober, "CONTINUATION_FORM", " {labels} {limit}"),
    "model-prober": lambda patch: patch.setattr(judge.llm.prober, "GUESS_TOKENS", 501),
    "embedded-responder": lambda patch: patch.setattr(judge.embedded.responder, "ABSTENTION", "Not said."),
    "model-responder": lambda patch: patch.setattr(judge.llm.responder, "HEADROOM", 3),
    "embedded-judge": lambda patch: patch.setattr(judge.embedded.judge, "READABLE", 0.9),
    "model-judge": lambda patch: patch.setattr(judge.llm.judge, "TOKENS_BESIDE", 401),
    "blinding": lambda patch: patch.setattr(judge.blinding, "NOT_READABLE", "[closed]"),
    "measures": lambda patch: patch.setattr(judge.measures.states, "NAMED", 0.1),
    "reader pi": change_reader,
    "readers": change_order,
    "task-types": lambda patch: patch.setattr(flows.sessions.task_type_rule, "MIN_POINTS", 99.0),
    "redaction": lambda patch: patch.setattr(flows.redaction.redactor, "find", lambda *_, **__: []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_output_under_the_same_version_names_the_component(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    CHANGES[name](monkeypatch)
    behaviour._logs.cache_clear()
    component = COMPONENTS[name]
    said = output_problem(component, PINNED[name], component.digests())
    assert said == (
        f"{name} puts out something else but is still version {component.version}: "
        f"raise its version ({component.raised}), then run `python -m tests.pin`"
    )


def test_the_sentence_says_where_a_version_is_raised() -> None:
    assert COMPONENTS["codex_local"].raised == '@strategy("codex_local", version=2)'
    assert (
        COMPONENTS["measures"].raised
        == f"VERSION = {flows.pipeline.measure_plan.VERSION + 1} in flows/pipeline/measure_plan.py"
    )
    number = compaction.adapters.peers.VERSION + 1
    assert COMPONENTS["adapters"].raised == f"VERSION = {number} in compaction/adapters/peers.py"


ENTRY = {"version": "1", "edges": ["a", "b"], "samples": ["c", "d"]}


def component(version: str = "1", **parts: list[str]) -> tuple[Component, dict[str, Any]]:
    """A component, and the entry that it has now."""
    return Component("x", version, "VERSION = 2 in x.py", tuple), {**ENTRY, "version": version, **parts}


@pytest.mark.parametrize(
    ("now", "says", "stops"),
    [
        (component(), "", False),
        (component(edges=["a", "z"]), "x puts out something else but is still version 1", True),
        (component(edges=["a", "z"], samples=["y", "z"]), "x puts out something else", True),
        (component(samples=["y", "z"]), "x was given something else", False),
        (component("2", edges=["a", "z"]), "x has version 2 now, 1 is pinned", False),
        (component("1+inner@2", edges=["a", "z"]), "x has version 1+inner@2 now", False),
        (component("2"), "x has version 2 now", False),
        (component("0"), "x has version 0, but version 1 is pinned: a version is never taken back", True),
    ],
)
def test_what_is_said_and_what_stops_the_writing(now: tuple[Component, dict[str, Any]], says: str, stops: bool) -> None:
    said = output_problem(now[0], ENTRY, now[1])
    assert said.startswith(says)
    assert bool(said) == bool(says)
    assert bool(version_problem(now[0], ENTRY, now[1])) == stops


def test_a_new_component_is_added_one_that_is_gone_goes_and_a_change_is_refused() -> None:
    fixed = Component("fixed", "1", "VERSION = 2 in x.py", lambda: [("given", "made")])
    before, changes, against = pin.pin_components({}, {"fixed": fixed})
    assert (changes, against) == (["+ fixed 1"], [])
    other = replace(fixed, edges=lambda: [("given", "something else")])
    _, changes, against = pin.pin_components(before, {"fixed": other})
    assert (changes, len(against)) == (["~ fixed 1 -> 1"], 1)
    raised = replace(other, version="2")
    assert pin.pin_components(before, {"fixed": raised})[1:] == (["~ fixed 1 -> 2"], [])
    assert pin.pin_components(before, {})[1:] == (["- fixed"], [])


def test_pinning_writes_nothing_while_a_version_is_due(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    golden = tmp_path / "behaviour.json"
    golden.write_text(json.dumps({"x": {**ENTRY, "edges": [behaviour.digest([1]), "b"]}}))
    monkeypatch.setattr(behaviour, "GOLDEN", golden)
    monkeypatch.setattr(pin, "GOLDEN", golden)
    other = Component("x", "1", "VERSION = 2 in x.py", lambda: [(1, "other")])
    monkeypatch.setattr(pin, "components", lambda: {"x": other})
    before = golden.read_text()
    assert pin.pin_behaviour() == 1
    assert golden.read_text() == before
    assert "x puts out something else but is still version 1" in capsys.readouterr().err
    monkeypatch.setattr(pin, "components", lambda: {"x": replace(other, version="2")})
    assert pin.pin_behaviour() == 0
    assert json.loads(golden.read_text())["x"]["version"] == "2"


def test_ids_follow_the_declared_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(strategies=("codex_local",))

    def identities() -> dict[str, str]:
        model = ScriptedModel()
        return {
            "strategy": method_rows(study)[0]["method_id"],
            "summarizer": ModelSummarizer(model).name,
            "prober": ModelProber(model).name,
            "responder": ModelResponder(model).name,
            "judge": json.dumps(judge.llm.judge.judge_versions()),
            "measures": flows.pipeline.measure_plan.measure_code_version(),
            "reader": reader_of(study),
        }

    before = identities()
    raised = replace(REGISTRY["codex_local"], declared_version=2)
    monkeypatch.setitem(REGISTRY, "codex_local", raised)
    for module in (
        compaction.summarizers.model,
        judge.llm.prober,
        judge.llm.responder,
        judge.blinding,
        flows.pipeline.measure_plan,
        flows.sources.registry,
    ):
        monkeypatch.setattr(module, "VERSION", module.VERSION + 1)  # type: ignore[attr-defined]
    after = identities()
    assert {name for name in before if before[name] == after[name]} == set()


def test_the_hash_of_the_code_is_part_of_no_id(monkeypatch: pytest.MonkeyPatch) -> None:
    [row] = method_rows(Study(strategies=("codex_local",)))
    changed = replace(REGISTRY["codex_local"], function=REGISTRY["codex_local"].function)
    changed.__dict__["code_sha256"] = "of a file with another comment"
    monkeypatch.setitem(REGISTRY, "codex_local", changed)
    [other] = method_rows(Study(strategies=("codex_local",)))
    assert other["code_sha256"] != row["code_sha256"]
    assert other["method_id"] == row["method_id"]
