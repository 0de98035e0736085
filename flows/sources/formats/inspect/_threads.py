"""Conversations out of model calls: every prompt is compared with the earlier messages of its conversation.

A prompt that continues the last one adds messages. One that lacks some of them is a compaction, when later ones stayed
or a summary replaced them; else the agent took a turn back and tried another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flows.sources.formats.inspect._calls import Compaction, ModelCall, Table
from flows.sources.formats.inspect._nodes import Node, Shrink, align_numbers, call_ids, is_summary
from flows.sources.reading.base import Record
from flows.sources.reading.session import REWOUND

SUMMARY = "summary"
COPY = "shortened copy of a message"
SIDE_CALL = "model call beside the conversation"
PASSING = "prompt that one call alone had"
_MANY = 4
"""From this many messages, replaced by a new prompt at once, they were compacted: nobody takes back so many."""


@dataclass
class InspectThread:
    """One conversation."""

    table: Table
    order: list[Node | Shrink] = field(default_factory=list)
    """Messages as they came up, and compactions where they fired."""
    calls: list[ModelCall] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    lost_calls: int = 0
    """Calls that a response made and that the conversation's last version of it lacks (a submitted answer)."""
    _view: list[Node] = field(default_factory=list)
    _view_numbers: list[int] = field(default_factory=list)
    _by_number: dict[int, Node] = field(default_factory=dict)
    _fresh: set[int] = field(default_factory=set)
    """Identities of the nodes that the last prompt brought."""

    @property
    def nodes(self) -> list[Node]:
        """The thread's messages, including those that are left out."""
        return [item for item in self.order if isinstance(item, Node)]

    def take(self, call: ModelCall, note: Compaction | None) -> None:
        """The next call of the conversation."""
        prompt, known = call.prompt, len(self._view)
        if prompt[:known] == self._view_numbers:
            added = [self._add(number) for number in prompt[known:]]
            if note is not None:
                self.order.insert(len(self.order) - len(added), Shrink([], [], "", None, None, note))
            self._view += added
            self._view_numbers += prompt[known:]
        else:
            added = self._diverge(prompt, note)
        self._fresh = set(map(id, added))
        if call.answer is not None:
            answer = self._add(call.answer)
            answer.call = answer.call or call
            self._view.append(answer)
            self._view_numbers.append(call.answer)

    def _add(self, number: int, state: str | None = None) -> Node:
        message = self.table.messages[number]
        node = Node(number, message, message["role"], state or (SUMMARY if is_summary(message) else None))
        self.order.append(node)
        self.numbers.add(number)
        self._by_number[number] = node
        return node

    def _diverge(self, prompt: list[int], note: Compaction | None) -> list[Node]:
        """A prompt that lacks messages of the one before: sets the view, and returns the nodes that are new."""
        view, numbers = self._view, self._view_numbers
        same = next((i for i, (a, b) in enumerate(zip(numbers, prompt, strict=False)) if a != b), len(prompt))
        found = align_numbers(prompt[same:], numbers[same:])
        matched: list[Node | None] = [None if at is None else view[same + at] for at in found]
        stays = {id(node) for node in matched if node is not None}
        gone = {id(node): node for node in view[same:] if id(node) not in stays}
        last = max((index for index, node in enumerate(matched) if node is not None), default=-1)
        cleared, text = self._match_shortened(prompt[same:], matched, gone, note)
        here = len(self.order)
        added: list[Node] = []
        for index, number in enumerate(prompt[same:]):
            node = matched[index]
            if node is None:
                back = self._by_number.get(number)
                if back is not None and (back.state == REWOUND or back.role == "system" or call_ids(back.message)):
                    # A branch that was left is continued, or a message that was dropped is back.
                    node, back.state = back, None if back.state == REWOUND else back.state
                else:
                    # Nothing that was said anew can stand before what was said earlier.
                    role = self.table.messages[number]["role"]
                    node = self._add(number, COPY if role in ("assistant", "tool") and index < last else None)
                    added.append(node)
                matched[index] = node
        summary = self._summary(added, matched, last, gone, note)
        shrink = self._judge(gone, bool(stays), added, cleared, summary, note)
        if shrink is not None:
            shrink.cleared_text = text
            shrink.summary_at = same + matched.index(summary) if summary is not None else None
            self.order.insert(here, shrink)
        self._view = view[:same] + [node for node in matched if node is not None]
        self._view_numbers = prompt[:]
        return added

    def _judge(
        self,
        gone: dict[int, Node],
        has_kept: bool,
        added: list[Node],
        cleared: list[Node],
        summary: Node | None,
        note: Compaction | None,
    ) -> Shrink | None:
        """The compaction that took place. None when there was none; the messages that are gone then have a state."""
        spoken = [node for node in gone.values() if node.role != "system"]
        is_plain = note is None and summary is None and not cleared
        if is_plain and has_kept and all(id(node) in self._fresh and node.role == "user" for node in spoken):
            for node in spoken:
                node.state = node.state or PASSING
            return None
        anew = len(spoken) >= _MANY and bool(added) and added[0].role == "user"
        if is_plain and not has_kept and not anew:
            for node in spoken:
                node.state = node.state or REWOUND
            return None
        self._leave_summariser(gone, summary, note)
        dropped = [node for node in gone.values() if node.state is None]
        if summary is not None:
            summary.state = SUMMARY
        return Shrink(dropped, cleared, "", summary, None, note)

    def _match_shortened(
        self, prompt: list[int], matched: list[Node | None], gone: dict[int, Node], note: Compaction | None
    ) -> tuple[list[Node], str]:
        """Results and responses that stayed in place without part of their text, as other messages."""
        cleared: list[Node] = []
        text = ""
        by_call = {(node.role, call): node for node in reversed(gone.values()) for call in call_ids(node.message)}
        for index, number in enumerate(prompt):
            if matched[index] is not None:
                continue
            message = self.table.messages[number]
            keys = ((message["role"], call) for call in call_ids(message))
            found = next((by_call[key] for key in keys if key in by_call), None)
            if found is not None and id(found) in gone:
                del gone[id(found)]
                matched[index] = found
                now, then = self.table.text(number), self.table.text(found.number)
                is_edit = note is not None and note.kind == "edit"
                if found.role == "tool" and now != then and (is_edit or len(now) < len(then)):
                    cleared.append(found)
                    text = text or now
        return cleared, text

    def _summary(
        self, added: list[Node], matched: list[Node | None], last: int, gone: dict[int, Node], note: Compaction | None
    ) -> Node | None:
        """The message that replaced the removed ones."""
        asked = [node for node in added if node.role == "user"]
        marked = next((node for node in asked if node.state == SUMMARY), None)
        if marked is not None or not gone or not asked:
            return marked
        at = matched.index(asked[0])
        if at < last or (note is not None and note.kind == "summary") or (len(gone) >= _MANY and at == 0):
            return asked[0]
        return None

    def _leave_summariser(self, gone: dict[int, Node], summary: Node | None, note: Compaction | None) -> None:
        """The call that wrote the summary is no turn of the conversation: its answer, and the prompt right before."""
        answer = self._view[-1] if self._view else None
        if summary is None or answer is None or answer.call is None or id(answer) not in gone:
            return
        if call_ids(answer.message):
            return
        said, text = self.table.text(answer.number).strip(), self.table.text(summary.number).strip()
        tail = said.rpartition("</analysis>")[2].strip()
        if not ((tail and tail in text) or (text and text in said) or (note is not None and note.kind == "summary")):
            return
        answer.state = SIDE_CALL
        asked = self._view[-2] if len(self._view) > 1 else None
        if asked is not None and id(asked) in self._fresh and asked.role == "user":
            asked.state = SIDE_CALL

    def finish(self, conversation: list[tuple[int, int, Record]]) -> None:
        """Takes in the final conversation, which decides the messages of the thread.

        Args:
            conversation: (number, position, message) of each of its messages.
        """
        nodes = self.nodes
        found = align_numbers([number for number, _, _ in conversation], [node.number for node in nodes])
        taken = {at for at in found if at is not None}
        single = {node.number: at for at, node in enumerate(nodes) if at not in taken}
        free = set(range(len(nodes))) - taken
        later: dict[int, list[Node]] = {}
        before = -1
        for (number, position, message), aligned in zip(conversation, found, strict=True):
            at = single.pop(number, None) if aligned is None else aligned
            if at is None and before + 1 in free and self._goes_on(nodes[before + 1], message):
                at = before + 1
            if at is None:
                node = Node(number, message, message["role"], None, None, position)
                self.numbers.add(number)
                later.setdefault(before, []).append(node)
                continue
            free.discard(at)
            node, before = nodes[at], at
            node.position = position
            if node.state not in (SUMMARY, COPY):
                node.state = None
            is_longer = len(self.table.text_of(message)) >= len(self.table.text(number))
            if node.role in ("user", "system") or is_longer:
                # For a provider that wants roles to alternate, prompts are joined; the conversation has them apart.
                self.lost_calls += len(set(call_ids(node.message)) - set(call_ids(message)))
                node.message = message
        self._leave_passing()
        if later:
            place = {id(node): at for at, node in enumerate(nodes)}
            order: list[Node | Shrink] = [*later.get(-1, ())]
            for item in self.order:
                order += [item, *(later.get(place[id(item)], ()) if isinstance(item, Node) else ())]
            self.order = order

    def _goes_on(self, node: Node, message: Record) -> bool:
        """Whether a message extends a response, in a log without ids."""
        said = self.table.text(node.number)
        is_one = node.role == message["role"] == "assistant" and node.state is None
        return is_one and bool(said) and self.table.text_of(message).startswith(said)

    def _leave_passing(self) -> None:
        """Leaves out prompts of the last call that the final conversation lacks although it has the call's answer."""
        answer = self._view[-1] if self._view else None
        if answer is not None and answer.call is not None and answer.position is not None:
            for node in self._view:
                if id(node) in self._fresh and node.role == "user" and node.position is None:
                    node.state = node.state or PASSING


