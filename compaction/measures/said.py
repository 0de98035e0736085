"""The content of a message: as plain text, as lines, and as the names in it that are specific to the work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any

from compaction.reading.file_paths import Roots
from compaction.transcript import Message

MIN_LINE = 40
"""Characters of a line that is long enough to have been copied; shorter ones are written alike by chance."""
MIN_WORDS = 4
"""Different words that such a line has: a rule of dashes or a closing bracket is no quotation."""
MIN_NAME = 8
"""Characters of a code name."""
MIN_PATH = 6

_TOKEN = re.compile(r"https?://[^\s\"'`<>()\[\]{}|\\]+|(?<![\w.@~+/-])[\w.@~+/-]{4,300}", re.ASCII)
_EXTENSION = re.compile(r"[\w.@+-]*\w\.[A-Za-z]\w{0,7}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"\d{5,18}|\d+\.\d{4,15}")
_ROUND = re.compile(r"(\d)\1*|\d+000|0*1?23456?7?8?9?0?|\d*65536|32768|16384|8192\d*|\d+\.(\d)\2*")
_ID = re.compile(r"(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6,16}|#?[A-Za-z][A-Za-z0-9_-]*[_-]\d{4,16}|#[A-Z]\d{5,12}")
_STANDARD = re.compile(
    r"(?:SHA|MD|UTF|BASE|ISO|RFC|U?INT|FLOAT|HTTP|CP|LATIN|X86|ARM|AES|RSA|PEP|CVE|FIXME|TODO)", re.I
)
"""What capitals with digits are names of that everybody knows."""
_CODE = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_COMPOUND = re.compile(r"[a-z0-9]_[a-zA-Z0-9]|[a-z][A-Z]|[A-Z]_[A-Z0-9]")
_DIFF_SIDE = re.compile(r"[ab]/(?=[^/]+/)")
_SYSTEM = re.compile(
    r"(?:~|/(?:home|Users)/[^/]+|/root)/\.|/(?:etc|usr|opt|var|proc|sys|dev|bin|System|Library|Applications)(?:/|\Z)"
)
_IMPORT = re.compile(r"(?:from|import|use|using|#include|require)\b")
_WORD = re.compile(r"\w+")
_NUMBERED = re.compile(r"\s{0,8}\d{1,6}(?:→|\t|[:|] ?)")
"""A line's number before it, as viewers of files print it."""
_DEFINED = re.compile(
    r"\b(?:def|class|function\*?|func|fn|interface|type|struct|enum|trait)\s+(?:\([^()\n]{0,80}\)\s*)?"
    r"([A-Za-z_$][\w$]{7,80})\b(?!\.)"
    r"|^(?:\s{0,8}\d{1,6}(?:→|\t|[:|-] ?))?(?:export +)?(?:(?:const|let|var|val|static) +([A-Za-z_$][\w$]{7,80})"
    r"|([A-Z_]{2,}[A-Z0-9_]{5,80})(?: ?: ?[\w\[\], .|]{1,60})? ?=)(?!=)"
    r"|::([A-Za-z_]\w{7,120})",
    re.MULTILINE | re.ASCII,
)
"""Functions, classes and types wherever they stand, variables and constants at the margin only (others are local, and
as often as not called what anyone would call them), and names of tests."""


def said_text(message: Message) -> str:
    """Reasoning, text and the strings in the arguments of calls, unescaped, one below the other."""
    if not message.tool_calls and not message.reasoning:
        return message.text
    return "\n".join(part for part in (message.reasoning, *_acted_parts(message)) if part)


def said_parts(message: Message) -> tuple[str, ...]:
    """Reasoning, text, and each call with its name and the strings of its arguments, one part for each."""
    calls = ("\n".join((call.name, *_strings(call.parsed()))) for call in message.tool_calls)
    return tuple(part for part in (message.reasoning, message.text, *calls) if part.strip())


def acted_text(message: Message) -> str:
    """Text and call arguments of a message, without reasoning."""
    return "\n".join(part for part in _acted_parts(message) if part) if message.tool_calls else message.text


def _acted_parts(message: Message) -> Iterator[str]:
    yield message.text
    for call in message.tool_calls:
        yield from _strings(call.parsed())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


_NO_NAMES = frozenset[str]()


