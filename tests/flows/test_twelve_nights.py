"""Nights on one store, and the night after each: every table is that of a fresh run over the same inputs."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from flows.database.database_draft import MATERIALIZED
from flows.database.scores_db import connect
from tests.flows.conftest import Command, write_session
from tests.flows.disturb import NOT_COMPARED, Forker
from tests.flows.llm.server import HttpError, MockProvider
from tests.flows.test_model_runs import asked_of_a_judge

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

OF_RUNS = {"runs", "run_stages", "calls", "store_info", "night_figures", "night_sums", *MATERIALIZED}
"""Tables that tell of runs, calls and nights, of which a fresh store has had others, and figures of other tables, whose
last digit differs from load to load."""
OF_REFUSED = {"inputs": {"n_bytes", "n_quarantined"}, "quarantine": {"source_path", "line", "reason", "excerpt"}}
"""What a log that reads worse than before leaves behind, which its last good form does not."""
METHODS = """
points = "messages:20"
strategies = [{names}]
judge = "openai:judge"
[[methods]]
name = "ours"
strategy = "head_tail"
params = {{ tail = {tail} }}
"""


def verdict(body: Mapping[str, Any]) -> str:
    """Scores that the answer alone decides, so that they are the same in every store; 0 for what says little."""
    ids = asked_of_a_judge(dict(body))
    said = json.dumps([message["content"] for message in body["messages"] if message["role"] == "user"])
    digest = hashlib.sha256(said.encode()).digest()
    results = [
        {"criterionId": id, "score": digest[number] % 6, "reasoning": "as seen"} for number, id in enumerate(ids)
    ]
    return json.dumps({"criterionResults": results, "aggregateScore": 3.0, "dimensionScores": {}})


@dataclass
class Nights:
    """The store that lives through all nights, its logs, and beside them the last good form of each."""

    folder: Path
    command: Command
    provider: MockProvider
    forker: Forker
    names: tuple[str, ...] = ("none", "empty", "ours")
    tail: int = 14
    rubric: tuple[object, ...] = ()
    has_refused: bool = False
    """Whether a log reads worse than before just now."""
    run_code: int = 0
    """Exit code of a fresh run: 3 where a log that was taken has places that cannot be read."""
    n_fresh: int = 0
    superseded: set[str] = field(default_factory=set)
    """Tables that may hold rows of earlier methods and judges too."""

    def write(self, word: str, session_id: str, turns: int, content: str | None = None) -> None:
        """A log, and the same among the good forms."""
        for logs in ("logs", "good"):
            write_session(self.folder / logs / f"{word}.jsonl", session_id, turns, content or word)

    def log(self, word: str) -> Path:
        return self.folder / "logs" / f"{word}.jsonl"

    def damage(self, word: str) -> None:
        """Make a line in the middle of a log unreadable."""
        lines = self.log(word).read_text().splitlines(keepends=True)
        self.log(word).write_text("".join([*lines[:9], '{"type": "user", "mess\n', *lines[10:]]))
        self.has_refused = True

    def cut_in_half(self, word: str) -> None:
        """Leave of a log what is there when it is read while somebody writes it anew."""
        whole = self.log(word).read_bytes()
        self.log(word).write_bytes(whole[: len(whole) // 2])
        self.has_refused = True

    def change_the_method(self) -> None:
        """Give ``ours`` another parameter; what the old one did stays in the store."""
        self.tail = 1
        self.superseded |= {"methods", "compactions", "measures", "statement_states", "answers", "scores", "verdicts"}

    def change_the_rubric(self) -> None:
        """Take the rubric under another name; what was scored by the old one stays in the store."""
        path = self.folder / "strict.toml"
        found = files("judge").joinpath("rubrics", "software_engineering.toml").read_text()
        path.write_text(found.replace('id = "software_engineering"', 'id = "strict"'))
        self.rubric = ("--rubric", path)
        self.superseded |= {"judges", "criteria", "scores", "verdicts"}

    def kill(self) -> None:
        """A night that is ended by ``kill -9`` once it has written something that it compacted."""
        shards = self.folder / "store" / "compactions"
        before = set(shards.iterdir())
        started = self.forker.start(
            *self.arguments("logs", "store"), environment={"OPENAI_BASE_URL": self.provider.openai_url}
        )
        started.until(lambda: set(shards.iterdir()) - before, "a compaction")
        started.kill()

    def arguments(self, logs: str, store: str) -> tuple[object, ...]:
        """The command of a night."""
        names = ", ".join(f'"{name}"' for name in self.names)
        (self.folder / "study.toml").write_text(METHODS.format(names=names, tail=self.tail))
        study = ("--study", self.folder / "study.toml")
        return ("run", self.folder / logs, "--store", self.folder / store, *study, *self.rubric, "--quiet")

    def run(self, logs: str = "logs", store: str = "store", exit_code: int = 0) -> None:
        """A night."""
        ended = self.command(*self.arguments(logs, store))
        assert ended.exit_code == exit_code, ended.output

    def night(self, exit_code: int = 0) -> None:
        """A night and the night after it, each held against a fresh run; in the second there is nothing to do."""
        self.run(exit_code=exit_code)
        fresh = self.fresh()
        assert self.apart(fresh) == {}
        before = self.files()
        self.run(exit_code=exit_code)
        assert self.apart(fresh) == {}
        assert self.files() == before

    def fresh(self) -> str:
        """A store that has seen nothing but the last good forms."""
        self.n_fresh += 1
        name = f"fresh-{self.n_fresh}"
        self.run("good", name, exit_code=0 if self.has_refused else self.run_code)
        return name

    def files(self) -> dict[str, bytes]:
        """The Parquet files of the store."""
        return {str(path): path.read_bytes() for path in sorted((self.folder / "store").rglob("*.parquet"))}

    def apart(self, fresh: str, without: set[str] = frozenset()) -> dict[str, Any]:  # type: ignore[assignment]
        """Table → rows that one of the two stores has and the other has not; empty where all are the same."""
        here, there = self.rows("store", fresh), self.rows(fresh, fresh)
        found = {}
        for table in sorted((here.keys() | there.keys()) - without):
            mine, its = here.get(table, Counter()), there.get(table, Counter())
            if mine != its:
                found[table] = {"only in the store": list(mine - its)[:3], "only in a fresh one": list(its - mine)[:3]}
        with connect(self.folder / "store" / "scores.duckdb") as connection:
            broken = connection.execute("FROM checks WHERE violations > 0").fetchall()
        return found | ({"checks": broken} if broken else {})

    def rows(self, store: str, fresh: str) -> dict[str, Counter[str]]:
        """Table → its rows; of methods and judges those that a fresh store has too."""
        path = self.folder / store / "scores.duckdb"
        with connect(self.folder / fresh / "scores.duckdb") as connection:
            methods, judges = (
                [id for (id,) in connection.execute(f"SELECT {kind}_id FROM {kind}s").fetchall()]
                for kind in ("method", "judge")
            )
            rubrics = [name for (name,) in connection.execute("SELECT rubric FROM judges").fetchall()]
        with connect(path) as connection:
            columns: dict[str, list[str]] = {}
            for table, column in connection.execute(
                "SELECT table_name, column_name FROM duckdb_columns() SEMI JOIN duckdb_tables() "
                "USING (database_name, schema_name, table_name) WHERE database_name = 'store' ORDER BY ALL"
            ).fetchall():
                columns.setdefault(table, []).append(column)
            ids = {
                "method_id": set(methods),
                "judge_id": set(judges),
                "rubric": set(rubrics),
                "compaction_id": _ids(connection, "compactions", "method_id", methods),
            }
            ids["answer_id"] = _ids(connection, "answers", "compaction_id", [*ids["compaction_id"]])
            found: dict[str, Counter[str]] = {}
            for table, names in columns.items():
                hidden = NOT_COMPARED | (OF_REFUSED.get(table, set()) if self.has_refused else set())
                shown = [name for name in names if name not in hidden]
                if table in OF_RUNS or not shown:
                    continue
                rows = [
                    dict(zip(names, row, strict=True))
                    for row in connection.execute(f'SELECT {", ".join(names)} FROM "{table}"').fetchall()
                ]
                left = [row for row in rows if all(row[name] in ids[name] for name in ids.keys() & row.keys())]
                if table not in self.superseded:
                    assert len(left) == len(rows), f"{table} holds rows of methods or judges that are not asked for"
                found[table] = Counter(
                    str({name: row[name] for name in shown}).replace(
                        str(self.folder / "good"), str(self.folder / "logs")
                    )
                    for row in left
                )
        return found


def _ids(connection: Any, table: str, column: str, values: list[str]) -> set[str]:
    name = f"{table.removesuffix('s')}_id"
    rows = connection.execute(f"SELECT {name} FROM {table} WHERE {column} IN (SELECT unnest(?))", [values]).fetchall()
    return {id for (id,) in rows}


@pytest.fixture
def nights(
    tmp_path: Path, working_command: Command, forker: Forker, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Nights]:
    """Four logs, of which no night has come yet."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with MockProvider(handler=verdict) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        found = Nights(tmp_path, working_command, provider, forker)
        for number, word in enumerate(("orchard", "harbour", "lantern", "meadow")):
            found.write(word, f"session-{number}", 16)
        yield found


