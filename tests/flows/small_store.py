"""A store of a few rows, written without running anything: one session, two points, two methods, all done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flows.config.study import Study
from flows.pipeline.load.provenance import Provenance
from flows.pipeline.measure_plan import measure_code_version, measure_id, needs_id
from flows.pipeline.plan import probe_id
from flows.sessions.session_parts import Fingerprint, InputRecord, Part, SessionInfo
from flows.store import parquet_schemas
from flows.store.store import Shards, Store

Row = dict[str, Any]
SHA = "5" * 64
JUDGE = "judge-1"


class SmallStore:
    """The store and its study; every method writes a shard of its own."""

    def __init__(self, folder: Path) -> None:
        self.study = Study(store=str(folder / "store"), strategies=("none", "empty"), points="messages:20")
        self.store = Store.create(self.study.store, self.study.tokenizer)
        self.makers = Provenance.now(self.study)
        self.probes = [probe_id(point, "recall", self.makers.prober) for point in ("p1", "p2")]

    def fill(self) -> SmallStore:
        self.part("part-1.parquet", SHA)
        for name in ("none", "empty"):
            row = {
                "method_id": name,
                "method": name,
                "strategy": name,
                "params": {},
                "peer": "own",
                "mode": "valid",
                "peer_version": None,
                "needs_model": False,
                "history": "prefix",
                "summarizer": None,
                "version": "1",
                "last_run_at": "2026-01-01",
            }
            self.store.record("methods", name, row)
        criterion = {"criterion": "facts", "dimension": "accuracy", "weight": 1.0, "question": "Right?"}
        judge = {
            "judge_id": JUDGE,
            "judge": "embedded",
            "model": "none",
            "rubric": "r@1",
            "prompt_sha256": "0",
            "protocol": "facts",
            "params": {},
            "created_at": "2026-01-01T00:00:00+00:00",
            "criteria": [criterion],
        }
        self.store.record("judges", JUDGE, judge)
        points = [{"point_id": f"p{n}", "cycle": n, "cut_seq": 20 * n, "tokens_before": 900 * n} for n in (1, 2)]
        self.write("points", {"content_sha256": SHA, "points_spec": "messages:20", "points": points})
        pairs = [(method, point) for method in ("none", "empty") for point in ("p1", "p2")]
        self.write("compactions", *(self.compaction(*pair) for pair in pairs))
        self.write("probes", *(self.probe(point) for point in ("p1", "p2")))
        self.write("answers", *(self.answer(*pair) for pair in pairs))
        self.write("scores", *(self.score(*pair) for pair in pairs))
        need = {
            "kind": "path",
            "value": "/a.py",
            "observation_seq": 3,
            "observation_tokens": 50,
            "needed_at": 45,
            "turns_after": 2,
        }
        self.write(
            "needs",
            {
                "needs_id": needs_id("p1", SHA, measure_code_version()),
                "point_id": "p1",
                "status": "done",
                "needs": [need, {**need, "value": "/b.py"}],
            },
        )
        self.write("measures", *(self.measure(*pair) for pair in pairs))
        self.write(
            "calls",
            {
                "call_id": "call-1",
                "stage": "answer",
                "model": "m",
                "cached": False,
                "status": "done",
                "started_at": "2026-01-01T02:00:00+02:00",
            },
        )
        return self

    def part(self, name: str, sha: str) -> None:
        """The description of a part without messages: nothing that is tested here reads them."""
        info = SessionInfo(
            session_id="s1",
            recorded_id="s1",
            content_sha256=sha,
            input_path="/logs/s1",
            ordinal=0,
            part=name,
            first_row=0,
            n_messages=60,
            n_tokens=3000,
            tokenizer="o200k_base",
            source_format="claude_code",
            source_path="s1",
            roles={"user": 20, "assistant": 40},
            n_tool_calls=0,
            started_at="2026-01-01T02:00:00+02:00",
        )
        read = InputRecord(Fingerprint("/logs/s1", 9, 1), "claude_code", 1, 60, 0, {"user": 20, "assistant": 40})
        self.store.transcripts.mkdir(exist_ok=True)
        with pq.ParquetWriter(self.store.transcripts / name, parquet_schemas.MESSAGES) as writer:
            writer.add_key_value_metadata(Part(name, 1, (read,), (info,)).metadata())

    def write(self, name: str, *rows: Mapping[str, Any]) -> None:
        """A shard of its own, also where one with the same units is there."""
        shards: Shards = getattr(self.store, name)
        shards.folder.mkdir(exist_ok=True)
        table = pa.Table.from_pylist([{"session_id": "s1", **row} for row in rows], schema=shards.schema)
        pq.write_table(table, shards.folder / f"{len(shards.files()):03d}.parquet")

    def run(self, run_id: str, started_at: str, **changes: Any) -> None:
        """The record of a run."""
        row = {
            "run_id": run_id,
            "study": self.study.as_dict(),
            "study_key": self.study.study_key,
            "versions": {},
            "counts": {},
            "started_at": started_at,
            "ended_at": None,
            "status": "done",
            "exit_code": 0,
            **changes,
        }
        self.store.record("runs", run_id, row, replace=True)

    def compaction(self, method: str, point: str, **changes: Any) -> Row:
        return {
            "compaction_id": f"{method}-{point}",
            "point_id": point,
            "points_spec": "messages:20",
            "method_id": method,
            "replicate": 0,
            "status": "done",
            "tokens_before": 900,
            "tokens_after": 90,
            "calls": [
                {"model": "embedded-summarizer", "input_tokens": 9, "output_tokens": 1, "cost_usd": 0.0, "seconds": 0.1}
            ],
            **changes,
        }

    def probe(self, point: str, **changes: Any) -> Row:
        return {
            "probe_id": probe_id(point, "recall", self.makers.prober),
            "point_id": point,
            "probe_type": "recall",
            "prober": self.makers.prober,
            "status": "done",
            "question": "What?",
            "ground_truth": "That.",
            "evidence": "[]",
            "statements": "[]",
            "max_tokens": 100,
            **changes,
        }

    def answer(self, method: str, point: str, **changes: Any) -> Row:
        return {
            "answer_id": f"a-{method}-{point}",
            "compaction_id": f"{method}-{point}",
            "replicate": 0,
            "probe_id": probe_id(point, "recall", self.makers.prober),
            "responder": self.makers.responder,
            "status": "done",
            "text": "That.",
            "model": "embedded-responder",
            **changes,
        }

    def score(self, method: str, point: str, **changes: Any) -> Row:
        return {
            "answer_id": f"a-{method}-{point}",
            "judge_id": JUDGE,
            "judge_replicate": 0,
            "dimension": "accuracy",
            "criterion": "facts",
            "status": "done",
            "score": 4.0,
            **changes,
        }

    def measure(self, method: str, point: str, **changes: Any) -> Row:
        asked: Sequence[str] = self.probes[: int(point[1:])]
        compaction = f"{method}-{point}"
        return {
            "measure_id": measure_id(compaction, SHA, asked, measure_code_version()),
            "compaction_id": compaction,
            "status": "done",
            "n_needs": 2,
            "refetch_tokens": 50,
            "n_any_true": 1,
            "states": [
                {"probe_id": id, "position": 1, "since": id, "state": "readable", "support": 1.0} for id in asked
            ],
            **changes,
        }
