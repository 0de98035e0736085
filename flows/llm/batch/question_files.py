"""Calls that people or programs outside answer: questions go into a file, replies are read from files beside it.

``questions-<stage>.jsonl`` holds what is open in the run that was made last: one object a line with ``id``, ``system``,
``messages``, ``max_tokens`` and ``schema`` (null for free text). Whoever answers writes ``{"id": …, "reply": …}`` into
``replies*.jsonl``, the reply as a text or as the JSON object that was asked for. A reply that passes the request's
check goes into the call cache, for nothing; any other is said, with file and line, and its question stays open. Of
several replies the last that passes counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from compaction.model import ModelRequest, ReplyError
from flows.llm.batch.prefill import BatchItem
from flows.llm.batch.protocol import line_bytes
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.cache.records import StoredCall
from flows.llm.clients.transport import TokenUse
from flows.llm.sending import ModelCall
from flows.support.atomic_files import OWNERS_FILE, make_folder, publish, temporary_path
from flows.support.clock import now
from flows.support.errors import EvalError

REPLIES = "replies*.jsonl"


class QuestionFiles:
    """The folder of questions and replies."""

    def __init__(self, folder: Path, run_id: str, report: Callable[[str], None]) -> None:
        """``report`` is told of every reply that cannot be used, once."""
        self._folder, self._run_id, self._report = folder, run_id, report
        self._said: set[str] = set()

    def ask(self, items: Iterable[BatchItem], stage: str, cache: CallCache) -> int:
        """Take the replies that are there over, write the other questions down; how many are open.

        Raises EvalError for a file that cannot be read or written.
        """
        try:
            make_folder(self._folder)
            return self._ask(items, stage, cache)
        except OSError as error:
            raise EvalError(f"{self._folder}: questions and replies cannot be kept there: {error.strerror}") from None

    def _ask(self, items: Iterable[BatchItem], stage: str, cache: CallCache) -> int:
        replies = dict[str, list[tuple[str, str]]]()
        for id, place, text in self._replies():
            replies.setdefault(id, []).append((place, text))
        path, n_open = self._folder / f"questions-{stage}.jsonl", 0
        tmp = temporary_path(path)
        with os.fdopen(os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS_FILE), "wb") as file:
            for settings, request, item_id in items:
                key = call_key(settings, request)
                usable = self._usable(request, key, replies.get(key, []))
                if usable is None:
                    file.write(_question(request, key))
                    n_open += 1
                    continue
                entry = ModelCall(settings, request, key, self._run_id, stage, item_id).entry(
                    None, 0.0, seconds=0.0, started_at=now()
                )
                cache.put(key, StoredCall(usable, settings.model, TokenUse(), 0.0, 0.0), entry)
        publish(tmp, path)
        if not n_open:
            path.unlink()
        return n_open

    def _replies(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, place and text of every reply, in the order of the files' names."""
        for path in sorted(self._folder.glob(REPLIES)):
            for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
                if not line.strip():
                    continue
                place = f"{path}:{number}"
                try:
                    found = json.loads(line)
                    id, reply = found["id"], found["reply"]
                except (ValueError, TypeError, KeyError):
                    self._say(f'{place}: expected {{"id": …, "reply": …}} on one line; it is left out')
                    continue
                yield str(id), place, reply if isinstance(reply, str) else json.dumps(reply)

    def _usable(self, request: ModelRequest, key: str, replies: list[tuple[str, str]]) -> str | None:
        """The last reply that passes the request's check; what does not pass is said."""
        usable = None
        for place, text in replies:
            try:
                if not text.strip():
                    raise ReplyError("it is blank")
                if request.check is not None:
                    request.check(text)
                usable = text
            except ReplyError as error:
                self._say(f"{place}: the reply to {key[:12]}… cannot be used: {error}; the question stays open")
        return usable

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._report(text)


def _question(request: ModelRequest, key: str) -> bytes:
    said = [{"role": message.role, "content": message.text} for message in request.messages]
    system = "\n\n".join(one["content"] for one in said if one["role"] == "system")
    messages = [one for one in said if one["role"] != "system"]
    parts = {"id": key, "system": system, "messages": messages, "max_tokens": request.max_tokens}
    return line_bytes({**parts, "schema": request.schema})
