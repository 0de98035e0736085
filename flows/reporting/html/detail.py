"""Details of single points for the page: the history, each method's context, the answers and the judge's reasons.

One pack a session: plain data with texts stored once by content, compressed. Where a page has no room for all points,
``flows.reporting.html.choice`` says which go in. A pack, as the page's script reads it::

    {"texts": [TEXT | [TEXT, characters left out of its middle]],
     "messages": [MESSAGE],                     the history, up to the last cut that is shown
     "points": [{"cycle", "cut", "methods": {METHOD: LEFT}, "probes": [PROBE]}],
     "over_time": {"tokens": [of each message of the session],
                   "points": [{"cycle", "cut", "methods": {METHOD: [before, after, LOST]}, "needs": [NEED]}]}}

    MESSAGE  [role, tokens, tool name, is error, text, reasoning, [[call, arguments]]]; texts as places in texts
    LEFT     {"status", "error", "before", "after", "flags", "edited", "covered", "dropped", "context": [ITEM]}
    NEED     [kind, value, message that has it, tokens of that message, message that needs it]
    LOST     places of the needs that the context does not meet, from 1; null where it was not measured
    ITEM     [first, last]: messages as they were; [MESSAGE, seq | null, [covered]]: one that is edited or made
    PROBE    {"key", "type", "question", "truth", "evidence": [[seq, quote]], "statements": [STATEMENT],
              "answers": {METHOD: ANSWER}}
    ANSWER   [status, text, score, tokens fetched, error, [[criterion, score, reason]], [STATE]]
    STATEMENT  [text, message where it stood last, message that used it after the cut, whether that was looked for]
    STATE    [state, support, lines], one for each statement; none where the context was not measured

Methods are places in the leaderboard; lists of positions are lists of [first, last].
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import duckdb
import orjson

from compaction import Message, Transcript
from flows.database.query_variables import with_variables
from flows.database.sql_model import sql_text
from flows.reporting.html.choice import ordered_points
from flows.reporting.html.figures import Figures, Row
from flows.reporting.html.visible import MOST_CHARS, MOST_CHARS_READ, clip, show_invisible
from flows.reporting.text_tables import fetch_rows
from flows.sessions.compacted_contexts import read_contexts
from flows.sessions.session_parts import SessionInfo, load_session, read_parts
from flows.store.store import Store

DETAILS = ("points", "answers", "scores", "states", "statements")
"""Files ``sql/queries/report/detail_….sql``."""
PointRows = dict[str, list[Row]]
"""The rows of a point by the name of their query."""
BATCH = 40
"""Points that the database is asked for at once."""
AROUND = 1_200
"""Bytes that a point takes in the page besides its pack, at most: its links, and the element that holds the pack."""
MISSES = 6
"""Points in a row that have no room any more, after which no other is tried."""


def pack_json(value: Any) -> bytes:
    """Data as bytes for a page: JSON, gzip, base64."""
    return base64.b64encode(gzip.compress(orjson.dumps(value, default=str), mtime=0))


@dataclass
class Texts:
    """The texts of a pack, each stored once."""

    found: list[str | list[Any]] = field(default_factory=list)
    places: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, text: str | None, most: int = MOST_CHARS) -> int | None:
        """Add a text; returns its index, None for no text."""
        if not text:
            return None
        key = text, most
        if key not in self.places:
            shown, left_out = clip(text, most)
            self.places[key] = len(self.found)
            self.found.append([shown, left_out] if left_out else shown)
        return self.places[key]


@dataclass
class Pack:
    """One session of the page."""

    session_id: str
    transcript: Transcript
    texts: Texts = field(default_factory=Texts)
    messages: list[Any] = field(default_factory=list)
    points: list[Row] = field(default_factory=list)
    over_time: Row | None = None

    def body(self) -> Row:
        """The pack as the page's script reads it."""
        body = {"texts": self.texts.found, "messages": self.messages, "points": self.points}
        return body if self.over_time is None else {**body, "over_time": self.over_time}

    def packed(self) -> bytes:
        """The bytes as they are in the page: JSON, gzip, base64."""
        return pack_json(self.body())


@dataclass(frozen=True)
class Details:
    """The single points that the page shows in full."""

    packs: dict[str, bytes]
    """Session → its pack."""
    points: list[tuple[str, int]]
    """(session, cycle) of the points that are shown."""
    n_points: int
    """Points with a scored question that there are."""


