"""Texts of kinds that some peers tell apart: source files, JSON, diffs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from compaction.testing import CharacterCounter
from compaction.tokens import counted
from compaction.transcript import Message

FILES = (
    "# setup.py\nimport a\nimport b\nfrom c import d",
    '{"path": "auth.py", "ok": true}',
    "[1, 2",
    "see `auth.py` and authentication",
    "// main.js\n    let x\n    let y\n    let z\n    a\n    b\n    c",
    "File: /srv/app/settings.toml\n" + "line\n" * 60,
    "--- old.c\n+++ new.c",
    "请把 auth.py 里的登录错误修好",
)


def with_files(messages: Sequence[Message], seed: int) -> tuple[Message, ...]:
    """The history with texts of the kinds that the peer tells apart in the place of some of its results."""
    source = random.Random(seed)
    changed = []
    for message in messages:
        if message.role in ("tool", "user") and source.random() < 0.4:
            changed.append(counted(replace(message, text=source.choice(FILES), tokens=None), CharacterCounter()))
        else:
            changed.append(message)
    return tuple(changed)
