"""The page in a browser: its figures are the database's, it can be used, it loads nothing, and nothing in it runs."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from flows.reporting.html import ReportFile, library, write_report
from flows.reporting.html.formats import format_share
from flows.reporting.html.visible import MOST_CHARS_READ, show_invisible
from flows.reporting.leaderboard_rows import DIMENSIONS
from flows.reporting.text_tables import two_decimals
from flows.store.store import Store
from tests.flows.reporting.html.report_browser import CHROMIUM, DRIVER, WHY_NOT, Browser, cells, rows
from tests.flows.reporting.html.report_store import EVIL, HOSTILE, LONG, ORDINARY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=WHY_NOT),
    pytest.mark.skipif(not library.is_installed(), reason=f"needs {library.INSTALL}"),
]
WORDS = {"readable": "readable", "partly": "partly readable", "lost": "lost"}
Rows = list[dict[str, Any]]


def test_the_leaderboard_has_the_figures_of_the_database(page: Browser, store: Store) -> None:
    board = rows(store, "SELECT leaderboard.* FROM leaderboard JOIN fronts USING (judge_id, method_id) ORDER BY line")
    kept = {row["method"]: row["retention"] for row in rows(store, "FROM retention WHERE dimension = 'overall'")}
    shown = cells(page, "t-board")
    ranks = {row["method"]: f"{row['rank_low']}–{row['rank_high']}" for row in rows(store, "FROM rank_intervals")}
    ends = {row["method"]: row for row in rows(store, "FROM leaderboard_long WHERE dimension = 'overall'")}
    assert [row[1].lstrip("◆ ").split()[0] for row in shown] == [row["method"] for row in board]
    methods = [row for row in board if row["method"] not in ("none", "empty")]
    means = {name: {two_decimals(row[name]) for row in methods if row[name] is not None} for name in DIMENSIONS}
    varied = [name for name, found in means.items() if len(found) > 1]
    assert len(page.texts("#t-board th.dim")) == len(varied)
    for row, found in zip(board, shown, strict=True):
        end = ends[row["method"]]
        half = "–" if end["ci_low"] is None else f"±{two_decimals((end['ci_high'] - end['ci_low']) / 2)}"
        assert found[0].split()[1:] == [one for name, one in ranks.items() if name == row["method"]]
        assert found[2:5] == [two_decimals(row["overall"]), half, format_share(kept.get(row["method"]))]
        assert found[6 : 6 + len(varied)] == [two_decimals(row[name]) for name in varied]
        assert found[6 + len(varied)] == format_share(row["tokens_removed"])


def test_charts_draw_what_the_database_has(page: Browser, store: Store) -> None:
    page.draw_all()
    heat = page.run("return drawn.get('heat').view.data('dimensions')")
    columns = {
        "overall",
        *page.run("return [...document.querySelectorAll('#t-board .dim button')].map(b => b.dataset.key)"),
    }
    scored = rows(store, "FROM leaderboard_long WHERE mean IS NOT NULL")
    assert len(heat) == len([row for row in scored if row["dimension"] in columns])
    texts = page.run("return [...document.querySelectorAll('#chart-heat svg text')].map(t => t.textContent)")
    shown = [float(text) for text in texts if re.fullmatch(r"\d\.\d\d", text)]
    assert all(min(abs(row["mean"] - one) for one in shown) <= 0.0051 for row in heat)
    ids = page.run("return [...document.querySelectorAll('[data-chart]')].map(place => place.dataset.chart)")
    assert "sweeps" not in ids, "no parameter has three values"
    empty = [
        id
        for id in ids
        if not page.run("return document.querySelectorAll(`#chart-${arguments[0]} svg path`).length", id)
    ]
    assert "change" in empty, "too few sessions have a second compaction"
    assert set(empty) <= {"change", "facts"}
    assert page.texts("#chart-change") == ["Nothing to draw here."]


def test_paired_differences_are_turned_towards_the_chosen_method(page: Browser, store: Store) -> None:
    page.choose("reference", "mask_sweagent")
    page.choose("dimension", "accuracy")
    pairs = rows(
        store, "FROM paired_differences WHERE dimension = 'accuracy' AND 'mask_sweagent' IN (method_a, method_b)"
    )
    wanted = {}
    for row in pairs:
        is_second = row["method_a"] != "mask_sweagent"
        name = row["method_a"] if is_second else row["method_b"]
        wanted[name] = row["difference"] if is_second else -row["difference"]
    shown = {row[0]: float(row[1].replace("\N{MINUS SIGN}", "-")) for row in cells(page, "t-pairs")}
    assert shown == pytest.approx(wanted, abs=0.005001)  # of a tie the browser rounds up, Python to the even digit


def test_a_table_is_sorted_by_its_heads_with_keys_too(page: Browser) -> None:
    def column(place: int) -> list[str]:
        return [row[place] for row in cells(page, "t-board")]

    press = """
        const button = document.querySelectorAll('#t-board thead button')[arguments[0]];
        button.focus();
        button.click();
        return button.parentElement.ariaSort;
    """
    assert page.run(press, 7) == "descending"
    values = [float(value) for value in column(7)]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) > 2
    assert page.run(press, 7) == "ascending"
    assert [float(value) for value in column(7)] == values[::-1] or sorted(values) == [float(v) for v in column(7)]
    assert page.run(press, 1) == "ascending"
    names = [name.lstrip("◆ ") for name in column(1)]
    assert names == sorted(names, key=str.lower)


def test_the_filter_leaves_the_methods_that_it_names_in_tables_and_charts(page: Browser) -> None:
    page.draw_all()
    page.choose("filter", "MASK")
    assert [row[1] for row in cells(page, "t-board")] == ["◆ mask_sweagent"]
    assert page.texts("#filter-said") == ["1 of 6 methods shown"]
    page.until("drawn.get('heat').view.data('dimensions').every((row) => row.method === 'mask_sweagent')")
    assert len(page.texts("#front .dot")) == 1
    page.choose("filter", "")
    assert len(cells(page, "t-board")) == 6


def test_a_table_can_be_copied_as_csv_with_full_precision(page: Browser, store: Store) -> None:
    found = list(csv.DictReader(io.StringIO(page.run("return csvOf(document.getElementById('t-board'))"))))
    board = rows(store, "SELECT leaderboard.* FROM leaderboard JOIN fronts USING (judge_id, method_id) ORDER BY line")
    assert [row["Method"] for row in found] == [row["method"] for row in board]
    assert [float(row["Overall"]) for row in found] == pytest.approx([row["overall"] for row in board], abs=1e-8)


def test_a_session_over_time_is_on_the_page(page: Browser, store: Store) -> None:
    page.go(f"#timeline/{ORDINARY}/head_tail")
    [found] = rows(store, f"SELECT count(*) AS n FROM points WHERE session_id = '{ORDINARY}'")
    assert page.run("return document.querySelectorAll('#timeline .point').length") == found["n"]


def test_the_first_link_leads_to_the_answer_that_lost_most(page: Browser, store: Store) -> None:
    [link] = page.run("return [...document.querySelectorAll('a.button')].map(a => a.getAttribute('href'))")
    page.go(link)
    contenders = rows(store, "FROM fronts WHERE method NOT IN ('none', 'empty') ORDER BY line")
    best, second = contenders[0]["method"], contenders[1]["method"]
    query = f"""
        SELECT a.score AS best, b.score AS second, question, ground_truth, answers.text
        FROM int_answer_scores AS a JOIN leaderboard AS la ON a.method_id = la.method_id
        JOIN int_answer_scores AS b USING (probe_id, dimension) JOIN leaderboard AS lb ON b.method_id = lb.method_id
        JOIN probes USING (probe_id) JOIN answers ON answers.answer_id = b.answer_id
        WHERE dimension = 'overall' AND la.method = '{best}' AND lb.method = '{second}'
        ORDER BY a.score - b.score DESC, probe_id LIMIT 1
    """
    [wanted] = rows(store, query)
    assert page.texts(".card.answer h3") == [
        f"Answer of {second} · {two_decimals(wanted['second'])}",
        f"Answer of {best} · {two_decimals(wanted['best'])}",
    ]
    assert show_invisible(wanted["text"]).strip() in page.texts(".card.answer .said")[0]
    assert page.texts(".card.question .said")[0].split()[:4] == wanted["question"].split()[:4]
    assert page.run("return document.activeElement.id") == "h-drill"
    assert page.run("return report.hidden")


def test_every_answer_and_every_reason_of_a_question_is_there(page: Browser, store: Store) -> None:
    [probe] = rows(
        store,
        f"""
        SELECT probe_id, session_id, cycle, probe_type FROM stg_answers WHERE session_id = '{ORDINARY}'
        ORDER BY cycle, probe_type, probe_id LIMIT 1
    """,
    )
    page.go(f"#/head_tail/{probe['session_id']}/{probe['cycle']}/{probe['probe_type']}")
    answers = rows(
        store,
        f"""
        SELECT stg_methods.method, text, score
        FROM stg_answers JOIN stg_methods USING (method_id) JOIN answers USING (answer_id)
        LEFT JOIN (FROM int_answer_scores WHERE dimension = 'overall') AS s USING (answer_id)
        WHERE stg_answers.probe_id = '{probe["probe_id"]}'
    """,
    )
    shown = {row[0]: row[1:] for row in cells(page, "all-answers")}
    assert {name: found[0] for name, found in shown.items()} == {
        row["method"]: two_decimals(row["score"]) for row in answers
    }
    for row in answers:
        assert row["text"].split() == shown[row["method"]][1].split()
    states = rows(
        store,
        f"""
        SELECT method, state, support FROM statement_states JOIN compactions USING (compaction_id)
        JOIN stg_methods USING (method_id)
        WHERE probe_id = '{probe["probe_id"]}' AND method = 'head_tail' ORDER BY position
    """,
    )
    assert states
    assert [row[1].split() for row in cells(page, "statements")] == [
        [*WORDS[row["state"]].split(), two_decimals(row["support"])] for row in states
    ]
    reasons = rows(
        store,
        f"""
        SELECT criterion, score, coalesce(reasoning, unscored_reason) AS why FROM scores
        JOIN stg_answers USING (answer_id) JOIN stg_methods USING (method_id)
        WHERE probe_id = '{probe["probe_id"]}' AND method = 'head_tail'
    """,
    )
    said = page.run("return [...document.querySelectorAll('#drill table')][1].innerText")
    for row in reasons:
        assert row["criterion"] in said
        assert (row["why"] or "") in said


def test_the_history_shows_what_became_of_every_message(page: Browser, store: Store) -> None:
    [left] = rows(
        store,
        f"""
        SELECT compaction_id, cut_seq, n_kept, n_edited, n_covered, n_dropped FROM compactions
        JOIN points USING (point_id) JOIN stg_methods USING (method_id)
        WHERE session_id = '{ORDINARY}' AND cycle = 1 AND method = 'head_tail'
    """,
    )
    page.go(f"#/head_tail/{ORDINARY}/1")
    counts = page.run("""
        const found = {};
        for (const { classList: [, fate] } of document.querySelectorAll('.messages > details')) {
            found[fate] = (found[fate] ?? 0) + 1;
        }
        return found
    """)
    fates = {name: left[f"n_{name}"] for name in ("kept", "edited", "covered", "dropped") if left[f"n_{name}"]}
    assert counts == fates
    page.run("document.querySelector('[data-view=context]').click()")
    assert page.run("return document.querySelectorAll('.messages > details.dropped').length") == 0
    assert page.run("return document.querySelectorAll('.messages > details.kept').length") == left["n_kept"]


def test_links_go_deep_and_back(page: Browser, written: ReportFile) -> None:
    page.open(written.path, f"#/mask_sweagent/{ORDINARY}")
    page.until("drill.querySelector('h2')")
    assert page.texts("#drill h2")[0] == "Compaction 1"
    page.run("document.getElementById('back').click()")
    page.until("!report.hidden")
    page.go("#/nobody/nowhere")
    assert "does not have" in page.texts("#drill h1")[0]
    page.go("#/%E0%A4%A")
    assert "does not have" in page.texts("#drill h1")[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_logged_and_nothing_is_asked_for(page: Browser, written: ReportFile, theme: str) -> None:
    page.size(1280, dark=theme == "dark")
    page.open(written.path)
    page.draw_all()
    for place in ("#/head_tail", f"#/codex_local/{ORDINARY}", f"#/codex_local/{ORDINARY}/1", "#leaderboard"):
        page.go(place)
    page.choose("theme", theme)
    page.draw_all()
    assert page.logged() == []
    assert page.asked_for() == []
    ink = page.run("return getComputedStyle(document.body).color")
    assert (ink == "rgb(27, 31, 36)") == (theme == "light")


def test_hostile_sessions_are_texts_and_nothing_else(page: Browser) -> None:
    """Their titles, questions, answers, names of tools and files, and the address of the page have markup in them."""
    page.draw_all()
    assert EVIL[0] in page.run(
        "return document.querySelector('#answers').textContent + JSON.stringify(data.sessions.map(s => s.title))"
    )
    seen = ""
    for cycle in page.run("return data.sessions.find(s => s.id === arguments[0]).here", HOSTILE):
        page.go(f"#/codex_local/{HOSTILE}/{cycle}")
        page.run("for (const box of document.querySelectorAll('.messages > details')) box.open = true")
        page.until("[...document.querySelectorAll('.messages > details')].every(box => box.childElementCount > 1)")
        seen += page.run("return drill.textContent")
    for evil in EVIL[:5]:
        assert evil in seen
    assert "abc‹U+202E›gnp.exe‹U+202C› ‹U+2066›x‹U+2069› ‹U+001B›[31mred‹U+0000›‹U+0007›" in seen
    assert page.run("return typeof window.hacked") == "undefined"
    assert page.run("return document.querySelectorAll('img, iframe, object, #drill script').length") == 0
    assert page.logged() == []
    assert page.asked_for() == []


def test_a_message_of_five_megabytes_stays_a_few_kilobytes(page: Browser, written: ReportFile) -> None:
    assert written.n_bytes < 2_000_000
    assert written.n_shown == written.n_points > 2
    longest = page.run(
        """
        return unpack(arguments[0]).then(pack => [Math.max(...pack.texts.map(t => [t].flat()[0].length)),
            Math.max(...pack.texts.map(t => Array.isArray(t) ? t[1] : 0))])
    """,
        HOSTILE,
    )
    assert longest[0] <= MOST_CHARS_READ + 3
    assert longest[1] > LONG - MOST_CHARS_READ


def test_a_script_that_gets_into_the_page_is_refused(page: Browser) -> None:
    page.run("""
        const script = document.createElement('script'), image = document.createElement('img');
        script.textContent = 'window.hacked = 4';
        image.src = 'https://example.com/x.png';
        document.body.append(script, image);
    """)
    page.run(
        "const link = document.createElement('a'); link.setAttribute('onclick', 'window.hacked = 5'); link.click()"
    )
    assert page.run("return typeof window.hacked") == "undefined"
    assert any("Content Security Policy" in message for message in page.logged())
    assert [url for url in page.asked_for() if url.startswith("http")] in ([], ["https://example.com/x.png"])


@pytest.mark.parametrize(("name", "width"), [("phone", 390), ("tablet", 820), ("desk", 1440)])
def test_the_page_fits_three_widths(page: Browser, name: str, width: int, tmp_path: Path) -> None:
    """Only tables scroll sideways. The pictures stay in pytest's folder, to be looked at."""
    import base64

    page.size(width)
    page.draw_all()
    for place, link in {"report": "#summary", "answer": f"#/codex_local/{ORDINARY}/1"}.items():
        page.go(link)
        assert page.run("return document.documentElement.scrollWidth") <= width, place
        taken = page.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": False})
        picture = base64.b64decode(taken["data"])
        (tmp_path / f"{name}-{place}.png").write_bytes(picture)
        assert len(picture) > 20_000
    page.go("#summary")
    assert page.run("return getComputedStyle(document.getElementById('menu')).display !== 'none'") == (width < 800)
    if width < 800:
        page.run("document.getElementById('menu').click()")
        assert page.run("return getComputedStyle(document.querySelector('nav')).display") == "block"