def collect_details(
    connection: duckdb.DuckDBPyConnection, store: Store, figures: Figures, room: int, stepped: Callable[[], None]
) -> Details:
    """The points that fit into ``room`` bytes, in the order of ``choice``; ``stepped`` is called after each."""
    wanted = list(ordered_points(figures))
    infos = {info.session_id: info for part in read_parts(store) for info in part.sessions} if room > 0 else {}
    reader = PointReader(connection, store, figures, [point for _, point in wanted])
    packs: dict[str, bytes] = {}
    open_packs: dict[str, Pack] = {}
    shown: list[tuple[str, int]] = []
    used = missed = 0
    for session, point in wanted:
        stepped()
        if missed >= MISSES or session not in infos:
            continue
        pack = open_packs.get(session) or Pack(session, load_session(store, infos[session]))
        if pack.over_time is None:
            reader.over_time(pack)
        before = len(pack.texts.found), len(pack.messages), len(pack.points)
        if not reader.add(pack, point, infos[session]):
            continue
        packed = pack.packed()
        if used - len(packs.get(session, b"")) + len(packed) + AROUND > room:
            missed += 1
            _take_back(pack, before)
            continue
        missed = 0
        used += len(packed) - len(packs.get(session, b"")) + AROUND
        packs[session], open_packs[session] = packed, pack
        shown.append((session, pack.points[-1]["cycle"]))
    return Details(packs, sorted(shown), len(wanted))


def _take_back(pack: Pack, before: tuple[int, int, int]) -> None:
    texts, messages, points = before
    del pack.texts.found[texts:], pack.messages[messages:], pack.points[points:]
    pack.texts.places = {key: place for key, place in pack.texts.places.items() if place < texts}


class PointReader:
    """Reads points: from the database, and from the Parquet files what only they have.

    Args:
        connection: To the store's database.
        store: The store.
        figures: The figures of the page, of one judge.
        points: Ids of points, in the order in which they will be asked for.
        most: Characters of a message of the history; messages that prove a truth are longer.
        contexts: Places of the methods whose contexts are read, all where it is None; those of the others are empty.
        found: Point → the database's rows of it, as ``rows_of`` gave them before.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        store: Store,
        figures: Figures,
        points: Sequence[str],
        most: int = MOST_CHARS,
        contexts: Collection[int] | None = None,
        found: Mapping[str, PointRows] | None = None,
    ) -> None:
        self._connection, self._store = connection, store
        self._waiting = list(points)
        self._most = most
        self._shown = contexts
        self._found: dict[str, PointRows] = dict(found or {})
        self._judge_id = figures.judge["judge_id"]
        self._places = {row["method"]: place for place, row in enumerate(figures.of("methods"))}

    def add(self, pack: Pack, point: str, info: SessionInfo) -> bool:
        """Add a point to a pack; returns False where it has nothing to show."""
        found = self.rows_of(point)
        left = [row for row in found["points"] if row["method"] in self._places]
        answers = found["answers"]
        if not left or not answers:
            return False
        cut = left[0]["cut_seq"]
        evidence = {seq for row in answers for seq, _ in _evidence(row)}
        for message in pack.transcript.messages[len(pack.messages) : cut]:
            pack.messages.append(
                message_item(pack.texts, message, MOST_CHARS_READ if message.seq in evidence else self._most)
            )
        contexts = self._contexts(pack.transcript, info, left)
        methods = {
            str(self._places[row["method"]]): _left(pack, row, contexts.get(row["compaction_id"])) for row in left
        }
        reasons, states = (
            {id: list(rows) for id, rows in groupby(found[name], key=lambda row: row["answer_id"])}
            for name in ("scores", "states")
        )
        stated = {id: list(rows) for id, rows in groupby(found["statements"], key=lambda row: row["probe_id"])}
        pack.points.append(
            {
                "cycle": left[0]["cycle"],
                "cut": cut,
                "methods": methods,
                "probes": list(self._probes(pack.texts, answers, reasons, states, stated)),
            }
        )
        return True

    def over_time(self, pack: Pack) -> None:
        """Add what a session is over time: all of its points, also those without a scored question."""
        with with_variables(self._connection, {"session_id": pack.session_id}):
            points = fetch_rows(self._connection, sql_text("queries/report", "session_cuts")).dicts()
        found = self._read([row["point_id"] for row in points], ("points", "needs"))
        pack.over_time = {
            "tokens": [message.tokens for message in pack.transcript.messages],
            "points": [
                {
                    "cycle": point["cycle"],
                    "cut": point["cut_seq"],
                    "methods": {
                        str(self._places[row["method"]]): [row["tokens_before"], row["tokens_after"], row["lost"]]
                        for row in found[point["point_id"]]["points"]
                        if row["method"] in self._places
                    },
                    "needs": _needs(pack.texts, found[point["point_id"]]["needs"]),
                }
                for point in points
            ],
        }

    def questions(self, pack: Pack, points: Sequence[Row]) -> None:
        """Add the questions of points with their scores, without texts of answers, reasons and contexts."""
        for point in points:
            answers = self.rows_of(point["point_id"], ("answers",))["answers"]
            slim = [{**row, "text": None, "evidence": None} for row in answers]
            probes = list(self._probes(pack.texts, slim, {}, {}, {}))
            pack.points.append({"cycle": point["cycle"], "cut": point["cut_seq"], "methods": {}, "probes": probes})

    def rows_of(self, point: str, names: Sequence[str] = DETAILS) -> PointRows:
        """The database's rows of a point, all or some. They are read for many points at once, in the order of use."""
        while point not in self._found:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            self._found = self._read(batch, names)
        return self._found[point]

    def _read(self, points: Sequence[str], names: Sequence[str]) -> dict[str, PointRows]:
        found: dict[str, PointRows] = {id: {name: [] for name in (*DETAILS, *names)} for id in points}
        with with_variables(self._connection, {"judge_id": self._judge_id, "points": list(points)}):
            for name in names:
                for row in fetch_rows(self._connection, sql_text("queries/report", f"detail_{name}")).dicts():
                    found[row["point_id"]][name].append(row)
        return found

    def _contexts(
        self, transcript: Transcript, info: SessionInfo, left: Sequence[Row]
    ) -> dict[str, tuple[Message, ...]]:
        shown = [row for row in left if self._shown is None or self._places[row["method"]] in self._shown]
        found: dict[str, tuple[Message, ...]] = {
            row["compaction_id"]: () for row in left if row not in shown and row["status"] == "done"
        }
        if not shown:
            return found
        return found | read_contexts(self._store, transcript, info.session_id, [row["compaction_id"] for row in shown])

    def _probes(
        self,
        texts: Texts,
        answers: Sequence[Row],
        reasons: dict[str, list[Row]],
        states: dict[str, list[Row]],
        stated: dict[str, list[Row]],
    ) -> Iterator[Row]:
        keys: dict[str, int] = {}
        for _, found in groupby(answers, key=lambda row: row["probe_id"]):
            rows = [row for row in found if row["method"] in self._places]
            if not rows:
                continue
            kind = rows[0]["probe_type"]
            number = keys[kind] = keys.get(kind, 0) + 1
            yield {
                "key": kind if number == 1 else f"{kind}-{number}",
                "type": kind,
                "question": texts.add(rows[0]["question"], MOST_CHARS_READ),
                "truth": texts.add(rows[0]["ground_truth"], MOST_CHARS_READ),
                "evidence": [[seq, texts.add(quote)] for seq, quote in _evidence(rows[0])],
                "statements": [
                    [texts.add(one["text"]), one["stated_at"], one["needed_at"], one["is_checked"]]
                    for one in stated.get(rows[0]["probe_id"], ())
                ],
                "answers": {
                    str(self._places[row["method"]]): _answer(
                        texts, row, reasons.get(row["answer_id"], ()), states.get(row["answer_id"], ())
                    )
                    for row in rows
                },
            }


