"""One conversation of a log of requests: what a request repeats, adds, takes back, or compacts."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from compaction.transcript import Transcript, Usage
from flows.sources.reading.account import KINDS, SHORTER_COPY, Kind
from flows.sources.reading.base import Source
from flows.sources.reading.chat import add_message
from flows.sources.reading.decode import dumps
from flows.sources.reading.exchanges import LoggedExchange, digest, message_text, role_of
from flows.sources.reading.session import REWOUND, MessageDraft, SessionDraft
from flows.sources.reading.text_calls import convert_text_calls
from flows.sources.reading.values import as_list

OTHER_CHOICE = "other choice of a response"
_END = 2
"""Messages at the end of a conversation by which it is known again when its beginning was replaced."""
_A_LOT = 6
"""Least number of messages that a summary replaces; fewer, of which none is kept, were taken back."""


@dataclass
class _Item:
    """A message of a conversation, when it was first met."""

    message: Any
    ref: str
    where: int | None
    time: str | None = None
    is_answer: bool = False
    """A response that no later request has repeated yet."""
    is_summary: bool = False
    is_left: bool = False


@dataclass
class _SentMessage:
    """A message as the last request showed it."""

    at: int
    digest: bytes


@dataclass
class _Compaction:
    at: int
    dropped: list[int]
    summary: int | None
    summary_at: int | None
    cleared: list[int] = field(default_factory=list)
    cleared_text: str = ""


class Conversation:
    """A conversation that requests repeat: every message once, and what the last request showed."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.view: list[_SentMessage] = []
        self.compactions: list[_Compaction] = []
        self.usage: list[tuple[str | None, Usage | None]] = []
        self.others: list[Any] = []
        self.requests = 0
        self.about = LoggedExchange()
        self.where: int | None = None
        self.pair: str | None = None
        self.is_another = False
        """Another conversation has its id, too."""

    def shared(self, digests: Sequence[bytes], prompt: Sequence[Any]) -> int:
        """The number of leading messages that a prompt and this conversation have in common."""
        at = 0
        for seen, found in zip(self.view, digests, strict=False):
            if seen.digest != found and not self._is_echo(at, digests, prompt):
                break
            at += 1
        return at

    def _is_echo(self, at: int, digests: Sequence[bytes], prompt: Sequence[Any]) -> bool:
        """Whether a message that reads differently is the one at a place: agents edit answers, and drop reminders."""
        item = self.items[self.view[at].at]
        if role_of(item.message) != role_of(prompt[at]):
            return False
        if item.is_answer:
            return at == len(self.view) - 1
        if role_of(prompt[at]) != "user" or at + 1 >= min(len(self.view), len(prompt)):
            return False
        one, other = sorted((message_text(item.message), message_text(prompt[at])), key=len)
        return self.view[at + 1].digest == digests[at + 1] and bool(one) and other.startswith(one)

    def is_replaced_in(self, digests: Sequence[bytes], prompt: Sequence[Any], same: int) -> bool:
        """Whether a prompt has one message of the user in place of this conversation's beginning, and then its end."""
        said = [seen for seen in self.view[same:] if not self.items[seen.at].is_answer]
        if len(said) <= _END or same >= len(prompt) or role_of(prompt[same]) != "user":
            return False
        end = [seen.digest for seen in said[-_END:]]
        if digests[same] in {seen.digest for seen in said} or not any(
            role_of(self.items[seen.at].message) in ("assistant", "tool") for seen in said[-_END:]
        ):
            return False
        return any(list(digests[at : at + _END]) == end for at in range(same + 1, len(prompt) - _END + 1))

    def add(self, message: Any, ref: str, where: int | None, time: str | None, shown: bytes, **kind: bool) -> int:
        """Adds a message at the end, and as the last request shows it; returns its place."""
        self.items.append(_Item(message, ref, where, time, **kind))
        self.view.append(_SentMessage(len(self.items) - 1, shown))
        return len(self.items) - 1

    def rewind(self, to: int) -> None:
        """Takes back the messages from position ``to`` on."""
        for seen in self.view[to:]:
            self.items[seen.at].is_left = True
        del self.view[to:]

    def continue_with(
        self, prompt: Sequence[Any], digests: Sequence[bytes], same: int, ref: str, where: int | None
    ) -> bool:
        """Adds a prompt that begins with ``same`` messages of this conversation; False when it is of another one."""
        for index in range(same):
            self.view[index].digest = digests[index]
            self.items[self.view[index].at].is_answer = False
        rest, new = self.view[same:], list(range(same, len(prompt)))
        answered = any(role_of(message) == "assistant" for message in prompt[:same])
        kept: dict[int, _SentMessage] = {}
        if rest and not new:
            if not answered and len(rest) > 1:
                return False
            self.rewind(same)
        elif rest:
            kept = _match_kept(rest, new, prompt, digests, self.items)
            only_answer = list(kept.values()) == rest[-1:] and same in kept and self.items[rest[-1].at].is_answer
            is_summed = not kept and len(rest) >= _A_LOT and role_of(prompt[same]) in ("user", "system")
            if not kept and not is_summed and not answered and len(rest) > 2:
                return False
            if only_answer or (not kept and not is_summed):
                stay = {id(seen) for seen in kept.values()}
                for seen in rest:
                    self.items[seen.at].is_left = id(seen) not in stay
                del self.view[same:]
            else:
                self._compact(prompt, digests, same, kept, ref, where)
                return True
        for index in new:
            if index in kept:
                self.view.append(_SentMessage(kept[index].at, digests[index]))
                self.items[kept[index].at].is_answer = False
            else:
                self.add(prompt[index], f"{ref}#{index}", where, None, digests[index])
        return True

    def _compact(
        self,
        prompt: Sequence[Any],
        digests: Sequence[bytes],
        same: int,
        kept: dict[int, _SentMessage],
        ref: str,
        where: int | None,
    ) -> None:
        rest = self.view[same:]
        del self.view[same:]
        stay = {id(seen) for seen in kept.values()}
        dropped = [seen.at for seen in rest if id(seen) not in stay]
        last_kept = max(kept, default=same)
        summary: int | None = None
        cleared: list[int] = []
        cleared_text = ""
        for index in range(same, len(prompt)):
            message = prompt[index]
            if index in kept:
                at = kept[index].at
                self.items[at].is_answer = False
                if kept[index].digest != digests[index] and len(message_text(message)) < len(
                    message_text(self.items[at].message)
                ):
                    cleared.append(at)
                    cleared_text = cleared_text or message_text(message)
                self.view.append(_SentMessage(at, digests[index]))
            elif summary is None and dropped and index <= last_kept and role_of(message) in ("user", "system"):
                summary = index
                self.add(message, f"{ref}#{index}", where, None, digests[index], is_summary=True)
            else:
                self.add(message, f"{ref}#{index}", where, None, digests[index])
        text = None if summary is None else self.view[summary].at
        if dropped or cleared:
            self.compactions.append(_Compaction(len(self.items), dropped, text, summary, cleared, cleared_text))

    def answer(self, exchange: LoggedExchange, ref: str, where: int | None) -> None:
        """Takes the answer to the last request; an earlier one to the same request was taken back."""
        if not exchange.answers:
            return
        message = exchange.answers[0]
        if self.view and self.items[self.view[-1].at].is_answer:
            self.rewind(len(self.view) - 1)
        if isinstance(message, dict):
            message = {"role": "assistant", **message}
        self.add(message, f"{ref}/response", where, exchange.time, digest(message), is_answer=True)
        for index, result in enumerate(exchange.behind):
            self.add(result, f"{ref}/response#{index}", where, exchange.time, digest(result))
        self.others += exchange.answers[1:]

    def build(self, source: Source, format: str) -> list[Transcript]:
        """The conversation in the normal form."""
        session = SessionDraft(source)
        drafts: list[MessageDraft | None] = []
        said_before: list[int] = []
        for item in self.items:
            said_before.append(len(session.drafts))
            drafts.append(None)
            if item.is_left:
                _leave_out(session, item.message, REWOUND)
            elif not item.is_summary:
                with source.setting_aside(item.where, item.ref, item.message):
                    drafts[-1] = draft = add_message(session, item.message, item.ref)
                    if draft is not None:
                        draft.timestamp = draft.timestamp or item.time
        said_before.append(len(session.drafts))
        for message in self.others:
            _leave_out(session, message, OTHER_CHOICE)
        convert_text_calls(session, self.about.tools)
        for event in self.compactions:
            cleared = [draft for at in event.cleared if (draft := drafts[at]) is not None and draft.role == "tool"]
            session.compacted(
                summary=None if event.summary is None else message_text(self.items[event.summary].message),
                dropped=[draft for at in event.dropped if (draft := drafts[at]) is not None],
                summary_at=event.summary_at,
                cleared=cleared,
                cleared_text=event.cleared_text,
                at=said_before[event.at],
            )
        session.leave_out(SHORTER_COPY, count=max(0, self.requests - 1))
        session.model, session.started_at = self.about.model, self.about.time
        for key, usage in self.usage:
            session.use(key, usage)
        names = (self.about.native_id, _name(session.drafts))
        native = "-".join(filter(None, names)) if self.is_another else names[0] or names[1]
        built = session.build(format, native)
        if source.members and self.where is not None:
            return [replace(one, source_path=str(source.members[self.where])) for one in built]
        return built


