"""``cache stats`` and ``cache prune`` on real caches."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import pytest

from flows.llm.cache.call_cache import CallCache, JournalEntry, StoredCall
from flows.llm.clients.transport import TokenUse
from flows.store.store import Store
from tests.flows.conftest import Command, start


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "store"), "o200k_base")


def entry(*, model: str, cost: float | None, cached: bool = False, status: str = "done") -> JournalEntry:
    return JournalEntry(
        call_id=uuid.uuid4().hex,
        run_id="r",
        stage="score",
        item_id="i",
        model=model,
        key="k",
        input_tokens=1500,
        output_tokens=100,
        cost_usd=cost,
        cached=cached,
        seconds=1.0,
        status=status,
        started_at="2026-11-20T10:00:00Z",
    )


@pytest.fixture
def filled(store: Store) -> Store:
    """Two answers of a model with a price, one old and one new; one of a model without."""
    with CallCache(store.root / "cache") as cache:
        for key, model, cost in (("old", "openai:m", 0.5), ("new", "openai:m", 0.25), ("free", "openai:local", None)):
            cache.put(key, StoredCall("text " * 50, "m", TokenUse(1500, 100), cost, 1.0), entry(model=model, cost=cost))
        cache._db.execute("update answers set made_at = ? where key = 'old'", (time.time() - 40 * 86_400,))
        cache.note(entry(model="openai:m", cost=None, status="timeout"))
        cache.note(entry(model="openai:m", cost=0.5, cached=True))
        cache.note(entry(model="openai:local", cost=None, cached=True))
    return store


def test_stats_show_calls_cost_and_saving_by_model_and_never_0_for_unknown(command: Command, filled: Store) -> None:
    result = command("cache", "stats", "--store", filled.root)
    assert result.exit_code == 0, result.output
    assert f"{filled.root}/cache/calls.sqlite: 3 answers, " in result.stdout
    assert "2 of openai:m" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("score")]
    assert rows == [
        ["score", "openai:local", "1", "0", "1", "1,500", "100", "unknown", "unknown"],
        ["score", "openai:m", "3", "1", "1", "4,500", "300", "0.7500", "0.5000"],
    ]
    assert "set input_usd and output_usd of the model in the study" in result.stdout


def test_stats_as_json_are_one_document(command: Command, filled: Store) -> None:
    found = json.loads(command("cache", "stats", "--store", filled.root, "--json").stdout)
    assert found["answers"] == 3
    assert found["answers_by_model"] == {"openai:local": 1, "openai:m": 2}
    assert found["oldest"] < found["newest"]
    assert [(use["model"], use["cost_usd"], use["unpriced"]) for use in found["uses"]] == [
        ("openai:local", 0.0, 1),
        ("openai:m", 0.75, 0),
    ]


@pytest.mark.parametrize(
    ("arguments", "said", "left"),
    [
        (("--older-than", 30), "1 answer ", {"new", "free"}),
        (("--model", "openai:m"), "2 answers", {"free"}),
        (("--model", "openai:m", "--older-than", "30"), "1 answer ", {"new", "free"}),
        (("--all",), "3 answers", set()),
        (("--model", "openai:none"), "0 answers", {"old", "new", "free"}),
    ],
)
def test_prune_says_and_then_removes(
    command: Command, filled: Store, arguments: tuple[object, ...], said: str, left: set[str]
) -> None:
    dry = command("cache", "prune", *arguments, "--store", filled.root, "--dry-run")
    assert f"would remove {said}" in dry.stdout
    assert kept(filled) == {"old", "new", "free"}
    result = command("cache", "prune", *arguments, "--store", filled.root)
    assert result.exit_code == 0, result.output
    assert f"removed {said}" in result.stdout
    assert kept(filled) == left


def kept(store: Store) -> set[str]:
    with CallCache(store.root / "cache") as cache:
        return set(cache.get_many(["old", "new", "free"]))


def test_prune_as_json(command: Command, filled: Store) -> None:
    found = json.loads(command("cache", "prune", "--all", "--dry-run", "--json", "--store", filled.root).stdout)
    assert (found["answers"], found["left"], found["dry_run"]) == (3, 0, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "error: cache prune: say what to remove: --older-than DAYS, --model SPEC or --all"),
        (("--all", "--model", "openai:m"), "error: cache prune: --all leaves nothing to choose"),
        (("--older-than", "-1"), "Invalid value for '--older-than'"),
        (("--older-than", "nan"), "Invalid value for '--older-than'"),
        (("--older-than", "long"), "--older-than"),
    ],
)
def test_prune_of_nothing_or_of_a_contradiction_is_bad_usage(
    command: Command, filled: Store, arguments: tuple[str, ...], said: str
) -> None:
    result = command("cache", "prune", *arguments, "--store", filled.root)
    assert result.exit_code == 2
    assert said in result.stderr
    assert kept(filled) == {"old", "new", "free"}


@pytest.mark.slow
def test_prune_is_refused_while_a_run_holds_the_store_and_stats_and_a_dry_run_are_not(
    command: Command, filled: Store
) -> None:
    with filled.locked("run"):
        process = start("cache", "prune", "--all", "--store", filled.root)
        _, said = process.communicate(timeout=60)
        dry = command("cache", "prune", "--all", "--dry-run", "--store", filled.root)
        stats = command("cache", "stats", "--store", filled.root)
    assert process.returncode == 1
    assert f"store {filled.root} is in use by `compaction-eval run`" in said
    assert dry.exit_code == stats.exit_code == 0
    assert kept(filled) == {"old", "new", "free"}


def test_a_store_that_asked_no_model_has_no_cache_and_gets_none_from_looking(command: Command, store: Store) -> None:
    assert "no model was asked yet" in command("cache", "stats", "--store", store.root).stdout
    assert "nothing to remove" in command("cache", "prune", "--all", "--store", store.root).stdout
    assert json.loads(command("cache", "stats", "--json", "--store", store.root).stdout) == {"answers": 0}
    assert not (store.root / "cache").exists()


def test_no_store_and_a_damaged_cache_are_one_sentence(command: Command, store: Store, tmp_path: Path) -> None:
    result = command("cache", "stats", "--store", tmp_path / "none")
    assert result.exit_code == 1
    assert "`compaction-eval run` makes one" in result.stderr
    (store.root / "cache").mkdir()
    (store.root / "cache" / "calls.sqlite").write_bytes(b"broken" * 1000)
    result = command("cache", "stats", "--store", store.root)
    assert result.exit_code == 1
    assert "is damaged" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["stats", "prune"])
def test_help_teaches_by_example(command: Command, name: str) -> None:
    shown = command("cache", name, "--help")
    assert shown.exit_code == 0
    assert f"compaction-eval cache {name}" in shown.output
    assert name in command("cache", "--help").output
