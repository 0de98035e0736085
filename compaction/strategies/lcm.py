"""Lossless Context Management as in lossless-claw 0.15.3: a graph of summaries, each of which names what it stands for.

The sweep of its compaction engine, whose store keeps every message: a summary in the context is a pointer into it. The
tools that follow the pointers, what the assembler leaves out of a context that is still too long, and the rules against
orders within a text that was cut are no part of this. Tokens are the project's exact ones.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from compaction.markers import Marker, shortened
from compaction.model import BlankSummaryError
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.notes import shown_before
from compaction.strategies.shared.parts import (
    read_time,
    stands_for,
    system_prompt,
    without_lost_results,
    without_reasoning,
)
from compaction.strategies.shared.requests import summary_request
from compaction.strategy import History
from compaction.transcript import Message

ROUNDS = 10
FALLBACK_TOKENS = 512
CHARS_PER_TOKEN = 4
OVERAGE = 3
"""A summary has at most so many times the tokens that it was asked for."""
LEAST_LEAF, LEAF_SHARE = 192, 0.35
LEAST_CONDENSED = 512
LEAST_BRIEF, BRIEF_SHARE, BRIEF_OF_LEAF = 96, 0.2, 0.55
"""Of a leaf that is written again because it was no shorter than its source."""
LEAST_SHARE = 0.1
"""Tokens of a leaf's source from which on summaries are worth a summary."""

