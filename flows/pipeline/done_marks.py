"""Marks of finished sessions, so that a nightly run plans new sessions only.

The ids in the shards tell what is done (``flows.pipeline.plan``), but reading all of them takes minutes in a store of
millions of answers. So each stage marks every session on which nothing is left to do, in one file for each bucket. A
mark has the hash of the session's content and belongs to a study. It is valid while the files that the stage had
written exist. If one was deleted or merged, the whole bucket is planned again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from compaction.strategies.recovery import fetches_of
from flows.config.study import Study
from flows.pipeline.engine import Engine
from flows.pipeline.measure_plan import measure_code_version
from flows.pipeline.next_action_plan import next_action_code_version
from flows.pipeline.plan import method_rows
from flows.pipeline.replay_plan import replay_code_version
from flows.sessions.session_parts import SessionInfo
from flows.store.store import Store
from flows.support.ids import content_id

MOST_STUDIES = 8
"""Number of studies for which a bucket keeps marks: those that ran last."""


def study_hash(study: Study, engine: Engine) -> str:
    """Hash of everything in the study, apart from the session, that decides what there is to do for a session."""
    methods = sorted(row["method_id"] for row in method_rows(study))
    return content_id(
        study.points,
        study.history,
        study.replicates,
        methods,
        engine.prober.name,
        engine.responder.name,
        *((engine.recovering.name,) if engine.recovering and any(map(fetches_of, study.methods())) else ()),
        measure_code_version(),
        asdict(engine.judge.version),
        study.judge_replicates,
        *((study.replay, replay_code_version()) if study.replay else ()),
        *((study.next_action, next_action_code_version()) if study.next_action else ()),
    )


class DoneMarks:
    """The marks of one stage in one bucket.

    ``asks`` is the hash of the study (``study_hash``). ``files`` are names of the bucket's files that the stage writes.
    ``written`` is the content of the marks' file, from ``all_marks``; without it the file is read now.
    """

    def __init__(
        self, store: Store, stage: str, bits: str, asks: str, files: Iterable[str], written: bytes | None = None
    ) -> None:
        self._place = store.place
        self._path = _folder(store, stage) / f"b{bits}.json"
        self._asks = asks
        self._files = set(files)
        self._studies: dict[str, dict[str, Any]] = _read(written or self._place.read(self._path) or b"{}")

    def marked_sessions(self) -> dict[str, str]:
        """Session id → hash of its content when it was marked."""
        found = self._studies.get(self._asks, {"files": [], "sessions": {}})
        return dict(found["sessions"]) if self._files.issuperset(found["files"]) else {}

    def not_done(self, sessions: Iterable[SessionInfo]) -> list[SessionInfo]:
        """The sessions without a valid mark."""
        marked = self.marked_sessions()
        return [info for info in sessions if marked.get(info.session_id) != _content_mark(info)]

    def mark(self, sessions: Iterable[SessionInfo]) -> None:
        """Mark sessions as finished; earlier marks stay."""
        marked = {**self.marked_sessions(), **{info.session_id: _content_mark(info) for info in sessions}}
        others = {asks: found for asks, found in self._studies.items() if asks != self._asks}
        kept = dict([*others.items()][-MOST_STUDIES + 1 :])
        kept[self._asks] = {"files": sorted(self._files), "sessions": marked}
        if kept != self._studies:
            self._place.write(self._path, json.dumps(kept, separators=(",", ":")).encode())


def all_marks(store: Store, stage: str) -> dict[str, bytes]:
    """Bucket → content of its file of marks, for all buckets that have one."""
    found = store.place.contents(_folder(store, stage), ".json")
    return {path.stem.removeprefix("b"): content for path, content in found}


def _folder(store: Store, stage: str) -> Path:
    return store.root / "settled" / stage


def _content_mark(info: SessionInfo) -> str:
    return f"{info.content_sha256[:16]}{f'-{info.n_given}' if info.n_given else ''}"


def _read(content: bytes) -> dict[str, dict[str, Any]]:
    """Parse a file of marks. An unreadable file has no marks, so its sessions are planned again."""
    try:
        found = json.loads(content)
        return {asks: {"files": list(one["files"]), "sessions": dict(one["sessions"])} for asks, one in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
