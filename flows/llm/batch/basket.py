"""A basket of calls that wait for a batch, with their messages on disk: a stage's can be larger than the memory."""

from __future__ import annotations

import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from pathlib import Path

from compaction.model import ModelRequest
from flows.llm.batch.prefill import BatchItem
from flows.llm.sending import ModelCall


class Basket:
    """Calls in the order in which they came, each once. Iterated one at a time, after the last was put in."""

    def __init__(self, folder: Path) -> None:
        """The file is made in ``folder``, for this user alone and without a name, so that no kill leaves it behind."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by `close`)
        self._checks: dict[str, Callable[[str], object] | None] = {}
        """By key; a check may be a function that no file can hold."""
        self._lock = threading.Lock()
        self.stage = ""
        """Stage of the calls."""
        self.is_by_file = False
        """Whether whoever answers is asked by file: the calls of one stage are all of one kind."""

    def add(self, call: ModelCall) -> None:
        """Put a call in, from any thread."""
        assert isinstance(call.request, ModelRequest)
        with self._lock:
            if call.key not in self._checks:
                pickle.dump((call.settings, replace(call.request, check=None), call.item_id), self._file)
                self._checks[call.key] = call.request.check
                self.stage, self.is_by_file = call.stage, call.settings.is_by_file

    @property
    def keys(self) -> Set[str]:
        """The keys of the calls."""
        return self._checks.keys()

    def __len__(self) -> int:
        return len(self._checks)

    def __iter__(self) -> Iterator[BatchItem]:
        self._file.seek(0)
        for check in self._checks.values():
            settings, request, item_id = pickle.load(self._file)  # noqa: S301 (a file of this process alone)
            yield settings, replace(request, check=check), item_id

    def close(self) -> None:
        """Throw all of it away."""
        self._file.close()