class Threads:
    """The conversations of a sample, in the order of their beginnings. Calls are taken in the order of the log."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.all: list[InspectThread] = []
        self._owner: dict[int, InspectThread] = {}
        self._last: dict[str | None, InspectThread] = {}
        self._note: Compaction | None = None

    def take(self, item: ModelCall | Compaction) -> None:
        """The next call, or note of a compaction: that one belongs to the next call of the same role."""
        if isinstance(item, Compaction):
            self._note = item
            return
        note = self._note if self._note is not None and self._note.role == item.role else None
        thread = self._thread(item, note)
        known = len(thread.order)
        thread.take(item, note if thread.calls else None)
        thread.calls.append(item)
        item.prompt = []  # each has all before: together they would need the square of the memory
        if note is not None:
            self._note = None
        self._last[item.role] = thread
        for node in thread.order[known:]:
            if isinstance(node, Node) and node.role != "system":
                self._owner.setdefault(node.number, thread)

    def _thread(self, call: ModelCall, note: Compaction | None) -> InspectThread:
        """The conversation that a call continues: by its first prompt, by a compaction, or by any prompt."""
        spoken = (number for number in call.prompt if self.table.role(number) != "system")
        thread = self._owner.get(next(spoken, -1))
        if thread is None and note is not None:
            thread = self._last.get(call.role)
        if thread is None:
            thread = next((self._owner[number] for number in spoken if number in self._owner), None)
        if thread is None:
            thread = InspectThread(self.table)
            self.all.append(thread)
        return thread
