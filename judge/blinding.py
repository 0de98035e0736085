"""Shows a compacted context to a judge in one form that does not depend on the method.

Under the protocol ``study`` a judge reads the compacted context, and nothing in it may name or hint at the method. What
a method kept is what is judged and stays; how it wrote that down does not:

- What is gone shows as one line ``[removed]``, whether the method left a placeholder there or nothing at all.
- Messages stand in the order of the session, and a summary where the first message stood that it covers.
- A summary has no role and no wrapper. Its headings are the kinds of ``compaction.model.Section``, in one order; empty
  sections, tags, bold type and the marks of a template are left out.
- Calls and results are written in one form, also those that a method told as text.

All markers that any strategy declares (``compaction.markers``) are looked for in every context: this module is not told
the method. A text of the session that happens to be the same as a marker is changed as well; it is so for every method
that kept it, and says no less. Positions, ids of calls, what a message covers, and items that only a provider can read
are not shown.

What cannot be hidden: how much a method kept, and of which roles. ``judge.audit.leakage`` measures what that tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent

from compaction.markers import CALL, REMOVED, RESULT, Declared, Heading, Marker, literal, replaced
from compaction.memo import Memo
from compaction.methods import load_registry
from compaction.model import SectionKind
from compaction.strategy import Strategy
from compaction.transcript import Message

VERSION = 1
"""Raise it when a context is shown in another form; it is part of what identifies a judge.

