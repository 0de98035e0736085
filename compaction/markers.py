"""Texts that strategies write around the content that they keep, declared beside each strategy as data.

A strategy that marks its text gives itself away: ``[cleared]`` is written by one method and ``<MASKED>`` by another. A
judge must not be able to tell whose context it reads (``judge.blinding``), so every strategy says with
``@strategy(markers=…)`` which fixed texts it writes, and in what common form each is shown. Everything that is declared
is looked for in every context, whatever method left it. A strategy of somebody else's declares its own in the same way.

A template is the text itself with holes: ``{n}`` is a number, ``{lines}`` any text, any other name a text within one
line. Braces are doubled, as in a format string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Formatter
from typing import Literal

from compaction.model import Section, SectionKind

REMOVED = "[removed]"
"""Something was here and is gone."""
SHORTENED = "[shortened]"
"""A part of this text is gone."""
CALL = "call "
"""What a call of a tool begins with; its name and arguments follow."""
RESULT = "result: "
"""What the result of a call begins with; the tool's name and the text follow."""

HELD: SectionKind = "details"
"""What a section is taken to hold that names no kind."""

Place = Literal["whole", "start", "end", "line", "anywhere"]
Shown = str | Callable[[Mapping[str, str]], str]

_HOLES = {"n": r"\d[\d,.]*", "lines": r".*?"}


class Declared:
    """A declaration of a strategy: a marker or a heading."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Marker(Declared):
    """A text that a strategy writes, and its common form for judges."""

    template: str
    shown: Shown = ""
    """May name the template's holes; or a function of what stood in them."""
    place: Place = "anywhere"
    """Where in a message it stands: it is the ``whole`` text, its ``start``, its ``end``, or whole lines of it."""
    made: bool = False
    """Looked for only in messages that a strategy made, because elsewhere people write the same."""


@dataclass(frozen=True, slots=True)
class Heading(Declared):
    """The title of a section that a strategy's prompt prescribes, and what the section holds."""

    title: str
    kind: SectionKind


def headings(sections: Sequence[Section], **kinds: SectionKind) -> tuple[Heading, ...]:
    """The headings of a summary's sections, each with the first kind that its section names.

    ``kinds`` says what those hold that name none, by title (other characters than letters as ``_``).
    """
    return tuple(
        Heading(section.title, kinds.get(re.sub(r"\W+", "_", section.title)) or (*section.kinds, HELD)[0])
        for section in sections
    )


def removed(*templates: str) -> tuple[Marker, ...]:
    """Placeholders: what stood in their place is gone."""
    return tuple(Marker(template, REMOVED) for template in templates)


def shortened(*templates: str) -> tuple[Marker, ...]:
    """Make the markers of texts whose middle or end is gone."""
    return tuple(Marker(template, SHORTENED) for template in templates)


def wrapper(*templates: str) -> tuple[Marker, ...]:
    """Make the markers of text around a summary that says nothing of the session."""
    return tuple(Marker(template, "\n" if "\n" in template else "") for template in templates)


@cache
def pattern(marker: Marker) -> re.Pattern[str]:
    """The expression that finds a marker, with a named group for each hole.

    Raises ValueError for a template that is no format string, or that has no text of its own.
    """
    parts = list(Formatter().parse(marker.template))
    if not any(text.strip() for text, *_ in parts):
        raise ValueError(f"marker {marker.template!r} has no text but its holes, and would stand anywhere")
    found: list[str] = []
    for number, (text, name, *_) in enumerate(parts):
        found.append(re.escape(text))
        if name is not None:
            inside = _HOLES.get(name, r"[^\n]*?")
            if name not in _HOLES and number == len(parts) - 1:
                inside = r"[^\n]*"
            known = f"(?P<{name}>" in "".join(found)
            found.append(f"(?P={name})" if known else f"(?P<{name}>{inside})")
    text = "".join(found)
    around = {"whole": (r"\A\s*", r"\s*\Z"), "start": (r"\A\s*", ""), "end": ("", r"\s*\Z"), "line": ("^", "$")}
    before, after = around.get(marker.place, ("", ""))
    return re.compile(before + text + after, re.DOTALL | re.MULTILINE)


def literal(marker: Marker) -> str:
    """The longest text of a template without a hole: where this is not, the marker is not."""
    return max((text for text, *_ in Formatter().parse(marker.template)), key=len)


def replaced(marker: Marker, text: str) -> str:
    """A text with the common form in the place of a marker."""

    def form(match: re.Match[str]) -> str:
        holes = match.groupdict()
        return marker.shown(holes) if callable(marker.shown) else marker.shown.format(**holes)

    return pattern(marker).sub(form, text)