def test_nights_that_are_disturbed_in_all_ways_leave_what_a_fresh_run_would(nights: Nights) -> None:
    """The twelve nights in five; each alone, and the night after each: tests/benchmarks/test_twelve_nights.py."""
    nights.night()  # all is new
    nights.write("orchard", "session-0", 27)
    nights.log("harbour").unlink()
    nights.damage("lantern")
    nights.cut_in_half("meadow")
    nights.write("willow", "session-4", 16)
    nights.names = (*nights.names, "factory_style_anchored")
    nights.kill()
    nights.night(exit_code=3)  # grown, deleted, damaged, half-written, killed, and a new method on all of them
    nights.write("lantern", "session-2", 18, "granite")
    nights.write("meadow", "session-3", 17)
    nights.has_refused = False
    nights.change_the_method()
    nights.change_the_rubric()
    nights.provider.handler = down
    nights.run(exit_code=3)  # mended with another content, a changed parameter, a new rubric, and the provider is down
    nights.provider.handler = verdict
    nights.night()  # it is back


def test_a_regression_is_told_when_the_night_that_brought_it_could_not_be_scored(nights: Nights) -> None:
    """It is told once, by the first night in which the judge has scored it: against what was told last of the two."""
    scores = {"now": 4}
    nights.names = ("none", "ours")

    def answer(body: Mapping[str, Any]) -> str:
        results = [{"criterionId": id, "score": scores["now"], "reasoning": "-"} for id in asked_of_a_judge(dict(body))]
        return json.dumps({"criterionResults": results, "aggregateScore": 3.0, "dimensionScores": {}})

    def night(score: int, tail: int, *options: object) -> tuple[int, bool]:
        scores["now"], nights.tail = score, tail
        ended = nights.command(*nights.arguments("logs", "store"), "--fail-if-worse", 0.2, *options)
        return ended.exit_code, "worse by more than 0.2: ours -4.00 (4.00 → 0.00" in ended.stderr

    nights.provider.handler = answer
    assert night(4, 14) == (0, False)
    nights.change_the_rubric()
    assert night(4, 3) == (0, False)  # another judge, of which nothing is known yet
    nights.rubric = ()
    nights.provider.handler = down
    assert night(0, 1) == (3, False)
    nights.provider.handler = answer
    assert night(0, 1) == (5, True)
    assert night(0, 1) == (0, False)
    moved = nights.command("moved", "--store", nights.folder / "store", "--worse-than", 0.2)
    assert (moved.exit_code, "ours" in moved.stderr) == (5, True)

    assert night(4, 14) == (0, False)  # as it was
    assert night(0, 8, "--budget-tokens", 1_000) == (4, False)
    assert night(0, 8) == (5, True)


def down(body: Mapping[str, Any]) -> str:
    """The answer of a provider to a key that it does not know."""
    raise HttpError(401, "Incorrect API key provided.", code="invalid_api_key")
