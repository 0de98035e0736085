"""Marks in the place of secrets: the same for the same value, and no way back to it."""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import lru_cache

KEY_VARIABLE = "COMPACTION_EVAL_REDACTION_KEY"
"""Environment variable with a text of the operator's choice that goes into every mark."""

MARK = re.compile(r"\[SECRET:[a-z0-9_]+:[0-9a-f]{6}\]")
"""A mark, as it stands in a text."""

_GREP = r"[\w./@+-]{1,120}?[:-]\d{1,7}[:-]"
_SIGN = r"[-+](?![-+])|<(?=[ \t])|[>|│┃║]"
_NUMBER = r"\d{1,7}(?:[→|│:]|[ \t]+[|│→]|[ \t]{1,6}(?![ \t]))"
_MORE = rf"(?:(?:{_SIGN}|{_NUMBER})[ \t]*+)"
LINE_START = re.compile(rf"^(?:{_GREP}[ \t]*+{_MORE}*|[ \t]*+{_MORE}+)", re.MULTILINE)
"""What a viewer, a diff, a quote or a box puts before a line."""

_SALT = b"compaction-eval redaction mark 1"
_DIGITS = 6
_COST = {"n": 2**14, "r": 8, "p": 1}
"""Percival's cost for interactive logins (scrypt paper, 2009): 16 MiB and some 50 ms a guess."""
_ARMOUR = re.compile(r"-----[A-Z0-9 ]+-----")
_BREAK = re.compile(r"\\+[nr]")
_LAYOUT = re.compile(r"\\+t|[^A-Za-z0-9/]+")


class SecretMarker:
    """Makes marks. Each distinct value is stretched once per process.

    A mark depends on the value, its kind and the key alone: not on the session, the file or what was masked before.

    Args:
        key: The operator's text; with the empty text, marks are the same on every machine.
    """

    def __init__(self, key: str = "") -> None:
        self._key = key.encode("utf-8", "surrogateescape")
        self._made: dict[tuple[str, str], str] = {}

    def __getstate__(self) -> dict[str, object]:
        """Leave out the values seen so far: they are secrets."""
        return {"_key": self._key, "_made": {}}

    def __repr__(self) -> str:
        return f"Marker(keyed={bool(self._key)})"

    def mark(self, kind: str, value: str, is_guessable: bool = True) -> str:
        """The mark of a secret.

        Args:
            kind: Lower-case letters, digits and underscores.
            value: The secret as found.
            is_guessable: Whether people may have chosen the value. Then every guess at it costs a run of scrypt;
                a token that a provider drew at random needs no stretching.
        """
        made = self._made.get((kind, value))
        if made is None:
            plain = _key_material(value) if kind == "private_key" else value
            made = f"[SECRET:{kind}:{_digest(self._key, plain.encode('utf-8', 'surrogatepass'), is_guessable)}]"
            self._made[kind, value] = made
        return made

    def check_value(self) -> str:
        """Six hex digits that tell one key from another, so that texts are read again when the key changes."""
        return _check_value(self._key)


@lru_cache(maxsize=1)  # a process has one key, and asks with every input
def _check_value(key: bytes) -> str:
    return _digest(key, b"", is_guessable=True)


def _digest(key: bytes, value: bytes, is_guessable: bool) -> str:
    salted = hmac.digest(_SALT, key, "sha256")
    if is_guessable:
        return hashlib.scrypt(value, salt=salted, dklen=_DIGITS // 2, **_COST).hex()
    return hmac.digest(salted, value, "sha256").hex()[:_DIGITS]


def _key_material(block: str) -> str:
    """A private key without line breaks, line numbers and the signs of a diff: one key file has one mark."""
    lines = LINE_START.sub("", _BREAK.sub("\n", _ARMOUR.sub("", block)))
    return _LAYOUT.sub("", lines) or block
