"""Vector memory: older messages lie outside of the context, and what is most like the request comes back.

Own, after the seeds' external memory. Nothing is sent from here: the client of the embeddings comes with the history.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

from compaction.dialogue import sendable_text
from compaction.markers import Marker
from compaction.model import NativeRequest, SummaryError
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import stands_for, system_prompt, whole_cuts
from compaction.strategy import History, NotApplicable
from compaction.transcript import Message

PATH = "/v1/embeddings"
BATCH = 64
"""Pieces of a request. The first stays the same while a session grows, and so does its answer in a cache."""
CHARS_PER_TOKEN = 4

OPENING = "[Memory: {n} pieces of earlier messages that are most like the request, oldest first]\n\n"
FROM = "[from message {n}, {role}]\n"
MARKERS = (Marker(OPENING.strip(), place="line", made=True), Marker(FROM.strip(), place="line", made=True))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a message as it is embedded and shown."""

    message: Message
    text: str


@strategy(
    "retrieval_vector",
    embeds="model",
    by_default=False,
    markers=MARKERS,
    bites={"recent": 2, "piece_tokens": 8, "tokens": 40},
)
def retrieval_vector(
    history: History,
    *,
    model: str = "openai:text-embedding-3-small",
    recent: Positive = 20,
    piece_tokens: Positive = 400,
    tokens: Positive = 4000,
) -> Sequence[Message]:
    """The newest messages, and before them the pieces of older ones whose embeddings are nearest to the last request.

    The system prompt and the newest ``recent`` messages stay, a call with its results. All before is cut in pieces of
    about ``piece_tokens`` (at four characters) and embedded by ``model``; those nearest to the user's last message by
    cosine fill one message of at most ``tokens``, in their order, each with the number and role of its message. That
    message covers all that was embedded. As an index outside of the context does, it starts from the whole session
    each time. Not applicable where the model has no key and no address of its own.
    """
    session = history.session
    apart = len(system_prompt(session))
    legal = sorted(cut for cut in whole_cuts(session) if apart <= cut <= max(apart, len(session) - recent))
    start = legal[-1] if legal else apart
    pieces = [piece for message in session[apart:start] for piece in _cut(message, piece_tokens * CHARS_PER_TOKEN)]
    query = next((m.text.strip() for m in reversed(session) if m.role == "user" and m.text.strip()), "")
    if not pieces or not query:
        return session
    if model not in history.natives:
        place = f'[models."{model}"]'
        raise NotApplicable(
            f"no endpoint for the embeddings of {model}: set OPENAI_API_KEY, or base_url of a server of your own in "
            f"{place} of a study file"
        )
    asked = _embed(history, model, [query[: piece_tokens * CHARS_PER_TOKEN]])[0]
    near: list[tuple[float, int]] = []
    for begin in range(0, len(pieces), BATCH):
        vectors = _embed(history, model, [piece.text for piece in pieces[begin : begin + BATCH]])
        near += [(-_cosine(asked, vector), n) for n, vector in enumerate(vectors, begin)]
    shown = _within(history, pieces, [n for _, n in sorted(near)], tokens)
    text = OPENING.format(n=len(shown)) + "\n\n".join(_write_piece(pieces[n]) for n in shown)
    return (*session[:apart], Message("user", text, covers=stands_for(session[apart:start])), *session[start:])


def _cut(message: Message, chars: int) -> Iterator[Piece]:
    """The message in pieces that end with a line where they can."""
    calls = "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
    text = "\n".join(part for part in (message.text.strip(), calls) if part)
    begin = 0
    while begin < len(text):
        end = begin + chars
        if end < len(text):
            line = text.rfind("\n", begin + chars // 2, end)
            end = line + 1 if line >= 0 else end
        if part := text[begin:end].strip():
            yield Piece(message, part)
        begin = end


def _embed(history: History, model: str, texts: Sequence[str]) -> list[list[float]]:
    """The vectors of some texts. Raises SummaryError for an answer of another shape."""
    body = {"input": [sendable_text(text) for text in texts], "encoding_format": "float"}
    answer = history.ask_provider(NativeRequest("openai", PATH, body, model=model))
    rows = sorted(answer.get("data") or (), key=lambda row: row["index"])
    vectors = [row["embedding"] for row in rows]
    if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) != 1:
        raise SummaryError(f"{model} returned {len(vectors)} embeddings for {len(texts)} texts")
    return vectors


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        raise SummaryError(f"embeddings of {len(one)} and of {len(other)} numbers cannot be compared")
    length = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / length if length else 0.0


def _within(history: History, pieces: Sequence[Piece], ranked: Sequence[int], tokens: int) -> list[int]:
    """The first of these pieces that fit, in the order of the session; at least one."""
    room = tokens - history.counter.count(OPENING)
    chosen: list[int] = []
    for n in ranked:
        size = history.counter.count(_write_piece(pieces[n]) + "\n\n")
        if size <= room or not chosen:
            chosen.append(n)
            room -= size
        if room < CHARS_PER_TOKEN:
            break
    return sorted(chosen)


def _write_piece(piece: Piece) -> str:
    return FROM.format(n=piece.message.seq, role=piece.message.role) + piece.text