class Names(dict[str, frozenset[str]]):
    """Line of a text → the names of things in it; each line and each word is looked at once.

    Names are files (relative to the project), URLs, hashes and ids, long numbers, and code names, which have at least
    two parts (``read_rows``, ``RowReader``) and eight characters. Files without a directory (``rows.py``) are names
    too. Paths of the machine (``/usr/bin``) are left out.
    """

    def __init__(self, roots: Roots) -> None:
        self._in_word = cache(lambda word: tuple(_names(word, roots)))

    def __missing__(self, line: str) -> frozenset[str]:
        found = self[line] = frozenset(chain.from_iterable(map(self._in_word, _TOKEN.findall(line)))) or _NO_NAMES
        return found

    def of(self, text: str) -> set[str]:
        """The names in a text."""
        return set[str]().union(*map(self.__getitem__, text.split("\n")))


def _names(token: str, roots: Roots) -> Iterator[str]:
    word = token.rstrip(".:-+~@").lstrip(":-+@")
    if word.startswith(("http://", "https://")):
        if len(word) > len("https://a.bc/de") and word.rstrip("/").count("/") > 2:
            yield word.rstrip("/.,;:")
    elif "/" in word:
        if path := path_name(word, roots):
            yield path
    elif _EXTENSION.fullmatch(word):
        yield word
        yield from (part for part in word.split(".") if is_code_name(part))
    elif _HEX.fullmatch(word):
        if (any(c.isdigit() for c in word) and not word.isdigit()) or is_long_number(word):
            yield word
    elif is_long_number(word) or is_id(word):
        yield word
    else:
        yield from (part for part in _CODE.findall(word) if is_code_name(part))


def is_long_number(word: str) -> bool:
    """Whether digits are many and uneven enough to mean one thing: five, or four decimals; not round, not a pattern."""
    return bool(_NUMBER.fullmatch(word)) and not _ROUND.fullmatch(word)


def is_id(word: str) -> bool:
    """Whether a word is made up to name one thing: capitals with digits in them (``EHG7P3``), or ``order_4821``."""
    return bool(_ID.fullmatch(word)) and not _STANDARD.match(word)


def is_code_name(word: str) -> bool:
    """Whether a word is made of parts as names in code are, and has the length."""
    if len(word) < MIN_NAME or word.startswith("__"):
        return False
    return bool(_COMPOUND.search(word) and _CODE.fullmatch(word))


def path_name(word: str, roots: Roots) -> str:
    """The name of a file in the project, or outside of it but not of the machine; empty for what is no path.

    A path has a slash, and an extension or a second slash: ``and/or`` is none.
    """
    word = _DIFF_SIDE.sub("", word, count=1) if word[1:2] == "/" else word.removeprefix("./")
    if word.startswith("../"):
        return ""  # relative to a file, not to the project
    if _SYSTEM.match(word) or "//" in word:
        return ""
    name, scratch = roots.name(word)
    name = name.rstrip("/")
    if scratch and name.count("/") < 2:
        return ""
    parts = name.strip("/").split("/")
    last = parts[-1]
    if not (_EXTENSION.fullmatch(last) or len(parts) > 2):
        return ""
    if any(part.isdigit() for part in parts) or not any(c.isalpha() for c in last):
        return ""
    return name if len(name) >= MIN_PATH else ""


def name_forms(name: str) -> tuple[str, ...]:
    """The name itself, and the shorter ways to say a path: its ends, each beginning behind a slash."""
    if "/" not in name or name.startswith("http"):
        return (name,)
    parts = name.strip("/").split("/")
    ends = ("/".join(parts[i:]) for i in range(1 if not name.startswith("/") else 0, len(parts)))
    return (name, *(end for end in ends if end != name and ("/" in end or _EXTENSION.fullmatch(end))))


def defined_names(text: str) -> set[str]:
    """Code names that a text shows the definition of, and names of tests."""
    return {name for match in _DEFINED.findall(text) for name in match if name and is_code_name(name)}


def long_lines(text: str) -> set[str]:
    """Lines that are long enough to be recognised elsewhere, without outer space and line numbers."""
    found = set()
    for raw in text.splitlines():
        if len(raw) >= MIN_LINE:
            numbered = _NUMBERED.match(raw)
            found.add((raw[numbered.end() :] if numbered else raw).strip())
    return {line for line in found if len(line) >= MIN_LINE}


def telling_lines(text: str) -> set[str]:
    """The long lines of a text that are also varied enough."""
    return set(filter(is_telling, long_lines(text)))


def is_telling(line: str) -> bool:
    """Whether a line has enough different words for a quotation, and is no import of a well-known module."""
    if _IMPORT.match(line) and not _COMPOUND.search(line):
        return False
    return line.count(" ") >= 2 and len(set(_WORD.findall(line))) >= MIN_WORDS
