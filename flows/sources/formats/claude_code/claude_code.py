"""Claude Code sessions: JSON lines with an envelope round each fragment of an API message.

The file is a tree (``parentUuid``) written in order of arrival. File order is kept; a branch is dropped only when a
person went back and replaced a prompt by another one. One response is spread over several lines, with the
results of parallel calls between them: lines are joined by ``message.id``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.claude_code._left_lines import lines_written_again, rewound_lines
from flows.sources.formats.claude_code._thread import ClaudeThread
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat
from flows.sources.reading.claude_lines import (
    agent_line,
    is_prompt,
    kinds_of,
    log_line,
    queued_prompt,
    slim_line,
)
from flows.sources.reading.kinds import kind_of_unknown
from flows.sources.reading.session import ANOTHER_BEGINNING, BOOKKEEPING, DUPLICATE, INHERITED, REWOUND, UNKNOWN
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, need_object, nested, objects_in, text_or_none

NAME = "claude_code"
_KNOWN = frozenset(
    """progress file-history-snapshot queue-operation last-prompt custom-title ai-title agent-name mode
    permission-mode pr-link summary attachment system tag agent-setting result stream_event rate_limit_event
    worktree-state continued-in content-replacement""".split()
)
_SKIPPED_STARTS = (b'{"type":"file-history-snapshot"', b'{"type":"queue-operation"', b'{"type":"last-prompt"')
_KEPT = re.compile(rb'"type": ?"(?:user|assistant|system|attachment)"')
_PARENT = re.compile(rb'\{"parentUuid":"([^"]+)"')


def detect(head: Head) -> bool:
    """Whether one of the first records is a line of Claude Code."""
    records = _unwrap(head.document) or head.records
    return any(map(_is_line, records)) and not any(map(_is_gemini, records))


def _is_gemini(record: Record) -> bool:
    """Whether a line is Qwen Code's, which has the envelope of Claude Code round turns of Gemini."""
    return "parts" in as_dict(record.get("message"))


def _unwrap(document: Any) -> list[Record] | None:
    lines = nested(document, "loglines")
    return objects_in(lines) if isinstance(lines, list) else None