def test_a_screen_reader_finds_its_way(page: Browser) -> None:
    page.draw_all()
    problems = page.run("""
        const found = [], all = (selector) => [...document.querySelectorAll(selector)];
        const named = (node) => node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.length
            || node.placeholder;
        const expect = (nodes, holds) =>
            found.push(...nodes.filter((node) => !holds(node)).map((node) => node.outerHTML));
        expect(all('button, a, select, input'), named);
        expect(all('table'), (table) => table.caption?.textContent.trim());
        expect(all('thead th'), (head) => head.scope === 'col');
        expect(all('.plot'), (plot) => plot.getAttribute('aria-label'));
        expect(all('section[aria-labelledby]:not([hidden])'),
            (part) => document.getElementById(part.getAttribute('aria-labelledby')));
        const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
        return found.concat(ids.filter((id, place) => ids.indexOf(id) !== place));
    """)
    assert problems == []
    assert page.run("return document.documentElement.lang") == "en"
    assert page.run("return document.querySelectorAll('h1').length") == 1


def test_in_chinese_everything_but_names_and_texts_is_chinese(chromium: Browser, store: Store) -> None:
    written = write_report(store, store.root.parent / "zh.html", language="zh", texts=False)
    chromium.size(1280)
    chromium.open(written.path)
    chromium.draw_all()
    heads = chromium.texts("h1, h2, h3, nav a, summary, button")
    assert len(heads) > 60
    assert [text for text in heads if text and text.isascii() and text not in ("95 %", "Kappa", "Alpha", "ICC")] == []
    assert chromium.logged() == []
    assert json.loads(chromium.run("return JSON.stringify(data.sessions.map(s => s.here))")) == [[], []]
