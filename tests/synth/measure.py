"""Measuring a profile from the sessions of a store: counts, shares and quantiles, no text."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from compaction import Message, ToolCall, Transcript
from compaction.reading.file_effects import file_ops
from compaction.reading.message_facts import read_message
from compaction.reading.shell.effects import only_reads
from compaction.reading.tool_calls import call_effects, shell_command, tool_name
from flows.sessions.session_parts import SessionInfo, load_session, read_parts
from flows.store.store import Store
from flows.support.errors import UsageError
from tests.synth.cue_words import is_decision, is_intent, said
from tests.synth.profile import BANDS, MOST_RESULTS, SAID, TOOLS, VERSION, Band, Profile, Spread, Tool

LONG = 80
"""Characters of a message from which on its repetition in another session is no chance."""
_LISTS = ("todo", "plan", "tasktracker", "task_tracker", "taskcreate", "taskupdate")
_SEARCHES = ("grep", "search", "glob", "find", "list", "ls")
_ROLES = ("system", "user", "assistant", "tool")


def measure_profile(store: Store, advance: Callable[[int], None] = lambda _: None) -> Profile:
    """The profile of all sessions of a store; ``advance`` is told of every session.

    Raises:
        UsageError: The store has no session.
    """
    infos = [info for part in read_parts(store) for info in part.sessions if info.n_messages]
    if not infos:
        raise UsageError(f"store {store.name} has no session to measure; ingest some first")
    bands = {least: _Sums() for least in BANDS}
    texts, content = _Repeats(), _Content()
    folders = Counter(info.cwd for info in infos if info.cwd)
    for info in sorted(infos, key=lambda info: (info.part, info.first_row)):
        transcript = load_session(store, info)
        bands[max(least for least in BANDS if least <= len(transcript))].add(transcript)
        texts.add(transcript)
        content.add(transcript)
        advance(1)
    return Profile(
        VERSION,
        _totals(infos, bands),
        tuple(sums.band(least, len(infos)) for least, sums in bands.items() if sums.lengths),
        texts.shares(),
        content.shares(),
        round(sum(folders.values()) / len(folders), 3) if folders else 1.0,
    )


def _totals(infos: Sequence[SessionInfo], bands: dict[int, _Sums]) -> dict[str, float]:
    return {
        "sessions": len(infos),
        "messages": sum(info.n_messages for info in infos),
        "tokens": sum(info.n_tokens for info in infos),
        "chars": sum(sum(sizes) for sums in bands.values() for sizes in sums.chars.values()),
    }


def tool_kind(call: ToolCall) -> str:
    """Which of ``TOOLS`` a call is one of; a shell command that only shows a file is a reading of it."""
    name = tool_name(call).lower()
    if name.startswith(_LISTS):
        return "todo"
    values = call.parsed()
    command = shell_command(call, values)
    verbs = [effect.verb for effect in call_effects(call, arguments=values)]
    if command is not None and not command.startswith("*** Begin Patch"):
        return ("read" if "read" in verbs else "search") if only_reads(command) else "shell"
    if "create_or_overwrite" in verbs:
        return "create"
    if any(verb in ("edit", "append", "move_from", "delete") for verb in verbs):
        return "edit"
    if name.startswith(_SEARCHES):
        return "search"
    return "read" if verbs else "other"


class _Sums:
    """What the sessions of one band come to."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.totals: list[dict[str, tuple[int, int]]] = []
        """Session → kind of text → messages and characters."""
        self.chars: dict[str, array[int]] = defaultdict(lambda: array("q"))
        self.owner: dict[str, array[int]] = defaultdict(lambda: array("q"))
        """Beside each size the session that it is of."""
        self.counts: Counter[str] = Counter()
        self.results: Counter[int] = Counter()

    def add(self, transcript: Transcript) -> None:
        """Take one session in."""
        number = len(self.lengths)
        self.lengths.append(len(transcript))
        sizes: dict[str, list[int]] = defaultdict(list)
        for kind, size in self._sizes(transcript.messages):
            sizes[kind].append(size)
        for kind, found in sizes.items():
            self.chars[kind].extend(found)
            self.owner[kind].extend([number] * len(found))
        self.totals.append({kind: (len(found), sum(found)) for kind, found in sizes.items()})
        self.counts["systems"] += transcript.messages[0].role == "system"
        self.counts["compactions"] += len(transcript.compactions)
        self._turns(transcript.messages)
        self._files(transcript)

    def _sizes(self, messages: Sequence[Message]) -> Iterator[tuple[str, int]]:
        kinds: dict[str, str] = {}
        asked = False
        for message in messages:
            if message.role == "assistant":
                if message.text:
                    yield ("remark" if message.tool_calls else "talk"), len(message.text)
                if message.reasoning:
                    yield "reasoning", len(message.reasoning)
                for call in message.tool_calls:
                    kinds[call.id] = kind = tool_kind(call)
                    self.counts["calls"] += 1
                    self.counts[f"calls {kind}"] += 1
                    yield f"arguments {kind}", len(call.arguments)
                self.counts["reasoned"] += bool(message.reasoning)
                self.counts["said"] += bool(message.text and message.tool_calls)
                self.counts["calling"] += bool(message.tool_calls)
            elif message.role == "tool":
                kind = kinds.get(message.tool_call_id or "", "shell")
                self.counts[f"results {kind}"] += 1
                self.counts[f"errors {kind}"] += message.is_error
                yield f"result {kind}", len(message.text)
            else:
                yield ("system" if message.role == "system" else "user" if asked else "request"), len(message.text)
                asked = asked or message.role == "user"

    def _turns(self, messages: Sequence[Message]) -> None:
        spoken = [at for at, message in enumerate(messages) if message.role in ("user", "assistant")]
        for at, following in pairwise([*spoken, len(messages)]):
            n_results = following - at - 1
            if messages[at].role == "user":
                after = "user"
            else:
                self.results[min(n_results, MOST_RESULTS)] += 1
                after = "calls" if n_results else "talk"
            if following < len(messages):
                self.counts[f"after {after}"] += 1
                self.counts[f"user after {after}"] += messages[following].role == "user"

    def _files(self, transcript: Transcript) -> None:
        known: set[str] = set()
        for op in file_ops(transcript.messages, transcript.cwd):
            self.counts[f"ops {op.verb}"] += 1
            self.counts[f"again {op.verb}"] += op.path in known
            known.add(op.path)

    def _share(self, part: str, whole: str) -> float:
        return round(self.counts[part] / self.counts[whole], 4) if self.counts[whole] else 0.0

    def band(self, least: int, n_sessions: int) -> Band:
        """The band, when all sessions are in."""
        means = {kind: sum(sizes) / len(sizes) for kind, sizes in self.chars.items()}
        factors = []
        for totals in self.totals:
            expected = sum(means[kind] * number for kind, (number, _) in totals.items())
            found = sum(size for _, size in totals.values())
            factors.append(min(max(found / expected, 0.02), 50.0) if expected else 1.0)

        def spread(kind: str) -> Spread:
            sizes, owner = self.chars.get(kind, array("q")), self.owner.get(kind, array("q"))
            return Spread.of(
                [size / factors[session] for size, session in zip(sizes, owner, strict=True)], means.get(kind, 0.0)
            )

        responses = max(1, sum(self.results.values()))
        tools = {
            kind: Tool(
                self._share(f"calls {kind}", "calls"),
                self._share(f"errors {kind}", f"results {kind}"),
                spread(f"arguments {kind}"),
                spread(f"result {kind}"),
            )
            for kind in TOOLS
            if self.counts[f"calls {kind}"]
        }
        return Band(
            least=least,
            share=round(len(self.lengths) / n_sessions, 5),
            messages=Spread.of(self.lengths),
            factor=Spread.of(factors),
            system=round(self.counts["systems"] / len(self.lengths), 4),
            user_after_user=self._share("user after user", "after user"),
            user_after_talk=self._share("user after talk", "after talk"),
            user_after_calls=self._share("user after calls", "after calls"),
            results=tuple(round(self.results[k] / responses, 5) for k in range(MOST_RESULTS + 1)),
            has_text=self._share("said", "calling"),
            has_reasoning=round(self.counts["reasoned"] / responses, 4),
            chars={kind: spread(kind) for kind in SAID},
            tools=tools,
            again={verb: self._share(f"again {verb}", f"ops {verb}") for verb in ("examined", "modified", "created")},
            compactions=round(1000 * self.counts["compactions"] / sum(self.lengths), 4),
        )


