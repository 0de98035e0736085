"""Markers: templates and what they find, and what every strategy declares."""

from __future__ import annotations

import pytest

from compaction import load_registry, strategy
from compaction.markers import (
    REMOVED,
    SHORTENED,
    Heading,
    Marker,
    headings,
    literal,
    pattern,
    removed,
    replaced,
    shortened,
    wrapper,
)
from compaction.model import Section
from compaction.registry import REGISTRY

DECLARED = [(id, found) for id, strategy in load_registry().items() for found in strategy.markers]
MARKERS = [(id, found) for id, found in DECLARED if isinstance(found, Marker)]


@pytest.mark.parametrize(("id", "marker"), MARKERS)
def test_every_declared_template_can_be_looked_for(id: str, marker: Marker) -> None:
    assert literal(marker).strip()
    assert pattern(marker).groups == pattern(marker).pattern.count("(?P<")


@pytest.mark.parametrize(("id", "marker"), MARKERS)
def test_what_a_marker_is_shown_as_is_no_marker_of_anybody(id: str, marker: Marker) -> None:
    if isinstance(marker.shown, str) and not marker.shown.startswith("- {"):
        once = marker.shown
        for _, other in MARKERS:
            once = replaced(other, once)
        assert once == marker.shown


def test_a_heading_has_one_kind_whoever_prescribes_it() -> None:
    kinds: dict[str, set[str]] = {}
    for _, found in DECLARED:
        if isinstance(found, Heading):
            kinds.setdefault(found.title.lower(), set()).add(found.kind)
    assert {title: found for title, found in kinds.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("template", "text", "left"),
    [
        ("[cleared]", "a [cleared] b", "a X b"),
        ("({n} lines omitted)", "(1,234 lines omitted) (x lines omitted)", "X (x lines omitted)"),
        ("[cut: {file}, {more}]", "[cut: a.py, rest] [cut: b\n.py, rest]", "X [cut: b\n.py, rest]"),
        ("<a>\n{lines}\n</a>", "<a>\none\ntwo\n</a> three", "X three"),
        ("note: {rest}", "say\nnote: this, and that\nmore", "say\nX\nmore"),
        ("{{n}}", "{n} 1", "X 1"),
        ("<{tag}>x</{tag}>", "<b>x</b> <b>x</i>", "X <b>x</i>"),
    ],
)
def test_a_template_is_a_text_with_holes(template: str, text: str, left: str) -> None:
    assert replaced(Marker(template, "X"), text) == left


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ("whole", "[a]\n[a] b [a]"),
        ("start", "-\n[a] b [a]"),
        ("end", "[a]\n[a] b -"),
        ("line", "-\n[a] b [a]"),
        ("anywhere", "-\n- b -"),
    ],
)
def test_a_marker_is_found_where_it_stands(place: str, left: str) -> None:
    marker = Marker("[a]", "-", place)  # type: ignore[arg-type]
    assert replaced(marker, "[a]\n[a] b [a]") == left


def test_what_stood_in_the_holes_can_be_shown() -> None:
    assert replaced(Marker("[gone: {file}, {n} lines]", "[x] {file}"), "[gone: a.py, 3 lines]") == "[x] a.py"
    assert replaced(Marker("[ran {what}]", lambda holes: holes["what"].upper()), "[ran ls]") == "LS"


@pytest.mark.parametrize("template", ["{lines}", " {n}\n"])
def test_a_template_of_holes_alone_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="would stand anywhere"):
        pattern(Marker(template))


def test_headings_have_the_first_kind_of_their_section_or_the_one_that_is_given() -> None:
    sections = (
        Section("Files", ("files", "errors"), ""),
        Section("Rules & wishes", (), ""),
        Section("Rest", (), ""),
    )
    assert headings(sections, Rules_wishes="intent") == (
        Heading("Files", "files"),
        Heading("Rules & wishes", "intent"),
        Heading("Rest", "details"),
    )


def test_the_three_usual_forms() -> None:
    assert removed("[x]", "y") == (Marker("[x]", REMOVED), Marker("y", REMOVED))
    assert shortened("…") == (Marker("…", SHORTENED),)
    assert wrapper("<s>", "Summary\n\n") == (Marker("<s>", ""), Marker("Summary\n\n", "\n"))


def test_a_strategy_of_somebody_else_declares_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "theirs", None)  # type: ignore[arg-type]  # so that it is taken out again
    del REGISTRY["theirs"]

    @strategy("theirs", markers=[*removed("{{gone}}")])
    def theirs(history):  # type: ignore[no-untyped-def]
        """Nothing."""
        return ()

    assert load_registry()["theirs"].markers == (Marker("{{gone}}", REMOVED),)