def _is_line(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return "role" in as_dict(record.get("message"))
    if kind in ("summary", "file-history-snapshot"):
        return "leafUuid" in record or "snapshot" in record
    return kind in _KNOWN and ("sessionId" in record or "parentUuid" in record)


def read(source: Source) -> Iterator[Transcript]:
    """The session of the file, and each of its sub-agents as a session of its own."""
    log = _Log(source)
    wrapped = _unwrap(source.document)
    if wrapped is None:
        source.each(log.take, log.skip)
    else:
        for number, record in enumerate(wrapped, 1):
            source.guard(log.take, number, record)
    yield from log.transcripts()


class _Log:
    """First pass: which lines there are, how they are linked, and who owns them (the session, a sub-agent)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[tuple[int, Record]] = []
        self.agent_lines: list[tuple[int, Record]] = []
        """What sub-agents said, out of progress notices."""
        self.parents: dict[str, str | None] = {}
        self.places: dict[str, int] = {}
        self.prompts: dict[str, list[str]] = defaultdict(list)
        """Parent line → the prompts that follow it."""
        self.openings: set[str] = set()
        """Prompts without a parent line."""
        self.bookkeeping = 0
        self.unknown: Counter[Kind | None] = Counter()
        """Lines of kinds that are not known, by what they would have been."""
        self.duplicates: Counter[Kind | None] = Counter()
        self.session_id: str | None = None
        self.forked_from: str | None = None
        """The session whose lines a fork was given."""
        self.cwd: str | None = None
        self.cost: Any = None
        self.agents: dict[str, str] = {}
        self.titles: dict[str, str] = {}
        self._seen: set[tuple[str, str]] = set()
        self._roots: dict[str, str] = {}

    def skip(self, line: bytes) -> bool:
        """Whether a line is a progress notice or a snapshot, by its first bytes; a third of a log's lines are."""
        if b"}{" in line or _KEPT.search(line):
            return False  # possibly a second line behind this one, or behind what was written of it
        if not line.startswith(_SKIPPED_STARTS):
            at = line.find(b'"type":"progress"', 0, 1200)
            # No brace before it: the key is the envelope's own, not one of something nested.
            if at < 0 or line.find(b"{", 1, at) > 0 or not line.endswith((b"}\n", b"}", b"}\r\n")):
                return False
            if b'"agent_progress"' in line:
                return False
            own = line.rfind(b'"uuid":"') + 8
            uuid = line[own : line.find(b'"', own)].decode("utf-8", "replace")
            parent = _PARENT.match(line)
            self._node(uuid, parent.group(1).decode("utf-8", "replace") if parent else None)
        self.bookkeeping += 1
        return True

    def _node(self, uuid: str, parent: Any) -> None:
        self.parents[uuid] = parent if isinstance(parent, str) else None
        self.places[uuid] = len(self.places)

    def take(self, where: int, record: Record) -> None:
        record = log_line(record, self.agents)
        kind, uuid = record.get("type"), record.get("uuid")
        if kind in ("user", "assistant"):
            need_object(record.get("message"), "message")
        if not isinstance(kind, str):
            raise MalformedError("a line without a type")
        if self.session_id is None:
            self.session_id = text_or_none(record.get("sessionId"))
        self.forked_from = self.forked_from or text_or_none(nested(record, "forkedFrom", "sessionId"))
        if isinstance(uuid, str):
            if uuid in self.parents:
                self._count_repeated(self.session_id or "", record)
                return
            self._node(uuid, record.get("logicalParentUuid") or record.get("parentUuid"))
        if kind in ("user", "assistant") or (kind == "system" and "boundary" in str(record.get("subtype"))):
            if isinstance(uuid, str) and is_prompt(record):
                if isinstance(record.get("parentUuid"), str):
                    self.prompts[record["parentUuid"]].append(uuid)
                else:
                    self.openings.add(uuid)
            self.lines.append((where, slim_line(record)))
        elif kind == "attachment" and queued_prompt(record) is not None:
            self.lines.append((where, slim_line(record)))
        elif kind == "progress" and (said := agent_line(record)) is not None:
            self._agent_line(where, said)
        elif kind not in _KNOWN and "role" in as_dict(record.get("message")):
            raise MalformedError(f"a line of the unknown type {kind!r} holds a message")
        else:
            if kind in _KNOWN:
                self.bookkeeping += 1
            else:
                self.unknown[kind_of_unknown(record)] += 1
            self.cwd = self.cwd or text_or_none(record.get("cwd"))
            self.cost = record.get("total_cost_usd", self.cost)
            title = record.get("customTitle") or record.get("aiTitle") or record.get("summary")
            if isinstance(title, str) and (kind != "summary" or record.get("leafUuid") in self.parents):
                self.titles[kind] = title

    def _agent_line(self, where: int, said: Record) -> None:
        key = (said["agentId"], str(said.get("uuid")))
        if said.get("uuid") is not None and key in self._seen:
            self._count_repeated(said["agentId"], said)
            return
        self._seen.add(key)
        self.agent_lines.append((where, slim_line(said)))

    def _count_repeated(self, whose: str, record: Record) -> None:
        """Counts a line that was there before; the pieces of one response are one message."""
        kinds: list[Kind | None] = []
        for kind, response in kinds_of(record):
            if response is None or (whose, "response " + response) not in self._seen:
                kinds.append(kind)
            if response is not None:
                self._seen.add((whose, "response " + response))
        self.duplicates.update(kinds or [None])

    def transcripts(self) -> Iterator[Transcript]:
        """Second pass: the threads, each in file order."""
        threads = self._threads()
        native = self.session_id
        main = threads[None].session
        main.title = next(
            (self.titles[kind] for kind in ("custom-title", "ai-title", "summary") if kind in self.titles), None
        )
        # Sub-agents in a file of their own: what is not theirs is counted with the first of them.
        sessions = [thread.session for thread in threads.values()]
        first = main if main.drafts else next((session for session in sessions if session.drafts), main)
        first.leave_out(BOOKKEEPING, None, self.bookkeeping)
        main.use("total", make_usage(cost=self.cost))
        for session in sessions:
            session.cwd = session.cwd or self.cwd
        for kind, count in self.unknown.items():
            first.leave_out(UNKNOWN, kind, count)
        for kind, count in self.duplicates.items():
            first.leave_out(DUPLICATE, kind, count)
        parent = f"{NAME}-{native}" if native else None
        for key in list(threads):
            thread = threads.pop(key)
            if thread.session is not first and not thread.session.drafts:
                continue
            thread.finish()
            if key is None:
                origin = f"{NAME}-{self.forked_from}" if self.forked_from else None
                yield from thread.session.build(NAME, native, parent_session_id=origin, is_fork=True)
            else:
                own = f"{native}-agent-{key}" if native else None
                yield from thread.session.build(NAME, own, parent_session_id=parent)

    def _count_conversations(self) -> int:
        """Count the conversations: trees of lines below one without a parent, with a prompt among them."""
        roots: dict[str, str] = {}
        for uuid, parent in self.parents.items():
            roots[uuid] = uuid if parent is None else roots.get(parent, "")
        answered = self.openings.intersection(filter(None, self.parents.values()))
        return len(answered | {roots[parent] for parent in self.prompts if roots.get(parent)})

    def _threads(self) -> dict[str | None, ClaudeThread]:
        gone, again = (
            rewound_lines(self.prompts, self.parents, self.places),
            lines_written_again(self.lines, self.openings),
        )
        threads: dict[str | None, ClaudeThread] = {None: ClaudeThread(self.source, self.places)}
        if not again:
            threads[None].session.leave_out(ANOTHER_BEGINNING, None, max(self._count_conversations() - 1, 0))
        owned = {self._sidechain(record) for _, record in self.lines}
        # Each line is released once its messages are made: a long log does not fit into memory twice.
        self.lines.reverse()
        while self.lines:
            where, record = self.lines.pop()
            key = self._sidechain(record)
            if key not in threads:
                threads[key] = ClaudeThread(self.source, self.places)
            thread = threads[key]
            if str(record.get("uuid")) in gone:
                thread.leave_out(REWOUND, record)
            elif where in again:
                thread.leave_out(DUPLICATE, record)
            elif isinstance(record.get("forkedFrom"), dict):
                thread.leave_out(INHERITED, record)
            else:
                self.source.guard(thread.take, where, record)
        for where, record in self.agent_lines:
            key = record["agentId"]
            if key not in threads:
                threads[key] = ClaudeThread(self.source, {})
            thread = threads[key]
            if key in owned:  # the sub-agent's own lines are in this file too
                thread.leave_out(DUPLICATE, record)
            else:
                self.source.guard(thread.take, where, record)
        self.agent_lines.clear()
        return threads

    def _sidechain(self, record: Record) -> str | None:
        """The owner of a line: a sub-agent's id, or else the first line of its chain; None for the session."""
        if not record.get("isSidechain"):
            return None
        agent = record.get("agentId")
        if isinstance(agent, str) and agent:
            return agent
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return "sidechain"
        way: list[str] = []
        seen: set[str] = set()
        root = uuid
        while root not in self._roots and root not in seen:
            way.append(root)
            seen.add(root)
            parent = self.parents.get(root)
            if parent is None or parent not in self.parents:
                break
            root = parent
        root = self._roots.get(root, root)
        self._roots.update(dict.fromkeys(way, root))
        return root


FORMAT = SourceFormat(
    NAME,
    "Claude Code session log (one JSON object a line), sub-agents included",
    "a line of type user or assistant with a message object, or one of Claude Code's own bookkeeping lines",
    detect,
    read,
    order=10,
    version=4,
)