class _Repeats:
    """Which texts stand in more than one session."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}
        self._repeated: set[bytes] = set()
        self._counts: dict[str, Counter[bytes]] = {role: Counter() for role in _ROLES}
        self._number = 0

    def add(self, transcript: Transcript) -> None:
        """Take one session in."""
        self._number += 1
        for message in transcript.messages:
            if len(message.text) >= LONG:
                digest = hashlib.blake2b(message.text.encode("utf-8", "replace"), digest_size=8).digest()
                if self._first.setdefault(digest, self._number) != self._number:
                    self._repeated.add(digest)
                self._counts[message.role][digest] += 1

    def shares(self) -> dict[str, float]:
        """Role → share of its long messages that stand in another session too."""
        return {
            role: round(sum(n for digest, n in counts.items() if digest in self._repeated) / counts.total(), 4)
            if counts
            else 0.0
            for role, counts in self._counts.items()
        }


class _Content:
    """How often messages hold what can be asked for."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, transcript: Transcript) -> None:
        """Take one session in."""
        counts, commands, asked = self._counts, set[str](), False
        for message in transcript.messages:
            reading = read_message(message)
            if message.role == "assistant":
                commands.update(id for id, _ in reading.commands)
                if sentences := said(message):
                    counts["prose"] += 1
                    counts["decision"] += any(map(is_decision, sentences))
                    counts["intent"] += any(map(is_intent, sentences))
            elif message.role == "tool" and message.tool_call_id in commands:
                counts["outputs"] += 1
                counts["failing"] += bool(reading.failing)
                counts["passing"] += reading.totals is not None and not reading.failing
                counts["error lines"] += bool(reading.errors)
            elif message.role == "user" and not asked:
                asked = True
                counts["requests"] += 1
                counts["pasted error"] += bool(reading.errors)

    def shares(self) -> dict[str, float]:
        """Kind → share of the messages that could hold it."""
        wholes = {"decision": "prose", "intent": "prose", "pasted error": "requests"}
        return {
            kind: round(self._counts[kind] / max(1, self._counts[wholes.get(kind, "outputs")]), 4)
            for kind in ("decision", "intent", "failing", "passing", "error lines", "pasted error")
        }
