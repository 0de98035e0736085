"""Whether a value is a secret, by the value itself and by how it is written."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Words that only a placeholder holds, and parts that stand for something else: what is left of the value decides.
_PLACEHOLDER_WORD = re.compile(
    r"\byour[-_ ]|\bvotre|[-_ ]here\b|example|placeholder|change[-_ ]?me|change[-_ ]?this|redacted|removed|dummy"
    r"|replace[-_ ]|insert[-_ ]|\btodo\b|masked|process\.env|os\.environ|getenv|secret:",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"%?\$(?:\{|\(|[A-Za-z_][A-Za-z0-9_]*$)|\$?\{\{|%\(?[A-Za-z_]{1,40}\)?[sd%]?$|\{[\w.]*\}$|[!&*]\w+$|@\w+$"
)
_STANDS_FOR = re.compile(
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\{\{.*|\{[^{}]{0,60}\}|<[\w .-]{0,80}>|\*{3,}|x{4,}|\.{3,}|…+", re.IGNORECASE
)
_SEGMENT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\?\.|::|->|[./-])[\w$]+)*[?!]?")
_WORDS = re.compile(r"[^\W\d_]+(?:[-_. /,:'’][ ]?[^\W\d_]+)*[.!?…:]?")
_CALL_OR_INDEX = re.compile(r"[(!&*]*[\w$]+(?:(?:\?\.|\.|->|::)[\w$]+)*(?:\(|\[|\)[.;,)]|\?\.|\{$)")
_TYPE = re.compile(r"[A-Za-z_$.]+\d{0,3}[A-Za-z]*[<\[?|][\w$.,<>\[\]{}|?\"' ]*[,;)]*")
_OPERATOR = re.compile(r"={2,3}[^=]|=>|^[(\[{.?]|^/.*/[gimsuy]{0,4}$|^[|&]{1,2}$|\)[.{;:]|^\w+\.\.\.")
_REGEX = re.compile(r"/(?:\^|\\[bdsw])")
_COLOUR = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)
_PATH = re.compile(r"(?:[a-z][a-z0-9+.]{1,12}:/|[A-Za-z]:)?(?:[.~]{0,2}/)?[\w.@-]*(?:/[\w.@{}-]*)+")
_STOCK = frozenset(
    """a abc abcd access admin adminadmin alice and api app auth authorization aws bad bar baz basic bearer bob blah
    bogus client code correct credential credentials current db default demo dev developer diff different empty
    expired fake false first foo for gateway github gh good google guest header hello hush id incorrect initial
    invalid is it jwt key ldap letmein live local localhost login long master mock mongo my mysecret mypassword
    mysql new nil no none not null number of ok old one open openai or ory other p pa pass passphrase passw
    passwd password passwort pat pg pk plain postgre postgres postgresql private prod pub public pw pwd qwerty
    rabbitmq random re redis refresh reset right root s same sa sample scott second secret secrets secure
    session short sk some staging string strong super supersecret svc t temp temporary test tester testing tests
    testuser text that the this tiger tk tmp token tokens too true two u undefined unit unknown user username
    valid value very weak welcome word world wrong x xxx y yes you zzz"""
    .split()
)  # fmt: skip
"""Words of made-up passwords: defaults, test values and names of the thing itself."""


def entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values()) if value else 0.0


def is_placeholder(value: str) -> bool:
    """Whether a value stands for another: a variable, ``<token>``, ``your-api-key``, ``xxxx``."""
    if _PLACEHOLDER_WORD.search(value) or _VARIABLE.match(value) or _COLOUR.fullmatch(value) or _REGEX.match(value):
        return True
    left = _STANDS_FOR.sub("", value).strip("-_.: ")
    return len(left) < len(value) - 2 and (sum(c.isalnum() for c in left) < 8 or is_stock(left) or _is_words(left))


def is_stock(value: str) -> bool:
    """Whether a value is a word that everyone takes (``Password123!``) or counts up (``1234567890abcdef``)."""
    if is_sequence(value):
        return True
    words = [part.lower() for part in _SEGMENT.findall(value) if not part.isdigit()]
    n_digits = sum(c.isdigit() for c in value)
    return n_digits <= 6 and sum(map(len, words)) + n_digits > 0 and all(word in _STOCK for word in words)


def is_sequence(value: str) -> bool:
    """Whether most characters repeat the one before or count on from it, as in ``1234567890abcdef``."""
    steps = [ord(other) - ord(one) for one, other in pairwise(value)]
    return sum(step in (0, 1) for step in steps) * 2 > len(steps)


def is_name(value: str) -> bool:
    """Whether a value reads like a name in code: ``Uint8Array``, ``ed25519PrivateKey``, ``auth.token``.

    A name is made of words, and a random value changes between letters, capitals and digits at every other character.
    """
    if not _NAME.fullmatch(value):
        return False
    parts = _SEGMENT.findall(value)
    letters = [part for part in parts if not part.isdigit()]
    size, n_digits = sum(map(len, parts)), sum(c.isdigit() for c in value)
    return bool(letters) and size >= 3 * len(parts) and 2 * n_digits <= size and max(map(len, letters)) <= 20


def is_code(value: str) -> bool:
    """Whether a value without quotes is an expression, a type or a name, not what is assigned by itself."""
    stripped = value.rstrip(",;)]}:")
    return bool(
        _OPERATOR.search(value)
        or _CALL_OR_INDEX.match(value)
        or _TYPE.fullmatch(value)
        or is_name(stripped)
        or stripped.lower() in {"", "true", "false", "null", "none", "nil", "undefined"}
    )


def is_random(value: str) -> bool:
    """Whether a value looks drawn at random: 16 characters or more, digits and letters, 3 bits per character."""
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return (
        len(value) >= 16 and len(value.split()) == 1 and has_both and entropy(value) >= 3 and not is_name(value)
        and not _UUID.fullmatch(value) and not is_placeholder(value) and not is_stock(value) and not _is_path(value)
    )  # fmt: skip


def is_chosen(value: str, takes_words: bool = False) -> bool:
    """Whether a value can be a password that a person or a generator made.

    Args:
        value: What is assigned.
        takes_words: Whether letters alone suffice, as behind ``DB_PASSWORD=``. Else it needs a digit, a sign or
            capitals anywhere.
    """
    if (
        len(value) < 4
        or value != value.strip()
        or len(value.split()) > 4
        or is_placeholder(value)
        or is_stock(value)
        or _is_path(value)
    ):
        return False
    if not _is_words(value):
        return True
    if takes_words or (len(value) >= 24 and value.isalpha() and not is_name(value)):
        return True
    n_changes = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    return value.isalpha() and len(value) >= 8 and 3 * n_changes >= len(value)


def is_spread(value: str) -> bool:
    """Whether a value is looked for in its whole session: long and mixed enough that it means nothing else there."""
    n_kinds = sum((any(c.isdigit() for c in value), any(c.isalpha() for c in value), not value.isalnum()))
    is_mixed = n_kinds >= 2 and not is_name(value) and not is_code(value)
    return len(value) >= 8 and len(value) * entropy(value) >= 28 and is_mixed and not _is_words(value)


def _is_words(value: str) -> bool:
    return _WORDS.fullmatch(value) is not None


def _is_path(value: str) -> bool:
    parts = re.split(r"[/.@{}]", value)
    return (
        _PATH.fullmatch(value) is not None
        and (value[0] in "/.~" or ":/" in value or "." in value or value.count("/") == 1)
        and all(not part or is_name(part) or len(part) < 5 for part in parts)
    )
