"""Whether a value is a secret, by the value itself and by how it is written."""

from __future__ import annotations

import base64
import math
import re
from collections import Counter
from itertools import pairwise
from urllib.parse import unquote

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# Words that only a placeholder holds, and parts that stand for something else: what is left of the value decides.
_PLACEHOLDER_WORD = re.compile(
    r"\byour(?:[-_ ]|(?-i:[A-Z]))|\bvotre"
    r"|[-_ ]here\b|example|placeholder|change[-_ ]?me|change[-_ ]?this|redacted|removed|dummy"
    r"|replace[-_ ]|insert[-_ ]|\btodo\b|masked|process\.env|os\.environ|getenv|secret:|not[-_]?real"
    r"|(?:^|[-_ ])fake(?:[-_ \d]|$|pass|key|tok|sec|cred|user|api)"
    r"|^(?:mock|sample|invalid|not|bad|wrong|expired|optional)[-_]",
    re.IGNORECASE,
)
_VARIABLE = re.compile(
    r"%?\$(?:\{|\(|(?:env:)?[A-Za-z_][A-Za-z0-9_]*$)|=?(?:Env|ENV|env)[.:(\[]|(?:[A-Z]+_)*(?:TOKEN|KEY|SECRET)[\[&<{(]|\$?\{\{|%\(?[A-Za-z_]{1,40}\)?[sd%]?$|\{[\w.]*\}(?:$|[?/])|->|%[iwqr]?[\[({]|[!&*]\w+$|@\w+$|@\{|#\{|<%"
)
_STANDS_FOR = re.compile(
    r"\$\{[^}]*\}?|\$\([^)]*\)?|\{\{.*|\$?\{[^{}]{0,60}\}|</?[\w .-]{0,80}>|%[sdr]|\*{3,}|x{4,}|\.{3,}|…+",
    re.IGNORECASE,
)
_IS_BRACKETED = re.compile(r"[(<\[]+[\w .|-]+[)>\]]+")
_NAMED = re.compile(r"(?i:[a-z_-]*\d{0,2}[a-z_-]*pass(?:word|wd|phrase)?\d{0,2})|[A-Z_]*(?:TOKEN|SECRET|KEY)")
_CUT = re.compile(r"eyJ[\w-]*(?:\.{3}|…)|(?:s%3A)?\w{1,6}(?:[-_]\w{1,6}){0,2}[-_]?(?:\.{3}|…)\w{0,6}")
_RANGE = re.compile(
    r"(?:(?:npm|workspace|catalog|patch|file|link):)?[~^<>=*v]{0,2}(?:\d+(?:\.[\w*-]+)+|[~^*])?", re.IGNORECASE
)
_HOSTS = re.compile(
    r"(?:[\w-]{1,60}\.){1,4}(?:com|org|net|io|dev|test)(?:,(?:[\w-]{1,60}\.){1,4}(?:com|org|net|io|dev|test))*"
)
_DOTTED = re.compile(r"(?:com|org|net|io|dev)\.[a-z]+\.[\w.-]+")
_FINGERPRINT = re.compile(r"[0-9A-F]{2}(?::[0-9A-F]{2}){4,}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|urn:|arn:)", re.IGNORECASE)
_NUMBER = re.compile(r"[\d_.,]+(?:::\w+|[a-z]{1,3})?|\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?")
_PART = re.compile(r"[-_./: ]+")
_LABEL_PART = re.compile(
    r"v?\d{1,4}[a-z]{0,2}|(?P<word>[a-z]{2,20}|[A-Z][a-z]{1,19}|[A-Z]{2,20}|[a-z]{2,12}(?:[A-Z][a-z]{2,12}){1,3})\d{0,4}"
)
_HEAD = re.compile(r"(?P<name>[\w$.!]*)[,?:}+)<&|]")
_BRACKET = re.compile(r"[(){}]|<\w|\?[\w.]+:")
_VOWEL = re.compile("[aeiouyAEIOUY]")
_URL_PART = re.compile(r"[/?&=.:@#;,~]+")
_LEET = str.maketrans("013457@$", "oieastas")
_SEGMENT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:[?!]?\.|::|->|[/-])[\w$]+)*[?!]?")
_NOT_STRONG = re.compile(
    r"\w+=[\"'].*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[(\[<{].*|.*(?:\][(\[]|://|&\w+=).*|\d+\*.*|[A-Z]+\d+[A-Z]*(?:[-_/][A-Z0-9]+)+"
)
"""Beside a name by chance: an attribute, an address, a link, a grammar, an algorithm."""
_TEST_PASSWORD = re.compile(
    r"(?:[a-z]{2,10}[-_])?(?:new|old|my|test|user|admin|bad|wrong|super)?pas(?:s(?:w(?:or)?d)?)?[-_]?\d{0,6}",
    re.IGNORECASE,
)
_COUNTED_WORD = re.compile(r"(?<![A-Za-z\d])\d+[A-Za-z]{3}")
"""No name in code has a part that begins with a number and goes on with a word."""
_CODE_SIGN = re.compile(r"[()\[\]{}<>\"'`]")
_WORDS = re.compile(r"[^\W\d_]+(?:[-_. /*,:'’，。、：；（）“”][ ]?[^\W\d_]+)*[.!?…:。]?")
_CALL_OR_INDEX = re.compile(r"[(!&*@]*[\w$]+(?:(?:\?\.|\.|->|::)[\w$]+)*(?:\(|\[|\)[.;,)]|\?\.|\{(?:\}?$|[\w.]+:))")
_TYPE = re.compile(r"[A-Za-z_$.]+\d{0,3}[A-Za-z]*[<\[?|][\w$.,<>\[\]{}|?\"' ]*[,;)]*")
_OPERATOR = re.compile(r"={2,3}[^=]|=>|^[(\[{.?)}\]]|^/.*/[gimsuy]{0,4}$|^[|&]{1,2}$|\)[.{;:]|^\w+\.\.\.")
_REGEX = re.compile(r"/(?:\^|\\[bdsw])|\(\?[:=!<P]|.*(?:\\[wdsb](?:[*+{)\]\\]|$)|\[\^.*\]|\[0-9\])")
_COLOUR = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)
_WINDOWS_PATH = re.compile(
    r"(?:[A-Za-z]:|\\.{1,2})?\\{1,2}[\w .$@()-]+(?:\\{1,2}[\w .$@()-]*)*|[A-Za-z]:(?:/[\w .$@()-]*)+"
)
_FILE = re.compile(r"[.~]{0,2}(?:/[\w.@-]+){2,}\.[a-z]{1,5}")
_PATH = re.compile(r"(?:[a-z][a-z0-9+.]{1,12}:/|[A-Za-z]:)?(?:[.~]{0,2}/)?[\w.@-]*(?:/[\w.@{}-]*)+")
_STOCK = frozenset(
    """a abc abcd access admin adminadmin alice and api app auth authorization aws bad bar baz basic bearer bob blah
    bogus changeit client code cookie correct credential credentials current db default demo dev developer diff
    different empty expired fail failed fake false first foo for gateway github gh good google grafana guest
    header hello hush id incorrect initial
    invalid is it jwt key ldap letmein live local localhost login long master mock mongo my mysecret mypassword
    mysql new nil no none not null number of ok old one open openai or ory other p pa pass passphrase passw
    passwd password passwort pat pg pk plain postgre postgres postgresql private prod pub public pw pwd qwerty
    rabbitmq random re redis repo refresh reset right root s same sa sample scott second secret secrets secure
    somewordpress wordpress onepass
        session short sk some staging string strong super supersecret svc t temp temporary test tester testing tests
    testuser text that the this tiger tk tmp token tokens too true two u undefined unit unknown user username
    valid value very weak webhook welcome word world wrong x xxx y yes you zzz""".split()
)
"""Words of made-up passwords: defaults, test values and names of the thing itself."""
_PASSPHRASE = re.compile(r"(?=.{14,80}$)[a-z]{3,12}(?:-[a-z]{3,12}){1,7}(?:-?\d{1,4})?[!?]?")
_SAYS_SECRET = re.compile(
    r"pass|secret|token|login|auth|user|field|input|form|hidden|button|icon|label|text|forgot|reset|^(?:not|test|should|exist|invalid|wrong)$"
)
_WORD_WITH_NUMBER = re.compile(
    r"(?P<words>(?:[A-Za-z][a-z]{1,20}[-_.]?){1,6})(?:(?<![a-z])|(?<=[a-z]{2}))\d{1,6}[!?*#$.]{0,2}"
)
_NUMBERED = frozenset(
    "aes arg args base bcrypt blake byte bytes char curve digest ed enc field float hash http input int item keccak line"  # noqa: E501
    " long md name node oauth param part pass passwd password pbkdf po result rsa salt sample scrypt secp sha short string"  # noqa: E501
    " text type uint user utf value varchar vec version".split()
)
"""Words that are numbered in code: types, algorithms, variables."""
_SHORTEST_STRONG = 8
_LONG_NAME = 20
"""Characters from which on a name has fewer numbers among its words."""
_LONGEST_LEET = 10
"""Characters of the longest value such as ``s3cr3t`` or ``P@55w0rd!``."""


def entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values()) if value else 0.0


def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder: a variable, ``<token>``, ``your-api-key``, ``xxxx``."""
    if (
        _PLACEHOLDER_WORD.search(value)
        or _VARIABLE.match(value.strip("\\\"'"))
        or _COLOUR.fullmatch(value)
        or _REGEX.match(value)
    ):
        return True
    if any(form.fullmatch(value) for form in (_IS_BRACKETED, _NAMED, _CUT)):
        return True
    left = _STANDS_FOR.sub("", value).strip('-_.:$" ')
    return len(left) < len(value) - 2 and (sum(c.isalnum() for c in left) < 8 or is_stock(left) or is_label(left))


def is_stock(value: str) -> bool:
    """Whether a value is a common password (``Password123!``) or a sequence (``1234567890abcdef``)."""
    if is_sequence(value) or _TEST_PASSWORD.fullmatch(value):
        return True
    if "%" in value and "%" not in (plain := unquote(value)) and is_stock(plain):
        return True
    decoded = _decode_base64(value)
    if decoded and (is_stock(decoded) or is_placeholder(decoded)):
        return True
    if "&" in value or "|" in value:  # joins a password's words, and those of no default
        return False
    if len(value) <= _LONGEST_LEET and value.lower().strip("!").translate(_LEET) in _STOCK:
        return True
    words = [part.lower() for part in _SEGMENT.findall(value) if not part.isdigit()]
    n_digits = sum(c.isdigit() for c in value)
    return n_digits <= 6 and sum(map(len, words)) + n_digits > 0 and all(word in _STOCK for word in words)


def _decode_base64(value: str) -> str:
    """The plain text in a base64 value, or its password if it is ``user:password``; empty for all else."""
    if len(value) % 4 or len(value) > 60 or not _BASE64.fullmatch(value):
        return ""
    try:
        plain = base64.b64decode(value).decode("ascii")
    except ValueError:
        return ""
    plain = plain.strip()
    if not plain.isprintable():
        return ""
    return "<text>" if " " in plain else plain.rpartition(":")[2] or "<none>"


def is_sequence(value: str) -> bool:
    """Whether most characters repeat the one before or count on from it, as in ``1234567890abcdef``."""
    steps = [ord(other) - ord(one) for one, other in pairwise(value.lower())]
    return sum(step in (0, 1) for step in steps) * 2 > len(steps)


def is_name(value: str) -> bool:
    """Whether a value reads like a name in code: ``Uint8Array``, ``ed25519PrivateKey``, ``auth.token``.

    A name is made of words, and a random value changes between letters, capitals and digits at every other character.
    """
    if is_label(value):
        return True
    if not _NAME.fullmatch(value.removeprefix("::")) or _COUNTED_WORD.search(value) or is_scrambled(value):
        return False
    parts = _SEGMENT.findall(value)
    letters = [part for part in parts if not part.isdigit()]
    size, n_digits = sum(map(len, parts)), sum(c.isdigit() for c in value)
    n_odd = sum(len(part) >= 3 and not _VOWEL.search(part) for part in letters)
    if n_digits and n_odd > 1:
        return False
    shortest = 2.5 if not n_digits else 3 if len(value) < _LONG_NAME else 3.5
    return bool(letters) and size >= shortest * len(parts) and 2 * n_digits <= size and max(map(len, letters)) <= 20


def is_label(value: str) -> bool:
    """Whether a value is made of words, versions and short numbers: ``v1-stable``, ``my_service_v1``, ``us-east-1``."""
    found = [_LABEL_PART.fullmatch(part) for part in _PART.split(value.strip("-+:"))]
    if not all(found):
        return False
    words = [one["word"] for one in found if one and one["word"]]
    n_odd = sum(len(word) > 3 and not _VOWEL.search(word) for word in words)
    return any(len(word) >= 3 for word in words) and n_odd <= 1 and sum(c.isdigit() for c in value) <= 8


def is_scrambled(value: str) -> bool:
    """Whether every other character is of another kind than the one before, as no name has it."""
    kinds = [c.isalpha() + 2 * c.isupper() + 4 * c.isdigit() for c in value]
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= 10 and has_both and 2 * sum(one != other for one, other in pairwise(kinds)) >= len(value)


def is_reference(value: str) -> bool:
    """Whether a value says where something is, or how much: a URL without a random part, a number, a date."""
    if _NUMBER.fullmatch(value):
        return not value.isdigit()
    if (
        _DOTTED.fullmatch(value)
        or _RANGE.fullmatch(value)
        or _HOSTS.fullmatch(value)
        or _FINGERPRINT.fullmatch(value)
        or value.startswith("//")
    ):
        return True
    return _URL.match(value) is not None and not any(is_random(part) for part in _URL_PART.split(value))


def is_code(value: str) -> bool:
    """Whether a value without quotes is an expression, a type or a name, not what is assigned by itself."""
    if is_scrambled(value) and not _CODE_SIGN.search(value):
        return False
    stripped = value.rstrip(",;)]}:!").strip("*`+!&@")
    head = _HEAD.match(value)
    return bool(
        (head and (len(head["name"]) <= 3 or is_name(head["name"])) and _BRACKET.search(value, head.end("name")))
        or _OPERATOR.search(value)
        or _CALL_OR_INDEX.match(value)
        or _TYPE.fullmatch(value)
        or is_name(stripped)
        or stripped.lower() in {"", "true", "false", "null", "none", "nil", "undefined"}
    )


def is_word_with_number(value: str) -> bool:
    """Whether a value is words with a number, ``summer2024``, and no type (``uint8``) and no numbered variable."""
    found = _WORD_WITH_NUMBER.fullmatch(value)
    if found is None or len(value) < 6 or is_stock(value) or is_placeholder(value):
        return False
    words = [word.lower() for word in _SEGMENT.findall(found["words"])]
    return words[-1] not in _NUMBERED and not any(word in _STOCK or _SAYS_SECRET.fullmatch(word) for word in words)


def is_passphrase(value: str) -> bool:
    """Whether a value is words with hyphens between them, ``correct-horse-battery``, and none of the words for it."""
    words = value.split("-")
    return (
        _PASSPHRASE.fullmatch(value) is not None
        and not any(_SAYS_SECRET.search(word) for word in words)
        and sum(word in _STOCK for word in words) * 2 < len(words)
        and not is_placeholder(value)
    )


def is_strong(value: str) -> bool:
    """Whether a value reads like a password or a key by itself, where a word of a sentence may stand as well."""
    if _NOT_STRONG.fullmatch(value) or _CALL_OR_INDEX.match(value):
        return False
    if is_random(value) or is_word_with_number(value) or (value.count("-") > 2 and is_passphrase(value)):
        return True
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    n_changes = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    is_mixed = has_both or (len(value) >= 10 and 3 * n_changes >= len(value))
    is_one = len(value) >= _SHORTEST_STRONG and len(value.split()) == 1
    return is_one and is_mixed and is_chosen(value) and not is_code(value) and not is_label(value)


def is_random(value: str) -> bool:
    """Whether a value looks random: 16 characters or more, digits and letters, 2.7 bits per character."""
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return (
        len(value) >= 16
        and len(value.split()) == 1
        and has_both
        and entropy(value) >= 2.7
        and not is_name(value)
        and not _UUID.fullmatch(value)
        and not is_placeholder(value)
        and not is_stock(value)
        and not _is_path(value)
        and not is_reference(value)
    )


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
        or not any(c.isascii() and c.isalnum() for c in value)
        or is_placeholder(value)
        or is_stock(value)
        or _is_path(value)
        or is_reference(value)
    ):
        return False
    if not _is_words(value.strip("*")):
        return True
    if takes_words or (len(value) >= 24 and value.isalpha() and not is_name(value)):
        return True
    n_changes = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    return value.isalpha() and len(value) >= 8 and 3 * n_changes >= len(value)


def is_spread(value: str) -> bool:
    """Whether a value is searched for in its whole session: it must be too long and mixed to mean anything else."""
    n_kinds = sum((any(c.isdigit() for c in value), any(c.isalpha() for c in value), not value.isalnum()))
    is_mixed = n_kinds >= 2 and not is_name(value) and not is_code(value)
    return len(value) >= 12 and len(value) * entropy(value) >= 40 and is_mixed and not _is_words(value)


def _is_words(value: str) -> bool:
    return _WORDS.fullmatch(value) is not None


def _is_path(value: str) -> bool:
    if _WINDOWS_PATH.fullmatch(value) or _FILE.fullmatch(value):
        return True
    parts = re.split(r"[/.@{}]", value)
    return (
        _PATH.fullmatch(value) is not None
        and (value[0] in "/.~@" or ":/" in value or "." in value or value.count("/") == 1)
        and all(not part or is_name(part) or len(part) < 5 for part in parts)
    )
