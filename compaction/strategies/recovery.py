"""Dropped messages that are fetched for a question, on top of any other strategy; no model is asked.

``recover`` leaves what the other strategy leaves, and adds a way back: a search of the dropped messages, or their
numbers. A program asks with the question's own words; a model that answers writes its own requests (``judge.llm``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.retrieval import CUT_MARK, LEAST_ROOM, LastIndex
from compaction.strategy import History, Method
from compaction.tokens import counted_text
from compaction.transcript import Message

RECOVER = "recover"
"""Id of the strategy."""
FETCHES = 2
FETCH_TOKENS = 2_000
"""Most tokens that one fetch brings, about, some 200 lines of code. Of a message that no longer fits its ends come."""
FORM = " Answer "
"""Begins the form of the answer in a question of either prober."""

_searched = LastIndex(counted_text)


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A request for dropped messages: by a search, or by their numbers."""

    search: str = ""
    """Words; blank where numbers are given."""
    messages: tuple[int, ...] = ()
    """Positions in the session (``seq``)."""


class Recovery:
    """The dropped messages of one context, and those of them that were fetched so far."""

    def __init__(self, context: Sequence[Message], session: Sequence[Message]) -> None:
        """``session`` is the history before the point; each of its messages has its ``seq``."""
        stays = {_content(message) for message in context if message.seq is not None}
        self._context, self._session = context, session
        self._away = {m.seq: m for m in session if m.seq is not None and _content(m) not in stays}
        self.shortened = frozenset(m.seq for m in context if m.seq is not None and m.seq in self._away)
        """``seq`` of the messages that stand in the context with another content: a placeholder, a preview."""
        self.fetched: list[Message] = []

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that could be fetched."""
        return not self._away

    def fetch(self, request: FetchRequest) -> tuple[Message, ...]:
        """The messages that a request brings, best or first asked for first. None comes twice."""
        return self._bring(self._rank(request.search) if request.search else request.messages)

    def context(self) -> tuple[Message, ...]:
        """The context with the fetched messages in the order of the session, each in the place of its placeholder."""
        found = {message.seq: message for message in self.fetched}
        left = [found.pop(message.seq, message) for message in self._context]
        for seq in sorted(seq for seq in found if seq is not None):
            later = (place for place, message in enumerate(left) if message.seq is not None and message.seq > seq)
            left.insert(next(later, len(left)), found[seq])
        return tuple(left)

    def _rank(self, words: str) -> list[int]:
        scores = _searched.of(self._session).scores(words, len(self._session))
        ranked = sorted((-score, place) for place, score in enumerate(scores) if score > 0)
        return [seq for _, place in ranked if (seq := self._session[place].seq) is not None]

    def _bring(self, numbers: Iterable[int]) -> tuple[Message, ...]:
        room, brought = FETCH_TOKENS, []
        for number in numbers:
            message = self._away.get(number)
            if message is None:
                continue
            size = _size(message)
            if size > room and room < LEAST_ROOM:
                break
            del self._away[number]
            brought.append(message if size <= room else _cut(message, room / size))
            room -= size
            if room <= 0:
                break
        self.fetched += brought
        return tuple(brought)


def fetches_of(method: Method) -> int:
    """Most fetches for a question under a method; 0 for one that is no ``recover``."""
    return int(method.params["fetches"]) if method.strategy.id == RECOVER else 0


def inner_of(method: Method) -> Method:
    """The method that a ``recover`` stands on; any other method itself."""
    return method.inner if fetches_of(method) and method.inner is not None else method


def request_for(question: str) -> FetchRequest:
    """The search with a question's own words, without the form that it wants of the answer."""
    return FetchRequest(question.rpartition(FORM)[0] or question)


def fetch_by_question(recovery: Recovery, question: str, fetches: int) -> int:
    """Search with the question's words, each time for the next best messages; the number of fetches that found some."""
    asked = request_for(question)
    return next((done for done in range(fetches) if not recovery.fetch(asked)), fetches)


def recall(
    context: Sequence[Message], question: str, session: Sequence[Message], *, fetches: int, **_: object
) -> Sequence[Message]:
    """The context with the dropped messages that the question's words find."""
    recovery = Recovery(context, session)
    return recovery.context() if fetch_by_question(recovery, question, fetches) else context


@strategy(
    RECOVER,
    version=1,
    wraps=("over", "af_py_sliding_window"),
    by_default=False,
    recall=recall,
    bites={"over": "af_py_sliding_window(keep_last_groups=3)"},
)
def recover(history: History, over: Method, *, fetches: Positive = FETCHES) -> Sequence[Message]:
    """The context of another strategy (``over``), with the dropped messages within reach when a question is answered.

    At most ``fetches`` requests a question, each for about 2,000 tokens: a search (BM25, as ``retrieval_bm25``, over
    texts and calls), or messages by the numbers that placeholders are shown with. A model that answers writes the
    requests itself; the embedded engine searches with the question's words. The context that is measured and carried
    on is that of ``over``. An agent that does not know what it has lost may not ask, so it is what recovery could give.
    """
    return over.run(history)


def _content(message: Message) -> tuple[object, ...]:
    return message.seq, message.text, message.tool_calls


def _size(message: Message) -> int:
    return message.tokens if message.tokens is not None else len(counted_text(message)) // 3


def _cut(message: Message, share: float) -> Message:
    """A message with the first 70 % and the last 30 % of a share of its characters, its calls as text."""
    text = counted_text(message)
    room = int(len(text) * share)
    head = room * 7 // 10
    cut = f"{text[:head]}\n{CUT_MARK}\n{text[len(text) - room + head :]}"
    return replace(message, text=cut, reasoning="", tool_calls=(), tokens=None)
