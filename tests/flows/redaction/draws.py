"""Secrets that are drawn by a seed, in the shapes of ``shapes.txt``."""

from __future__ import annotations

import base64
import random
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_LETTERS = string.ascii_letters + string.digits
_CONSONANTS, _VOWELS = "bcdfghklmnprstvz", "aeiou"


class Planted(NamedTuple):
    """A secret and the text that it stands in."""

    group: str
    shape: str
    secret: str
    text: str


class Draw:
    """Values, drawn anew by each seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def text(self, size: int) -> str:
        """Letters and digits, one of each kind among them."""
        kinds = (string.ascii_lowercase, string.ascii_uppercase, string.digits, *[_LETTERS] * (size - 3))
        drawn = [self._random.choice(kind) for kind in kinds]
        self._random.shuffle(drawn)
        return "".join(drawn)

    def word(self) -> str:
        """A word that no list holds."""
        choose = self._random.choice
        return "".join(choose(_CONSONANTS) + choose(_VOWELS) for _ in range(self._random.randint(2, 4))) + choose(
            "lnrs"
        )

    def password(self) -> str:
        """What a person or a password manager chose, of the signs that need no quotes anywhere."""
        number = self._random.randint(10, 9999)
        return self._random.choice(
            [
                f"{self.word().title()}{number}!",
                f"{self.word().title()}{self.word().title()}{number}",
                f"{self.word()}_{self.word().title()}{number}",
                f"{self.word().title()}-{self.word()}-{self.word()}-{number}",
                self.text(self._random.randint(10, 24)),
                f"{self.text(12)}{self._random.choice('!_.+')}{self.text(4)}",
            ]
        )

    def token(self) -> str:
        """What a machine drew: letters and digits, hexadecimal, or base64 for URLs."""
        return self._random.choice(
            [
                self.text(self._random.randint(24, 48)),
                self._random.randbytes(self._random.choice([16, 20, 32])).hex(),
                base64.urlsafe_b64encode(self._random.randbytes(33)).decode(),
            ]
        )

    def key(self) -> str:
        """The base64 lines of a key."""
        raw = base64.b64encode(self._random.randbytes(420)).decode()
        return "\n".join(raw[at : at + 64] for at in range(0, len(raw), 64))


_GROUP = re.compile(r"\[((?:password|token|key): .*)\]")
SHAPES = Path(__file__).with_name("shapes.txt")


def plant(seed: int, values: int, shapes: Path = SHAPES) -> Iterator[Planted]:
    """Every shape of a file with so many values each.

    A line of the file is a shape: ``{}`` is the value, ``⏎`` a line break. A line such as ``[password: in commands]``
    says which of ``password``, ``token`` and ``key`` the values below it are; the first line may be a comment.
    """
    draw = Draw(seed)
    group = "password"
    for number, line in enumerate(shapes.read_text(encoding="utf-8").splitlines()):
        if (number == 0 and line.startswith("#")) or "{}" not in line:
            group = found[1] if (found := _GROUP.fullmatch(line)) else group
            continue
        shape = line.replace("⏎", "\n")
        for _ in range(values):
            secret = getattr(draw, group.partition(":")[0])()
            yield Planted(group, shape, secret, f"PORT=80\n{shape.replace('{}', secret)}\nthen it went on")
