"""Which sessions a stage is through with, so that a night looks at what is new and at nothing else.

What is done is known from the ids in the shards (``flows.plan``); to look at all of them takes minutes in a store of
millions of answers. So each stage leaves a mark for every session of which nothing was left to do, in one file a
bucket. A mark says as which content the session was seen, and of what study. It holds while the files that the stage
had written are still there; where one is gone (deleted, merged), the bucket is looked at again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows.engine import Engine
from flows.ids import content_id
from flows.measured import measuring
from flows.plan import method_rows
from flows.store import Store
from flows.study import Study
from flows.transcripts import SessionInfo

MOST_STUDIES = 8
"""Studies of which a bucket keeps its marks: those that were run last."""


def asks_of(study: Study, engine: Engine) -> str:
    """Hash of all that decides what there is to do for a session, but the session itself."""
    methods = sorted(row["method_id"] for row in method_rows(study))
    return content_id(
        study.points, study.history, study.replicates, methods, engine.prober.name, engine.responder.name, measuring(),
        asdict(engine.judge.version), study.judge_replicates,
    )  # fmt: skip


class Marks:
    """The marks of one stage in one bucket.

    ``asks`` is the study's (``asks_of``), ``files`` are the names of the bucket's files that the stage writes,
    ``written`` is what ``all_marks`` had of the bucket; without it that is read now.
    """

    def __init__(
        self, store: Store, stage: str, bits: str, asks: str, files: Iterable[str], written: bytes | None = None
    ) -> None:
        self._place = store.place
        self._path = _folder(store, stage) / f"b{bits}.json"
        self._asks = asks
        self._files = set(files)
        self._studies: dict[str, dict[str, Any]] = _read(written or self._place.read(self._path) or b"{}")

    def settled(self) -> dict[str, str]:
        """Session → its content when it was marked."""
        found = self._studies.get(self._asks, {"files": [], "sessions": {}})
        return dict(found["sessions"]) if self._files.issuperset(found["files"]) else {}

    def unsettled(self, sessions: Iterable[SessionInfo]) -> list[SessionInfo]:
        """The sessions that are to be looked at."""
        marked = self.settled()
        return [info for info in sessions if marked.get(info.session_id) != _seen(info)]

    def settle(self, sessions: Iterable[SessionInfo]) -> None:
        """Mark sessions of which nothing is left to do, beside those that are marked."""
        marked = {**self.settled(), **{info.session_id: _seen(info) for info in sessions}}
        others = {asks: found for asks, found in self._studies.items() if asks != self._asks}
        kept = dict([*others.items()][-MOST_STUDIES + 1 :])
        kept[self._asks] = {"files": sorted(self._files), "sessions": marked}
        if kept != self._studies:
            self._place.write(self._path, json.dumps(kept, separators=(",", ":")).encode())


def all_marks(store: Store, stage: str) -> dict[str, bytes]:
    """Bucket → what its marks are read from, for the buckets that have some: all in one go."""
    found = store.place.contents(_folder(store, stage), ".json")
    return {path.stem.removeprefix("b"): content for path, content in found}


def _folder(store: Store, stage: str) -> Path:
    return store.root / "settled" / stage


def _seen(info: SessionInfo) -> str:
    return info.content_sha256[:16]


def _read(content: bytes) -> dict[str, dict[str, Any]]:
    """Marks that cannot be read are none: what they would have saved is looked at again."""
    try:
        found = json.loads(content)
        return {asks: {"files": list(one["files"]), "sessions": dict(one["sessions"])} for asks, one in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
