"""Memory outside of the context: messages that matter little become stubs, and a question fetches what it needs.

Follows ``compress`` of litellm 1.105.3. Its ranking is BM25 with a prefix rule of its own, so a library's BM25 would
rank differently; the index here gives litellm's scores and grows with the session, at every point only what is new.
"""

from __future__ import annotations

import json
import math
import re
import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from compaction.markers import REMOVED, Marker, shortened
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import make_once
from compaction.strategy import History
from compaction.tokens import TokenCounter
from compaction.transcript import Message

TARGET_TENTHS = 7
"""``target`` in tenths of the trigger: what the code does; its documentation says half."""

STUB = "[Compressed: {key} — {lines} lines, {kind}. Use litellm_content_retrieve tool to get full content.]"
CUT_MARK = "...[truncated for context window]..."
MARKERS = (
    Marker(STUB.format(key="message_{n}", lines="{of}", kind="{what}"), REMOVED),
    Marker(STUB.format(key="{file}.{type}_{n}", lines="{of}", kind="{what}"), REMOVED + " {file}.{type}"),
    Marker(STUB.format(key="{file}", lines="{of}", kind="{what}"), REMOVED + " {file}"),
    *shortened(CUT_MARK),
)
LEAST_ROOM = 100
"""Tokens of room from which on a message that does not fit is cut rather than stubbed."""
CHARS_A_TOKEN = 3
"""How the original turns the room for a cut message into characters."""

K1, B = 1.5, 0.75
SHORTEST_PREFIX = 4
"""Characters from which on a word of the query also finds words that begin with it."""

_WORD = re.compile(r"[a-z0-9_]+")
_FILE_NAMES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^#\s*(\S+\.\w+)",
        r"^//\s*(\S+\.\w+)",
        r"^File:\s*(\S+)",
        r"^---\s*(\S+\.\w+)",
        r"`(\S+\.\w{1,5})`",
    )
)
_CODE = re.compile(
    r"\b(?:def |function |class |import |from |require\(|#include|fn |func |const |let |var |public |private "
    r"|static )\b"
)


def recall(
    context: Sequence[Message], question: str, session: Sequence[Message], *, retrieve: int, **_: object
) -> Sequence[Message]:
    """The context with the ``retrieve`` messages back in their places that say most of what the question asks.

    Stands for the calls of the retrieval tool: whoever answers has no tools. Only messages that became stubs or were
    cut can come back, whole as the tool gives them, and only such as share a word with the question.
    """
    if not retrieve:
        return context
    at = {message.seq: place for place, message in enumerate(context)}
    scores = _searched.of(session).scores(question, len(session))
    away = [
        (-score, place, message)
        for score, message in zip(scores, session, strict=True)
        if score > 0
        and message.seq is not None
        and (place := at.get(message.seq)) is not None
        and context[place].text != message.text
    ]
    left = list(context)
    for _score, place, message in sorted(away, key=lambda found: found[:2])[:retrieve]:
        left[place] = message
    return left


def _shares(history: History, trigger: int | None, target: int | None) -> tuple[int, int]:
    """Tokens at which compression starts, and its target."""
    fill = history.budget if trigger is None else trigger
    return fill, fill * TARGET_TENTHS // 10 if target is None else target


def _limit(history: History, *, trigger: int | None, target: int | None, forced: bool, **_: object) -> int:
    fill, room = _shares(history, trigger, target)
    return room if forced else max(fill, room)


@strategy(
    "retrieval_bm25",
    peer="litellm compress",
    peer_version="1.105.3",
    recall=recall,
    variants=({"retrieve": 5},),
    markers=MARKERS,
    limit=_limit,
)
def retrieval_bm25(
    history: History,
    *,
    trigger: Positive | None = None,
    target: Positive | None = None,
    retrieve: int = 0,
    forced: bool = True,
) -> Sequence[Message]:
    """Messages that share few words with the last request become stubs, until the rest has ``target`` tokens.

    System messages, the last user message and the last assistant message stay whole; the others are ranked by BM25
    against the last user message and stay while there is room; one that does not fit keeps its first and last lines.
    Only texts are counted and stubbed: calls keep their arguments. ``trigger`` (the budget; 200,000 in the original)
    is asked only when ``forced`` is off; ``target`` is 0.7 of it. As the original, which is given the whole history
    with every request, it starts from the whole session each time. ``retrieve``: how many of the messages that a
    question is about come back whole before it is answered; 0 is the method without retrieval.
    """
    session = history.session
    fill, room = _shares(history, trigger, target)
    if not forced and history.count(session) <= fill:
        return session
    query = next((message.text for message in reversed(session) if message.role == "user"), "")
    kept, cut = _choose(session, _searched.of(session).scores(query, len(session)), room, history.counter)
    held = {message.seq: message for message in history.messages}
    keys: dict[str, int] = {}
    left: list[Message] = []
    for position, message in enumerate(session):
        now = cut.get(position, message) if position in kept else _stub(history, message, position, keys)
        before = held.get(now.seq) if now.seq is not None else None
        left.append(before if before is not None and before.text == now.text else now)
    return left


def _choose(
    messages: Sequence[Message], scores: Sequence[float], target: int, counter: TokenCounter
) -> tuple[set[int], Mapping[int, Message]]:
    """Choose the positions that stay, and cut some of their messages."""
    kept = {position for position, message in enumerate(messages) if message.role == "system"}
    for role in ("user", "assistant"):
        kept.update([position for position, message in enumerate(messages) if message.role == role][-1:])
    tokens = sum(_text_tokens(messages[position], counter) for position in kept)
    cut: dict[int, Message] = {}
    others = [position for position in range(len(messages)) if position not in kept]
    for position in sorted(others, key=lambda other: -scores[other]):
        room = target - tokens
        if room <= 0:
            break
        message = messages[position]
        if _text_tokens(message, counter) > room:
            if room < LEAST_ROOM:
                continue
            text = _ends(message.text, room)
            if text != message.text:
                message = cut[position] = message.with_text(text)
        kept.add(position)
        tokens += _text_tokens(message, counter)
    return kept, cut


