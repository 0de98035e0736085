"""The tokens of a text, normalised so that two wordings of the same thing are equal.

A token is a number (``502MB`` is 502), a name (identifier, path, hash, version), a part of a name, or a word by its
stem. English stop words are none. Words of other languages are taken as they stand; where a script has no spaces, in
pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import Stemmer

Kind = Literal["number", "name", "part", "word"]

MAX_SURFACES = 20
"""Words of a line that are taken together; what is longer (minified JSON) is cut."""
LONGEST = 300
"""Characters of a word of which pieces are taken."""

_END = re.compile(r"[.!?;]\s|\n|[。！？；]")
_SURFACE = re.compile(
    _END.pattern + r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])|[$@#~+-]{0,3}\w+(?:[./\\:=?@$#~+-]{1,4}\w+)*"
)
_NUMBER = re.compile(r"(\d[\d,]*(?:\.\d+)?)(?:mb|gb|kb|ms|s|k|m|usd|st|nd|rd|th)?")
_DATE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(\d\d)")
_NAME = re.compile(r"[_/\\$@]|\w[.:]\w|[a-z][A-Z]|\d[a-z]|[a-z]\d|\A[A-Z0-9]{3,}\Z")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LABEL, _JOINT, _APART = re.compile("[:=?]+"), re.compile(r"[/.\\_]"), re.compile(r"[^\w']+")
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP = frozenset(
    """a about all already also an and any are as at be because been being but by can could did do does down each every
    for from had has have he here how i if in into is it its itself just me more most my neither never no nobody none
    nor not nothing of on one only or our out own same should since so some still such than that the their then there
    they this to too up us very was we were what when where which while who whose will with without would yet you your
    """.split()
)
_COUNTS = {
    word: str(n) for n, word in enumerate("two three four five six seven eight nine ten eleven twelve".split(), 2)
}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = re.compile(
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|"
    "dec(?:ember)?"
)


class Token(NamedTuple):
    """One token of a text."""

    kind: Kind
    text: str


def tokens(text: str) -> list[Token]:
    """The tokens of a text, each once, in order; one that comes as several kinds by the first."""
    found: dict[str, Token] = {}
    for line in lines(text):
        for surface in line:
            for token in tokens_of(surface):
                found.setdefault(token.text, token)
    return list(found.values())


def shared_words(wanted: str, text: str) -> float:
    """Share of the tokens of one text that another one has, 0-1; 0 where it has none."""
    asked, said = ({token.text for token in tokens(one)} for one in (wanted, text))
    return len(asked & said) / len(asked) if asked else 0.0


def lines(text: str) -> Iterator[list[str]]:
    """The words of each line or sentence as they are written, at most ``MAX_SURFACES``. Takes linear time."""
    surfaces = _SURFACE.findall(text.replace("’", "'"))
    if 0 < len(surfaces) <= MAX_SURFACES and not _END.search(text):
        yield surfaces
        return
    line: list[str] = []
    for surface in surfaces:
        is_end = surface[-1].isspace() or surface in "。！？；"
        if not is_end:
            line.append(surface)
        if line and (is_end or len(line) == MAX_SURFACES):
            yield line
            line = []
    if line:
        yield line


@lru_cache(maxsize=65_536)
def tokens_of(surface: str) -> tuple[Token, ...]:
    """The tokens of one word as it is written: none for a stop word, several for a path."""
    plain = surface.strip("-+~.:=#")
    low = plain.lower()
    if not low or low in _STOP:
        return ()
    if number := _NUMBER.fullmatch(low):
        return (_number(number[1]),)
    if low in _COUNTS:
        return (Token("number", _COUNTS[low]),)
    if date := _DATE.fullmatch(low):
        year, month, day = date.groups()
        return Token("name", low), _number(year), Token("word", f"~{_MONTHS[int(month) - 1]}"), _number(day)
    if _NAME.search(plain) and not _NO_SPACES.search(plain):
        return tuple(dict.fromkeys(_of_name(plain[:LONGEST], low)))
    return tuple(token for part in _APART.split(low) for token in _words(part.split("'")[0]))


def _number(text: str) -> Token:
    whole, _, decimals = text.replace(",", "").partition(".")
    decimals = decimals.rstrip("0")
    return Token("number", (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else ""))


def _words(word: str) -> Iterator[Token]:
    if len(word) < 2 or word in _STOP:
        return
    if word.isdigit():
        yield _number(word)
    elif _MONTH.fullmatch(word):
        yield Token("word", f"~{word[:3]}")
    elif _NO_SPACES.search(word):
        yield from (Token("word", word[i : i + 2]) for i in range(len(word) - 1))
    else:
        yield Token("word", stem(word))


def _of_name(plain: str, low: str) -> Iterator[Token]:
    """The name, the last part of a path, the names between ``:``, ``=`` and ``?``, and the words that it is made of."""
    yield Token("name", low)
    pieces = _LABEL.split(low)
    for piece in (low, *pieces) if len(pieces) > 1 else (low,):
        if piece != low and len(piece) > 3 and _JOINT.search(piece):
            yield Token("name", piece)
        last = piece.replace("\\", "/").rpartition("/")[2]
        if last != piece and last:
            yield Token("name", last)
    if low[0] == "@" and "/" in low:
        yield Token("name", low[1:])
    for part in _PIECE.findall(plain):
        word = part.lower()
        if word.isdigit():
            yield Token("part", _number(word).text)
        elif len(word) > 2 and word not in _STOP:
            yield Token("part", stem(word))


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """The stem of an English word in lower case (Porter's second algorithm); the word itself otherwise."""
    if not word.isascii():
        return word
    return str(Stemmer.Stemmer("english", 0).stemWord(word))  # one of its own: threads must not share it
