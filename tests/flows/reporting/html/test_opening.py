"""What the page opens with, in a browser: the chart of quality and price, and choices that stand in the address."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from flows.reporting.html import ReportFile, library
from flows.store.store import Store
from tests.flows.reporting.html.report_browser import CHROMIUM, DRIVER, WHY_NOT, Browser, cells, rows

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=WHY_NOT),
    pytest.mark.skipif(not library.is_installed(), reason=f"needs {library.INSTALL}"),
]
CROWD = """
    const board = data.board.filter((row) => row.is_control);
    for (let n = 0; n < 60; n++) {
        board.push({ method: `method_${n % 30}(size=${n})`, overall: 3 + (n * 7 % 60) / 40, cost: 4000 + 2700 * n,
            on_front: n % 8 === 0, is_control: false });
    }
    data.board.splice(0, Infinity, ...board);
    methods.splice(0, Infinity, ...board.map((row) => row.method));
    drawFront();
"""
"""A store of sixty methods of 4,000 to 163,300 tokens, in place of the page's own."""
BOXES = """
    return [...document.querySelectorAll(arguments[0])].map((one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        return { text: one.textContent, left, right, top, bottom };
    })
"""


def overlaps(one: dict[str, Any], other: dict[str, Any], by: float = 1) -> bool:
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    return bool(across > by and min(one["bottom"], other["bottom"]) - max(one["top"], other["top"]) > by)


def test_the_chart_has_every_method_and_the_controls_as_lines(page: Browser, store: Store) -> None:
    fronts = rows(store, "FROM fronts WHERE method NOT IN ('none', 'empty')")
    label = "return [...document.querySelectorAll(arguments[0])].map((dot) => dot.ariaLabel.split(', ')[0])"
    assert sorted(page.run(label, "#front .dot")) == sorted(row["method"] for row in fronts)
    assert sorted(page.run(label, "#front .dot.first")) == sorted(row["method"] for row in fronts if row["on_front"])
    named = page.texts("#front text")
    assert any("none 5.00" in text for text in named)
    assert any("empty " in text for text in named)
    page.run("document.querySelector('#front .dot').dispatchEvent(new MouseEvent('click'))")
    page.until("!drill.hidden && drill.querySelector('h1')")


@pytest.mark.parametrize("width", [390, 1400])
def test_names_cover_neither_each_other_nor_a_dot_and_the_axis_fits(page: Browser, width: int) -> None:
    page.size(width)
    page.run(CROWD)
    names, dots = page.run(BOXES, "#front .name"), page.run(BOXES, "#front .dot circle:last-child")
    assert len(dots) == 60
    assert len(names) > (5 if width == 390 else 15)
    assert [(a["text"], b["text"]) for a, b in combinations(names, 2) if overlaps(a, b, 2)] == []
    assert [a["text"] for a in names if any(overlaps(a, dot, 2) for dot in dots)] == []
    assert all(box["left"] >= 0 and box["right"] <= width for box in [*names, *dots, *page.run(BOXES, "#front text")])
    plot = page.run("return document.getElementById('front').clientWidth")
    reach = max(dot["right"] for dot in dots) - min(dot["left"] for dot in dots)
    assert reach > 0.75 * plot, "the axis is longer than what is drawn"
    missing = 60 + 2 - len(names)
    assert page.texts("#front-said") == [f"{missing} names found no room; point at a dot."]


def test_what_is_chosen_stands_in_the_address_and_is_read_back(page: Browser, written: ReportFile) -> None:
    page.choose("filter", "a")
    page.choose("reference", "head_tail")
    page.choose("dimension", "accuracy")
    page.run("document.querySelector('#t-board [data-key=overall]').click()")
    page.run("document.querySelector('#t-board [data-key=overall]').click()")
    page.run("document.querySelector('#t-pairs [data-key=difference]').click()")
    address = page.run("return location.hash")
    assert address.startswith("#?filter=a&reference=head_tail&dimension=accuracy&sort=t-board.overall.ascending")
    shown = {table: cells(page, table) for table in ("t-board", "t-pairs")}
    assert 1 < len(shown["t-board"]) < 6
    page.open(written.path, address)
    assert {table: cells(page, table) for table in shown} == shown
    page.go("#leaderboard")
    page.until("location.hash.startsWith('#leaderboard?filter=a&')")
    page.go("#/head_tail")
    page.go("#answers")
    page.until("location.hash.startsWith('#answers?filter=a&')")
    page.choose("filter", "")
    assert "filter" not in page.run("return location.hash")
    page.open(written.path, "#?filter=head&reference=nobody&sort=t-none.x.y&sort=1&split=%3Cb%3E")
    assert [row[1].lstrip("◆ ") for row in cells(page, "t-board")] == ["head_tail"]
    assert page.logged() == []


def test_the_table_fits_a_desk_without_scrolling(page: Browser) -> None:
    page.size(1400)
    widths = "const box = document.querySelector('#leaderboard .scroll'); return [box.scrollWidth, box.clientWidth]"
    needed, there = page.run(widths)
    assert needed <= there
