"""The lock of a store in an object store: one writer at a time, by a lease that is renewed.

The object ``.lock`` is created by a put that fails if the object exists. The holder replaces it every few seconds, on
the condition that it is still the version that it wrote. A lock not replaced for ``STALE`` seconds, by the server's
clock, is free. It is taken over by the same conditional put; of two processes that try, one succeeds.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from flows.support.errors import StoreError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

LOCK = ".lock"
CLOCK = ".clock-"
"""Prefix of objects that are written to read the server's time, and removed at once."""
RENEWED = 10.0
"""Seconds from one renewal to the next."""
STALE = 60.0
"""Seconds without a renewal after which a writer counts as gone."""
WAIT = 5.0
"""Seconds that the end of a command waits for a renewal that is under way; a late one fails on its condition."""


def holder_of(store: ObjectStore) -> dict[str, Any] | None:
    """Content of the lock (token, holder, folder); None if there is no lock."""
    try:
        return _parse_lock(obstore.get(store, LOCK).bytes())
    except FileNotFoundError:
        return None


def fresh_holder(store: ObjectStore) -> str | None:
    """The holder of a lock that is not stale; None if there is none.

    Uses this machine's clock: a reader may not be allowed to write the object that tells the server's.
    """
    try:
        got = obstore.get(store, LOCK)
    except FileNotFoundError:
        return None
    idle = (datetime.now(UTC) - got.meta["last_modified"]).total_seconds()
    return _parse_lock(got.bytes())["holder"] if idle < STALE else None


class Lease:
    """A writer's hold on a store."""

    def __init__(self, store: ObjectStore, name: str, what: str, folder: str) -> None:
        """``folder`` is the id of the working folder, whose lock the caller holds."""
        self.token = os.urandom(8).hex()
        self._store, self._name, self._folder = store, name, folder
        self._holder = f"`compaction-eval {what}` (process {os.getpid()} on {socket.gethostname()})"
        self._version: dict[str, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def take(self) -> None:
        """Take the lock and start to renew it. Raises StoreError when another process holds it."""
        while not self._version:
            try:
                self._put("create")
            except AlreadyExistsError:
                self._take_over()
        self._thread.start()

    def release(self) -> None:
        """Stop renewing and remove the lock."""
        self._ended.set()
        self._thread.join(WAIT)
        with suppress(BaseError, OSError):  # it is then gone after a while
            held = holder_of(self._store)
            if held is not None and held["token"] == self.token:
                obstore.delete(self._store, LOCK)

    def _take_over(self) -> None:
        """Take over a stale lock, or one of this working folder; do nothing if the lock was just removed."""
        try:
            got = obstore.get(self._store, LOCK)
        except FileNotFoundError:
            return
        held = _parse_lock(got.bytes())
        idle = (self._clock() - got.meta["last_modified"]).total_seconds()
        if held["folder"] != self._folder and idle < STALE:
            raise self._in_use(held, idle)
        try:
            self._put({name: str(got.meta[name]) for name in ("e_tag", "version") if got.meta.get(name)})
        except PreconditionError:
            raise self._in_use(holder_of(self._store) or held, 0.0) from None

    def _in_use(self, held: dict[str, Any], idle: float) -> StoreError:
        return StoreError(
            f"store {self._name} is in use by {held['holder']}, last heard of {max(idle, 0):.0f} s ago; wait until it "
            f"has ended (one that is gone is given up after {STALE:.0f} s), or name another with --store"
        )

    def _clock(self) -> datetime:
        """The server's time: the write time of an object that was just written."""
        name = f"{CLOCK}{self.token}"
        obstore.put(self._store, name, self.token.encode())
        try:
            found: datetime = obstore.head(self._store, name)["last_modified"]
            return found
        finally:
            obstore.delete(self._store, name)

    def _put(self, mode: Any) -> None:
        content = {"token": self.token, "holder": self._holder, "folder": self._folder, "at": time.time_ns()}
        put = obstore.put(self._store, LOCK, json.dumps(content).encode(), mode=mode)
        self._version = {name: value for name in ("e_tag", "version") if (value := put[name])}

    def _renew(self) -> None:
        while not self._ended.wait(RENEWED):
            try:
                self._put(self._version)
            except (PreconditionError, FileNotFoundError):
                if not self._is_still_mine():
                    return  # ``ObjectStorage`` notices before the next write
            except BaseError:
                continue  # the server may answer again before the lock is stale

    def _is_still_mine(self) -> bool:
        """Whether the lock still has this token: the version changed only because the answer to a renewal was lost."""
        with suppress(BaseError, FileNotFoundError):
            got = obstore.get(self._store, LOCK)
            if _parse_lock(got.bytes())["token"] != self.token:
                return False
            self._version = {name: str(got.meta[name]) for name in ("e_tag", "version") if got.meta.get(name)}
            return True
        return False


def _parse_lock(content: Any) -> dict[str, Any]:
    """Parse the content of a lock. An unreadable one has an unknown holder and goes stale like any other."""
    with suppress(ValueError, TypeError):
        found = json.loads(bytes(content))
        return {name: str(found.get(name, "")) for name in ("token", "holder", "folder")}
    return {"token": "", "holder": "another process", "folder": ""}