def _text_tokens(message: Message, counter: TokenCounter) -> int:
    """Tokens of the text alone."""
    if message.tokens is not None and not message.tool_calls and not message.reasoning:
        return message.tokens
    if not message.text:
        return 0
    return make_once(counter, _text_alone, message).tokens or 0


def _text_alone(message: Message) -> Message:
    return Message(message.role, message.text)


def _ends(text: str, max_tokens: int) -> str:
    """The first 70 % and the last 30 % of the lines that about fit; all where the lines are too few to cut."""
    room = max(LEAST_ROOM, max_tokens * CHARS_A_TOKEN)
    lines = text.split("\n")
    wanted = max(2, room // max(1, len(text) // len(lines)))
    if len(text) <= room or len(lines) <= wanted:
        return text
    first = wanted * 7 // 10
    return "\n".join([*lines[:first], CUT_MARK, *lines[first - wanted :]])


def _stub(history: History, message: Message, position: int, keys: dict[str, int]) -> Message:
    """The message with a line in the place of its text that says what was there."""
    key = _key(message.text, position, keys)
    return make_once(history.counter, _write_stub, message, key)


def _write_stub(message: Message, key: str) -> Message:
    return message.with_text(STUB.format(key=key, lines=message.text.count("\n") + 1, kind=_kind(message.text)))


def _key(text: str, position: int, keys: dict[str, int]) -> str:
    """Name a removed text: by the file that it begins with, else by its number.

    ``keys`` has the names that are taken, each with the number from which on one like it may be free.
    """
    found = next((match for pattern in _FILE_NAMES if (match := pattern.search(text[:2000]))), None)
    base = found[1].split("/")[-1] if found else f"message_{position}"
    key, number = base, keys.get(base, 2)
    while key in keys:
        key = f"{base}_{number}"
        number += 1
    keys[key] = 2
    keys[base] = number
    return key


def _kind(text: str) -> str:
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            json.loads(stripped)
        except (ValueError, RecursionError):
            pass
        else:
            return "json"
    beginning = stripped[:5000]
    lines = beginning.split("\n")
    indented = sum(1 for line in lines if line.startswith(("    ", "\t")) and line.strip())
    looks_like_code = len(_CODE.findall(beginning)) >= 3 or (indented > len(lines) * 0.3 and len(lines) > 5)
    return "code" if looks_like_code else "text"


def _text_of(message: Message) -> str:
    return message.text


class Index:
    """The places and counts of words in a session."""

    def __init__(self, text_of: Callable[[Message], str] = _text_of) -> None:
        """``text_of`` gives what of a message is searched."""
        self.messages: list[Message] = []
        self._text_of = text_of
        self._lengths: list[int] = []
        self._places: dict[str, array[int]] = {}
        """Word → position, count, position, count …, ascending."""
        self._words: list[str] = []
        """All words, sorted."""

    def add(self, messages: Sequence[Message]) -> None:
        """Adds more messages."""
        for message in messages:
            words = _WORD.findall(self._text_of(message).lower())
            for word, count in Counter(words).items():
                self._places.setdefault(word, array("L")).extend((len(self.messages), count))
            self._lengths.append(len(words))
            self.messages.append(message)
        if len(self._words) != len(self._places):
            self._words = sorted(self._places)

    def scores(self, query: str, length: int) -> list[float]:
        """BM25 of each of the first ``length`` messages."""
        scores = [0.0] * length
        average = sum(self._lengths[:length]) / length if length else 0.0
        for word, times in Counter(_WORD.findall(query.lower())).items():
            exact = dict(self._counts(word, length))
            weight = math.log((length - len(exact) + 0.5) / (len(exact) + 0.5) + 1.0)
            counts = dict(exact)
            for longer in self._longer(word):
                for position, count in self._counts(longer, length):
                    if position not in exact:
                        counts[position] = counts.get(position, 0) + count
            for position, count in counts.items():
                share = self._lengths[position] / average
                scores[position] += times * (weight * (count * (K1 + 1)) / (count + K1 * (1 - B + B * share)))
        return scores

    def _counts(self, word: str, length: int) -> Iterator[tuple[int, int]]:
        """Yield (position, count) of a word in the first ``length`` messages."""
        places = self._places.get(word, ())
        for i in range(0, len(places), 2):
            if places[i] >= length:
                return
            yield places[i], places[i + 1]

    def _longer(self, word: str) -> Iterator[str]:
        """Words that begin with this one."""
        if len(word) >= SHORTEST_PREFIX:
            words = self._words  # another thread may put a longer list in its place
            for i in range(bisect_left(words, word), len(words)):
                if not words[i].startswith(word):
                    return
                if words[i] != word:
                    yield words[i]


class LastIndex:
    """The index of the session that was searched last.

    A strategy is called once a point with no memory of the last, and reads on from here.
    """

    def __init__(self, text_of: Callable[[Message], str] = _text_of) -> None:
        self._text_of = text_of
        self._last = Index(text_of)
        self._adding = threading.Lock()

    def of(self, messages: Sequence[Message]) -> Index:
        """An index that begins with these messages: the last one, if it is of the same session."""
        with self._adding:
            index = self._last
            if any(ours is not theirs for ours, theirs in zip(messages, index.messages, strict=False)):
                index = self._last = Index(self._text_of)
            index.add(messages[len(index.messages) :])
        return index


_searched = LastIndex()