The declared markers are no part of it: a new strategy with markers of its own changes what is shown of its own
contexts, and of others only where they hold the same text.
"""

SUMMARY = "summary:"
NOT_READABLE = "[not readable]"
"""What stands for an item that only a provider can read."""

KINDS: tuple[SectionKind, ...] = ("intent", "files", "decisions", "errors", "state", "details", "next_steps", "free")
"""The headings of a summary, in the order in which they are shown."""

ROOM = 32_000_000
"""Characters of messages whose shown form is remembered; as many again for whole contexts."""

_ORDER = {"whole": 0, "start": 1, "end": 1, "line": 2, "anywhere": 3}
_FENCE = re.compile(r"^\s*(```|~~~)")
_TAG = re.compile(r"^(\s*(?:[-*]\s+)?)<(/?)([A-Za-z][\w-]*)((?:\s+[\w-]+=\"[^\"]*\")*)\s*>(?:(.*)</\3>)?\s*$")
_COMMENT = re.compile(r"^(\s*)<!--\s*(.*?)\s*-->\s*$")
_ATTRIBUTE = re.compile(r"=\"([^\"]*)\"")
_MARK = re.compile(r"^\s{0,3}(#{1,6}\s*|\d{1,2}[.)]\s+|(?=\*\*))")
_BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?![\w*])")
_BULLET = re.compile(r"^(\s*)[*•]\s+")
_NOTHING = re.compile(r"^\s*(?:-\s*)?\(?(?:none|nothing|n/a)\)?\.?\s*$", re.IGNORECASE)
_REMOVED_LINES = re.compile(rf"(?:{re.escape(REMOVED)}\n)+(?={re.escape(REMOVED)}(?:\n|$))")


def context_text(context: Sequence[Message]) -> str:
    """The text of a compacted context for a judge; pure, and remembered for the same tuple of messages.

    A context that is no tuple is made anew each time, though not the form of its messages.
    """
    return _blinder().context(context)


def blind_text(text: str) -> str:
    """Another text, such as an answer, without the markers that it quotes from a context."""
    return _blinder().cleaned(text, made=False)


def has_opaque(context: Iterable[Message]) -> bool:
    """Whether something in a context can be read by its provider alone: then a judge can only be asked ``closed``."""
    return any(message.is_unreadable for message in context)


def markers_of(strategies: Iterable[Strategy]) -> tuple[Declared, ...]:
    """All that some strategies declare, each once."""
    return tuple(dict.fromkeys(marker for strategy in strategies for marker in strategy.markers))


@dataclass(slots=True)
class _Block:
    """A message as it is shown: lines of a text, or what a summary says by kind of section."""

    text: str = ""
    sections: dict[str, str] = field(default_factory=dict)

    @property
    def is_list(self) -> bool:
        """Whether the summary is a bare list of files, which stands beside another summary and not alone."""
        return self.sections.keys() == {"files"}


class Blinder:
    """Shows contexts without some markers; ``context_text`` has one with all that are declared."""

    def __init__(self, markers: Iterable[Declared]) -> None:
        declared = tuple(markers)
        found = [marker for marker in declared if isinstance(marker, Marker)]
        found.sort(key=lambda marker: (_ORDER[marker.place], -len(marker.template), marker.template))
        self._markers = [(literal(marker), marker) for marker in found]
        self._kinds: dict[str, str] = {kind: kind for kind in KINDS}
        self._kinds |= {heading.title.lower(): heading.kind for heading in declared if isinstance(heading, Heading)}
        self._blocks: Memo[_Block] = Memo(ROOM)
        self._contexts: Memo[str] = Memo(ROOM)

    def context(self, context: Sequence[Message]) -> str:
        """A context as a judge is shown it."""
        if not isinstance(context, tuple):
            return self._context(context)
        return self._contexts.of(self._context, context)

    def cleaned(self, text: str, *, made: bool) -> str:
        """A text with the common forms in the places of markers; ``made``: it is of a message that a strategy made."""
        for needle, marker in self._markers:
            if needle in text and (made or not marker.made):
                text = replaced(marker, text)
        return text

    def _context(self, context: Sequence[Message]) -> str:
        blocks: list[_Block] = []
        for is_gap, message in _in_order(context):
            if is_gap:
                blocks.append(_Block(REMOVED))
            block = self._block(message)
            if block.sections and blocks and blocks[-1].sections and (block.is_list or blocks[-1].is_list):
                blocks[-1] = _Block(sections=_merge(blocks[-1].sections, block.sections))
            elif block.sections or block.text:
                blocks.append(block)
        text = "\n".join(block.text or _sections_text(block.sections) for block in blocks)
        return _REMOVED_LINES.sub("", text)

    def _block(self, message: Message) -> _Block:
        return self._blocks.of(self._made_block, message)

    def _made_block(self, message: Message) -> _Block:
        if message.seq is None:
            text = self.cleaned(message.text, made=True).strip()
            if message.opaque and not text:
                text = NOT_READABLE
            if text == REMOVED or text.startswith((RESULT, CALL)):
                return _Block(text)
            return _Block(sections=self._sections(text))
        text = self.cleaned(message.text, made=False).strip()
        if message.opaque and not text:
            text = NOT_READABLE
        lines = [f"thinking: {message.reasoning.strip()}"] if message.reasoning.strip() else []
        if text == REMOVED:
            lines.append(REMOVED)
        elif message.role == "tool":
            name = f"{message.tool_name}: " if message.tool_name else ""
            lines.append(f"{RESULT}{'(error) ' if message.is_error else ''}{name}{text}")
        elif text:
            lines.append(f"{message.role}: {text}")
        for call in message.tool_calls:
            arguments = self.cleaned(call.arguments, made=False)
            lines.append(f"{CALL}{call.name} {'' if arguments.strip() == '{}' else arguments}".rstrip())
        return _Block("\n".join(lines))

    def _sections(self, text: str) -> dict[str, str]:
        """The text of a summary by kind of section; text under no heading has the empty name."""
        found: dict[str, list[str]] = {}
        current, in_code = "", False
        for line in text.splitlines():
            is_fence = _FENCE.match(line) is not None
            in_code ^= is_fence
            if in_code or is_fence:
                found.setdefault(current, []).append(line)
                continue
            heading = self._heading(line)
            if heading is not None:
                current = heading[0]
            said = _plain(line if heading is None else heading[1])
            if not _NOTHING.match(said):
                found.setdefault(current, []).append(said)
        bodies = {
            kind: dedent("\n".join(line for line in found.get(kind, ()) if line.strip())).strip()
            for kind in ("", *KINDS)
        }
        return {kind: body for kind, body in bodies.items() if body}

    def _heading(self, line: str) -> tuple[str, str] | None:
        """The kind of section that begins here, or the empty name where an element ends; and the rest of the line."""
        element = _TAG.match(line)
        if element is not None:
            kind = self._kinds.get(element[3].lower())
            return None if kind is None else ("" if element[2] else kind, element[5] or "")
        mark = _MARK.match(line)
        bare = line[mark.end() :] if mark else line
        title, colon, rest = bare.partition(":")
        kind = self._kinds.get(title.strip(" *_").lower())
        if kind is None or not (mark or colon):
            return None
        return kind, rest.strip().removeprefix("**").strip()


_current: list[tuple[tuple[Strategy, ...], Blinder]] = []


def _blinder() -> Blinder:
    """The blinder for the markers of all strategies registered so far."""
    strategies = tuple(load_registry().values())
    if not _current or _current[0][0] != strategies:
        _current[:] = [(strategies, Blinder(markers_of(strategies)))]
    return _current[0][1]


def _in_order(context: Sequence[Message]) -> Iterator[tuple[bool, Message]]:
    """The messages in the order of the session, each with whether something is gone right before it."""
    placed: list[tuple[int, Message]] = []
    place = -1
    for message in context:
        if message.seq is not None:
            place = message.seq
        elif message.covers:
            place = message.covers[0]
        placed.append((place, message))
    placed.sort(key=lambda pair: pair[0])
    present = {message.seq for _, message in placed} | {seq for _, message in placed for seq in message.covers}
    reached = 0
    for place, message in placed:
        yield any(seq not in present for seq in range(reached, place)), message
        reached = max(reached, place + 1)


def _merge(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    lines = {kind: "\n".join(filter(None, (first.get(kind), second.get(kind)))) for kind in ("", *KINDS)}
    return {kind: text for kind, text in lines.items() if text}


def _sections_text(sections: Mapping[str, str]) -> str:
    parts = [f"{kind}:\n{text}" if kind else text for kind, text in sections.items()]
    return "\n".join([SUMMARY, *parts])


def _plain(line: str) -> str:
    """A line of a summary without tags around it, bold type and other bullets."""
    tag = _TAG.match(line)
    if tag is not None:
        values = [f"({value.lower()}) " for value in _ATTRIBUTE.findall(tag[4])]
        line = f"{tag[1]}{''.join(values)}{tag[5]}" if tag[5] else ""
    return _BULLET.sub(r"\1- ", _BOLD.sub(r"\1", _COMMENT.sub(r"\1\2", line))).rstrip()