def _match_kept(
    rest: Sequence[_SentMessage],
    new: Sequence[int],
    prompt: Sequence[Any],
    digests: Sequence[bytes],
    items: Sequence[_Item],
) -> dict[int, _SentMessage]:
    """Position in the prompt → the remaining message that is there, shortened or unchanged."""
    aligned = len(new) >= len(rest) and all(
        role_of(prompt[index]) == role_of(items[seen.at].message) for index, seen in zip(new, rest, strict=False)
    )
    pairs = list(zip(new, rest, strict=False))
    if aligned and 2 * sum(seen.digest == digests[index] for index, seen in pairs) >= len(rest):
        return dict(pairs)
    waiting: dict[Any, deque[tuple[int, _SentMessage]]] = defaultdict(deque)
    for number, seen in enumerate(rest):
        waiting[seen.digest].append((number, seen))
        call = _call_id(items[seen.at].message)
        if call is not None:
            waiting[call].append((number, seen))
    kept: dict[int, _SentMessage] = {}
    last = -1
    for index in new:
        for key in (digests[index], _call_id(prompt[index])):
            queue = waiting.get(key) if key is not None else None
            while queue and queue[0][0] <= last:
                queue.popleft()
            if queue:
                last, kept[index] = queue.popleft()
                break
    return kept


def _call_id(message: Any) -> str | None:
    call = message.get("tool_call_id") if role_of(message) == "tool" else None
    return f"call {call}" if isinstance(call, str) and call else None


def _leave_out(session: SessionDraft, message: Any, reason: str) -> None:
    role = role_of(message)
    kind: Kind | None = "system" if role == "developer" else role if role in KINDS else None
    session.leave_out(reason, kind)
    if kind == "assistant":
        session.leave_out(reason, "tool_call", len(as_list(message.get("tool_calls"))))


def _name(drafts: Sequence[MessageDraft]) -> str | None:
    """20 hex digits over the messages up to the first answer, without what only the response itself holds of it."""
    found = blake2b(digest_size=10)
    for draft in drafts:
        calls = [(call.name, call.parsed()) for call in draft.calls]
        found.update(dumps((draft.role, "\n".join(draft.texts), calls)).encode("utf-8", "replace") + b"\n")
        if draft.role == "assistant":
            return found.hexdigest()
    return None