def _needs(texts: Texts, rows: Iterable[Row]) -> list[list[Any]]:
    return [
        [row["kind"], texts.add(row["value"]), row["observation_seq"], row["observation_tokens"], row["needed_at"]]
        for row in rows
    ]


def _evidence(row: Row) -> list[tuple[int, str]]:
    return [(item["seq"], item["quote"]) for item in orjson.loads(row["evidence"] or "[]")]


def _answer(texts: Texts, row: Row, reasons: Iterable[Row], states: Iterable[Row]) -> list[Any]:
    verdict = [
        [one["criterion"], one["score"], texts.add(one["reasoning"] or one["unscored_reason"], MOST_CHARS_READ)]
        for one in reasons
    ]
    text, error = texts.add(row["text"], MOST_CHARS_READ), texts.add(row["error"])
    told = [[one["state"], one["support"], texts.add(one["lines"])] for one in states]
    return [row["status"], text, row["score"], row["fetched_tokens"], error, verdict, told]


def message_item(texts: Texts, message: Message, most: int) -> list[Any]:
    """A message as MESSAGE of a pack; a text has ``most`` characters at most."""
    calls = [[show_invisible(call.name), texts.add(call.arguments, most)] for call in message.tool_calls]
    tool = show_invisible(message.tool_name) if message.tool_name else None
    text = message.text if not message.is_unreadable else "⟨…⟩"
    return [
        message.role,
        message.tokens,
        tool,
        message.is_error,
        texts.add(text, most),
        texts.add(message.reasoning, most),
        calls,
    ]


def _left(pack: Pack, row: Row, context: Sequence[Message] | None) -> Row:
    return {
        "status": row["status"],
        "error": pack.texts.add(row["error"]),
        "before": row["tokens_before"],
        "after": row["tokens_after"],
        "flags": row["flags"] or [],
        "edited": runs(row["edited"] or ()),
        "covered": runs(row["covered"] or ()),
        "dropped": runs(row["dropped"] or ()),
        "context": None if context is None else list(_items(pack, context)),
    }


def _items(pack: Pack, context: Sequence[Message]) -> Iterator[Any]:
    """Ranges of unchanged messages, and changed messages one by one."""
    run: list[int] = []
    for message in context:
        if message.seq is not None and pack.transcript.messages[message.seq] is message:
            if run and message.seq == run[1] + 1:
                run[1] = message.seq
                continue
            if run:
                yield run
            run = [message.seq, message.seq]
            continue
        if run:
            yield run
            run = []
        yield [message_item(pack.texts, message, MOST_CHARS_READ), message.seq, runs(message.covers)]
    if run:
        yield run


def runs(positions: Iterable[int]) -> list[list[int]]:
    """Positions as ranges: 1, 2, 3, 7 is [1, 3], [7, 7]."""
    found: list[list[int]] = []
    for position in sorted(positions):
        if found and position == found[-1][1] + 1:
            found[-1][1] = position
        else:
            found.append([position, position])
    return found
