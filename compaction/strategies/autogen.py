"""autogen-core 0.7.5: ``HeadAndTailChatCompletionContext``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compaction.markers import removed
from compaction.parameters import Positive
from compaction.registry import strategy
from compaction.strategies.shared.parts import system_prompt, turns_of
from compaction.strategy import History
from compaction.transcript import Message

NOTE = re.compile(r"Skipped \d+ messages\.")
MARKERS = removed("Skipped {n} messages.")


@strategy(
    "autogen_head_tail",
    every_turn=True,
    peer="autogen-core",
    peer_version="0.7.5",
    markers=MARKERS,
    bites={"head_size": 1, "tail_size": 3},
    by_default=False,
)
def autogen_head_tail(history: History, *, head_size: Positive = 2, tail_size: Positive = 8) -> Sequence[Message]:
    """The first ``head_size`` and the last ``tail_size`` messages with ``Skipped N messages.`` between them.

    Results that follow each other are one message there. A head that ends in a message with calls loses it, a
    tail that begins with results loses them, and N counts neither. It is a view: the whole session is kept beside it
    and viewed anew each time. The original has no default; the figures are those of ``head_tail``. The system prompt is
    none of the messages there and stays.
    """
    viewed = any(message.seq is None and NOTE.fullmatch(message.text) for message in history.messages)
    said = history.session if viewed else history.messages
    system = system_prompt(said)
    turns = turns_of(said[len(system) :])
    skipped = len(turns) - head_size - tail_size
    if skipped <= 0:
        return history.messages
    head, tail = turns[:head_size], turns[-tail_size:]
    if head[-1][-1].tool_calls:
        head = head[:-1]
    if tail[0][0].role == "tool":
        tail = tail[1:]
    note = Message("user", f"Skipped {skipped} messages.")
    return (*system, *(m for turn in head for m in turn), note, *(m for turn in tail for m in turn))
