"""Finding out the encoding and the delimiter of an input."""

from __future__ import annotations

import codecs
from collections import Counter
from dataclasses import dataclass

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

DELIMITERS = (",", ";", "\t", "|")
NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " "}
SAMPLE_LINES = 20


@dataclass(frozen=True)
class Dialect:
    """How the fields of a row are told apart."""

    delimiter: str = ","
    quote: str = '"'

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1:
            raise ValueError(f"the delimiter must be one character, not {self.delimiter!r}")
        if len(self.quote) != 1:
            raise ValueError(f"the quote must be one character, not {self.quote!r}")
        if self.delimiter == self.quote:
            raise ValueError("delimiter and quote are the same")


def named_character(text: str) -> str:
    """`tab` and friends, or the character itself."""
    return NAMES.get(text.lower(), text.encode().decode("unicode_escape") if "\\" in text else text)


def detect_encoding(raw: bytes) -> str:
    """The encoding of `raw`.

    A byte order mark decides. Otherwise it is UTF-8 if it can be, and Latin-1,
    which every sequence of bytes is, if not.
    """
    for bom, name in BOMS:
        if raw.startswith(bom):
            return name
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _unquoted_counts(line: str, quote: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    inside = False
    for character in line:
        if character == quote:
            inside = not inside
        elif not inside and character in DELIMITERS:
            counts[character] += 1
    return counts


def detect_delimiter(text: str, quote: str = '"') -> str:
    """The delimiter that splits the first lines into equally many fields.

    Candidates that occur on every sampled line equally often win over those
    that occur often; if nothing occurs at all it is a comma.
    """
    lines = [line for line in text.split("\n")[:SAMPLE_LINES] if line.strip()]
    if not lines:
        return ","
    per_line = [_unquoted_counts(line, quote) for line in lines]
    best, best_score = ",", (0, 0)
    for candidate in DELIMITERS:
        counts = [counter[candidate] for counter in per_line]
        if not any(counts):
            continue
        most_common, times = Counter(counts).most_common(1)[0]
        if most_common == 0:
            continue
        score = (times, most_common)
        if score > best_score:
            best, best_score = candidate, score
    return best


def detect_dialect(text: str, delimiter: str | None = None, quote: str | None = None) -> Dialect:
    quote = quote or '"'
    return Dialect(delimiter or detect_delimiter(text, quote), quote)