TRUNCATED = "[Truncated from {n} tokens]"
CAPPED = "[Capped from {n} tokens to ~{limit}]"
EXPAND = "Expand for details about: "
MARKERS = (
    Marker('<summary id="sum_{attributes}>', place="line", made=True),
    *(Marker(tag, place="line", made=True) for tag in ("  <parents>", "  </parents>", "  <content>", "  </content>")),
    Marker('    <summary_ref id="sum_{id}" />', place="line", made=True),
    Marker("</summary>", place="line", made=True),
    Marker(EXPAND + "{what}", "left out: {what}", place="line", made=True),
    *shortened(TRUNCATED, CAPPED),
    *(Marker(html.escape(sign, quote=False), sign, made=True) for sign in "<>&"),
)
_NODE = re.compile(
    r'<summary id="(?P<id>sum_[0-9a-f]+)" kind="\w+" depth="(?P<depth>\d+)" descendant_count="(?P<below>\d+)" '
    r'trust="untrusted"(?: earliest_at="(?P<first>[^"]*)" latest_at="(?P<last>[^"]*)")?>\n'
    r"(?:  <parents>\n(?:    <summary_ref [^\n]*\n)*  </parents>\n)?"
    r"  <content>\n(?P<content>.*)\n  </content>\n</summary>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Node:
    """A summary of the graph."""

    id: str
    message: Message
    depth: int
    content: str
    tokens: int
    """Of the content alone."""
    below: int
    """Summaries that went into it, and into these."""
    times: tuple[str, ...]
    """When the first and the last of its messages were said; empty where nobody knows."""


Item = Message | Node


@dataclass(frozen=True, slots=True)
class _Limits:
    """The parameters of a sweep; its names are those of the strategy."""

    leaf_chunk_tokens: int
    leaf_fanout: int
    condensed_fanout: int
    hard_fanout: int
    max_depth: int | None
    leaf_tokens: int
    condensed_tokens: int
    prefix_tokens: int
    max_passes: int
    threshold: int | None
    """Tokens at which condensing has reached its aim; None where it is forced."""
    mode: str


@strategy(
    "lcm",
    needs_model=True,
    peer="lossless-claw",
    peer_version="0.15.3",
    by_default=False,
    variants=({"keep_turn": False},),
    markers=MARKERS,
    bites={"fresh_tail": 2, "leaf_chunk_tokens": 40},
)
def lcm(
    history: History,
    *,
    fresh_tail: int = 64,
    fresh_tail_tokens: Positive | None = None,
    keep_turn: bool = True,
    leaf_chunk_tokens: Positive = 20_000,
    leaf_fanout: Positive = 8,
    condensed_fanout: Positive = 4,
    hard_fanout: Positive = 2,
    max_depth: int | None = 1,
    leaf_tokens: Positive = 2400,
    condensed_tokens: Positive = 2000,
    prefix_tokens: Positive | None = None,
    threshold: float = 0.75,
    max_passes: Positive = 12,
    forced: bool = True,
    mode: Literal["faithful", "valid"] = "faithful",
) -> Sequence[Message]:
    """Summaries of stretches of messages, and summaries of these, each with its id and the ids of those in it.

    The newest ``fresh_tail`` messages stay (within ``fresh_tail_tokens``), and all since the user's last, so that of a
    session with one request all stays; without ``keep_turn`` (ours) they stay by their number alone. What lies before
    is summed up in stretches of up to ``leaf_chunk_tokens``, each in about ``leaf_tokens``. Where the summaries
    have more than ``prefix_tokens`` (half of the threshold, at most ``leaf_chunk_tokens``), neighbours of one depth are
    condensed in about ``condensed_tokens``: at least ``leaf_fanout`` stretches, or ``condensed_fanout`` summaries, up
    to ``max_depth`` (None: any); where that is not enough, ``hard_fanout`` of any depth. A sweep makes at most
    ``max_passes`` summaries, and there are up to ten while the context is over the budget. Without ``forced`` nothing
    is done up to ``threshold`` of the budget. An id has the depth and the first and last message that it covers, as hex
    digits. A summary no shorter than its source is asked for again, shorter, and then, or where it is blank (in the
    mode ``faithful``), the beginning of the source takes its place.
    """
    apart = system_prompt(history.messages)
    items: list[Item] = [_read_node(history, message) for message in history.messages[len(apart) :]]
    limit = int(threshold * history.budget)
    if not forced and history.count(history.messages) <= limit:
        return history.messages
    start = _tail_start(history, items, fresh_tail, fresh_tail_tokens, keep_turn)
    aim = max(condensed_tokens, min(leaf_chunk_tokens, limit // 2)) if prefix_tokens is None else prefix_tokens
    limits = _Limits(
        leaf_chunk_tokens,
        leaf_fanout,
        condensed_fanout,
        hard_fanout,
        max_depth,
        leaf_tokens,
        condensed_tokens,
        aim,
        max_passes,
        None if forced else limit,
        mode,
    )
    tokens = sum(item.tokens if isinstance(item, Node) else history.count((item,)) for item in items)
    sweep = _Sweep(history, limits, items[:start], tokens)
    sweep.run()
    left = [item.message if isinstance(item, Node) else item for item in (*sweep.head, *items[start:])]
    return (*apart, *without_lost_results(history.messages, left))


def _read_node(history: History, message: Message) -> Item:
    """The summary that a message of an earlier compaction is; else the message."""
    found = _NODE.fullmatch(message.text) if message.seq is None and message.covers else None
    if found is None:
        return message
    content = html.unescape(found["content"])
    times = (found["first"], found["last"]) if found["first"] else ()
    return Node(
        found["id"], message, int(found["depth"]), content, history.counter.count(content), int(found["below"]), times
    )


def _tail_start(history: History, items: Sequence[Item], count: int, max_tokens: int | None, keep_turn: bool) -> int:
    """Position of the first item of the fresh tail; the end where there is none."""
    raw = [position for position, item in enumerate(items) if isinstance(item, Message)]
    if count <= 0:
        return len(items)
    asked = (p for p in raw if keep_turn and isinstance(m := items[p], Message) and m.role == "user")
    last_user = max(asked, default=None)
    start, taken, tokens = len(items), 0, 0
    for position in reversed(raw):
        message = items[position]
        assert isinstance(message, Message)
        more = history.count((message,))
        if (last_user is None or start <= last_user) and (
            taken >= count or (max_tokens is not None and taken and tokens + more > max_tokens)
        ):
            break
        start, taken, tokens = position, taken + 1, tokens + more
    return start


@dataclass
class _Sweep:
    """Compaction of what lies before the fresh tail."""

    history: History
    limits: _Limits
    head: list[Item]
    tokens: int
    """Of all but the system prompt, summaries by their contents alone."""
    passes: int = field(default=0, init=False)

    def run(self) -> None:
        """Sweep until the context is within the budget, or a sweep makes it no shorter."""
        for _ in range(ROUNDS):
            before = self.tokens
            self._sweep_once()
            if self.tokens <= self.history.budget or self.tokens >= before:
                break

    def _sweep_once(self) -> None:
        """Sum up all stretches of messages, then condense the summaries while there are too many."""
        self.passes = 0
        lowest = self._sum_up(self.tokens)
        for is_hard in (False, True):
            while self._is_too_long() and self.passes < self.limits.max_passes:
                found = self._neighbours(is_hard)
                if found is None:
                    break
                before = self.tokens
                self._condense(*found)
                if self.limits.threshold is not None and self.tokens <= self.limits.threshold:
                    lowest = self.tokens
                elif self.tokens >= before or self.tokens >= lowest:
                    return
                else:
                    lowest = self.tokens

    def _sum_up(self, lowest: int) -> int:
        """Make the leaves, oldest first; return the tokens after the last that made the context shorter."""
        at, previous, has_skipped = 0, "", False
        while self.passes < self.limits.max_passes:
            begin = next((n for n in range(at, len(self.head)) if isinstance(self.head[n], Message)), None)
            if begin is None:
                break
            stretch, tokens = self._stretch(begin)
            self.passes += 1
            at = begin + len(stretch)
            shown = [without_reasoning(self.history, m) for m in stretch if m.text.strip() or m.tool_calls]
            if not shown:
                has_skipped = True
                continue
            if has_skipped and not previous:
                previous = self._contents_before(begin, None)
            node = self._leaf(stretch, shown, previous)
            self.head[begin:at] = [node]
            at, previous = begin + 1, node.content
            self.tokens += node.tokens - tokens
            if node.tokens >= tokens or self.tokens >= lowest:
                break
            lowest = self.tokens
        return lowest

    def _stretch(self, begin: int) -> tuple[list[Message], int]:
        """The messages of the next leaf, and their tokens; at least one."""
        found: list[Message] = []
        tokens = 0
        for item in islice(self.head, begin, None):
            if isinstance(item, Node):
                break
            more = self.history.count((item,))
            if found and tokens + more > self.limits.leaf_chunk_tokens:
                break
            found.append(item)
            tokens += more
            if tokens >= self.limits.leaf_chunk_tokens:
                break
        return found, tokens

    def _contents_before(self, position: int, depth: int | None) -> str:
        """The contents of the last two summaries before a position, of one depth or any."""
        nodes = [item for item in self.head[:position] if isinstance(item, Node) and depth in (None, item.depth)]
        return "\n\n".join(node.content for node in nodes[-2:])

    def _leaf(self, stretch: Sequence[Message], shown: Sequence[Message], previous: str) -> Node:
        source = _source(shown)
        n_source = self.history.counter.count(source)
        most = max(LEAST_LEAF, self.limits.leaf_tokens)
        target = max(LEAST_LEAF, min(most, int(LEAF_SHARE * n_source)))
        brief = max(LEAST_BRIEF, min(int(BRIEF_OF_LEAF * most), int(BRIEF_SHARE * n_source)))
        asks = (("lcm_leaf", target), ("lcm_leaf_brief", brief))
        content = self._write(asks, shown, previous, source, self.limits.leaf_tokens)
        dated = sorted((time, m.timestamp or "") for m in stretch if (time := read_time(m)) is not None)
        times = (dated[0][1][:19], dated[-1][1][:19]) if dated else ()
        return self._node(0, content, (), stands_for(stretch), times)

    def _is_too_long(self) -> bool:
        return sum(item.tokens for item in self.head if isinstance(item, Node)) > self.limits.prefix_tokens

    def _neighbours(self, is_hard: bool) -> tuple[int, list[Node]] | None:
        """Where the next summaries to be condensed begin, and these: the shallowest of which there are enough."""
        limits = self.limits
        least = max(limits.condensed_tokens, int(LEAST_SHARE * limits.leaf_chunk_tokens))
        for depth in sorted({item.depth for item in self.head if isinstance(item, Node)}):
            fanout = limits.hard_fanout if is_hard else limits.condensed_fanout if depth else limits.leaf_fanout
            begin, nodes = self._at_depth(depth)
            if len(nodes) >= fanout and sum(node.tokens for node in nodes) >= least:
                too_deep = not is_hard and limits.max_depth is not None and depth >= limits.max_depth
                return None if too_deep else (begin, nodes)
        return None

    def _at_depth(self, depth: int) -> tuple[int, list[Node]]:
        """The first summaries of a depth that stand together, within the tokens of a leaf's source."""
        begin, found, tokens = 0, list[Node](), 0
        for position, item in enumerate(self.head):
            if isinstance(item, Message) or item.depth != depth:
                if found:
                    break
                continue
            if found and tokens + item.tokens > self.limits.leaf_chunk_tokens:
                break
            begin = begin if found else position
            found.append(item)
            tokens += item.tokens
            if tokens >= self.limits.leaf_chunk_tokens:
                break
        return begin, found

    def _condense(self, begin: int, nodes: Sequence[Node]) -> None:
        self.passes += 1
        depth = nodes[0].depth + 1
        shown = [Message("user", _with_times(node), covers=node.message.covers) for node in nodes]
        previous = self._contents_before(begin, 0) if depth == 1 else ""
        name = ("lcm_condensed", "lcm_phases", "lcm_durable")[min(depth, 3) - 1]
        asks = ((name, max(LEAST_CONDENSED, self.limits.condensed_tokens)),)
        content = self._write(asks, shown, previous, _source(shown), self.limits.condensed_tokens)
        times = tuple(time for node in nodes for time in node.times)
        node = self._node(
            depth, content, nodes, stands_for(n.message for n in nodes), (min(times), max(times)) if times else ()
        )
        self.head[begin : begin + len(nodes)] = [node]
        self.tokens += node.tokens - sum(one.tokens for one in nodes)

    def _write(
        self, asks: Sequence[tuple[str, int]], shown: Sequence[Message], previous: str, source: str, target: int
    ) -> str:
        """A summary shorter than its source: the first of those asked for, or the beginning of the source."""
        n_source = self.history.counter.count(source)
        for prompt, max_tokens in asks:
            request = summary_request(self.history, prompt, shown, sections=(), max_tokens=max_tokens)
            if previous:
                request = shown_before(request, f"<previous_context>\n{previous}\n</previous_context>")
            try:
                text = self.history.summarize(request)
            except BlankSummaryError:
                if self.limits.mode == "valid":
                    raise
                self.history.flag("blank_summary")
                break
            n_tokens = self.history.counter.count(text)
            if n_tokens > OVERAGE * target and n_tokens < n_source:
                return _cut(text, OVERAGE * target, CAPPED.format(n=n_tokens, limit=OVERAGE * target))
            if n_tokens < n_source:
                return text
        self.history.flag("summary_truncated")
        return _cut(source, FALLBACK_TOKENS, TRUNCATED.format(n=n_source))

    def _node(
        self, depth: int, content: str, parents: Sequence[Node], covers: tuple[int, ...], times: tuple[str, ...]
    ) -> Node:
        id = f"sum_{depth:02x}{covers[0]:07x}{covers[-1]:07x}"
        below = sum(node.below + 1 for node in parents)
        said = f' earliest_at="{times[0]}" latest_at="{times[1]}"' if times else ""
        refs = "".join(f'    <summary_ref id="{node.id}" />\n' for node in parents)
        text = (
            f'<summary id="{id}" kind="{"condensed" if depth else "leaf"}" depth="{depth}" descendant_count="{below}" '
            f'trust="untrusted"{said}>\n'
            + (f"  <parents>\n{refs}  </parents>\n" if parents else "")
            + f"  <content>\n{html.escape(content, quote=False)}\n  </content>\n</summary>"
        )
        message = Message("user", text, covers=covers)
        return Node(id, message, depth, content, self.history.counter.count(content), below, times)


def _source(messages: Sequence[Message]) -> str:
    """Messages as a text, of which the beginning can take the place of a summary."""
    said = ((m.role, "\n".join([m.text, *(f"{c.name} {c.arguments}" for c in m.tool_calls)])) for m in messages)
    return "\n\n".join(f"{role}: {text.strip()}" for role, text in said)


def _with_times(node: Node) -> str:
    return f"[{node.times[0]} - {node.times[1]}]\n{node.content}" if node.times else node.content


def _cut(text: str, max_tokens: int, note: str) -> str:
    """The beginning of a text with a note, about so many tokens."""
    room = max(0, max_tokens * CHARS_PER_TOKEN - len(note) - 1)
    return f"{text[:room].rstrip()}\n{note}"
