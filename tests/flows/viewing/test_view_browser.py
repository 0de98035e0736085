"""The live view in a browser: clicks, addresses, and texts that try to be more than text."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser
from tests.flows.reporting.html.report_store import EVIL, HOSTILE, ORDINARY
from tests.flows.viewing.live_view import needs_browser, rows

pytestmark = [pytest.mark.slow, *needs_browser]


def test_charts_are_drawn_and_no_policy_is_broken(page: Browser) -> None:
    page.until("typeof vegaEmbed !== 'undefined'")
    page.draw_all()
    assert page.run("return document.querySelectorAll('#dimensions figure svg').length") == 1
    assert page.logged() == []


def test_from_a_method_to_an_answer_and_back(page: Browser) -> None:
    page.go("#/head_tail")
    page.until("drill.querySelector('#find')")
    assert len(page.texts("#drill tbody tr")) == 2
    page.run(f"[...document.querySelectorAll('#drill a')].find((a) => a.href.includes('{ORDINARY}')).click()")
    page.until("drill.querySelectorAll('h2').length > 0")
    page.run("document.querySelector('#drill td.text a').click()")
    page.until("drill.querySelector('.card.truth')")
    assert "What head_tail left of the history" in page.texts("#drill h3")
    for _ in range(2):
        page.driver.back()
    page.until("drill.querySelector('#find')")
    assert page.logged() == []


def test_a_long_list_is_drawn_piece_by_piece_as_its_end_comes_into_view(page: Browser) -> None:
    page.go("#sql")  # a short view: charts above the list would move it while they are drawn
    page.until("drill.querySelector('#query')")
    drawn = page.run("""
        window.list = el("div");
        document.body.append(list);
        fillInPieces(list, Array.from({ length: 400 }, (_, n) => () => el("p", {}, String(n))));
        return [list.querySelectorAll("p").length, list.lastChild.textContent];
    """)
    assert drawn == [150, "Show more (150 of 400 are shown)"]
    page.run("list.lastChild.scrollIntoView()")
    page.until("list.querySelectorAll('p').length >= 300")
    page.run("list.drawMore()")
    assert page.run("return [...list.children].map((one) => one.textContent)") == [str(n) for n in range(400)]


def test_a_session_over_time_is_drawn_with_the_size_that_each_compaction_left(page: Browser, store: Store) -> None:
    def check(method: str) -> None:
        wanted = rows(
            store,
            "SELECT cycle, compactions.tokens_before, tokens_after FROM compactions JOIN points USING (point_id) "
            f"JOIN stg_methods USING (method_id) WHERE session_id = '{ORDINARY}' AND method = '{method}' ORDER BY 1",
        )
        assert page.run("return document.querySelectorAll('#timeline .point').length") == len(wanted)
        shown = page.run("return [...drill.querySelector('tbody').rows].map((row) => row.cells[3].dataset.v)")
        assert shown == [str(row["tokens_after"]) for row in wanted]
        drawn = page.run(
            """
            const [session, place] = [arguments[0], methods.indexOf(arguments[1])];
            return ask("timeline", { session }).then(({ over_time: { tokens, points } }) => {
                const sizes = (seq) => sizesUnder(place, points, tokensBefore(tokens), [seq]);
                return points.map(({ cut }) => sizes(cut).map(([, size]) => size));
            });
            """,
            ORDINARY,
            method,
        )
        assert drawn == [[row["tokens_before"], row["tokens_after"]] for row in wanted]

    page.go(f"#/head_tail/{ORDINARY}")
    page.until("drill.querySelector('a.button')")
    page.run("drill.querySelector('a.button').click()")
    page.until("document.getElementById('timeline')")
    check("head_tail")
    page.run("document.getElementById('timeline').id = 'before'")
    page.choose("timeline-method", page.run("return String(methods.indexOf('mask_sweagent'))"))
    page.until("document.getElementById('timeline')")
    check("mask_sweagent")
    assert page.run("return decodeURIComponent(location.hash)") == f"#timeline/{ORDINARY}/mask_sweagent"
    page.driver.back()
    page.until("document.getElementById('timeline-method').selectedOptions[0].text === 'head_tail'")
    page.go(f"#timeline/{HOSTILE}/head_tail")
    page.until("document.getElementById('timeline')")
    assert page.logged() == []


def test_an_address_of_an_answer_shows_it(page: Browser, address: str) -> None:
    page.driver.get("about:blank")
    page.driver.get(f"{address}/#/head_tail/{ORDINARY}/1/recall")
    page.until("!drill.hidden && drill.querySelector('.card.truth')")
    assert page.texts("#drill h1") == ["Recall · head_tail"]


def test_hostile_texts_are_shown_as_they_are_also_when_a_message_is_opened(page: Browser) -> None:
    page.go(f"#/head_tail/{HOSTILE}/1")
    page.until("drill.querySelector('details.message')")
    page.run("for (const box of document.querySelectorAll('#drill details.message')) box.open = true")
    page.until("[...document.querySelectorAll('#drill details.message')].every((box) => box.querySelector('pre'))")
    assert any(EVIL[0] in text for text in page.texts("#drill pre"))
    assert page.logged() == []


def test_a_query_has_an_address_and_its_error_a_sentence(page: Browser) -> None:
    page.go("#sql")
    page.until("document.getElementById('query')")
    page.choose("query", "SELECT 1.23456789 AS n, '<img src=x onerror=hacked=9>' AS evil")
    page.run("document.getElementById('run').click()")
    page.until("document.getElementById('t-sql')")
    assert page.run("return decodeURIComponent(location.hash)").startswith("#sql/SELECT 1.23456789")
    assert page.texts("#t-sql tbody td") == ["1.23457", "<img src=x onerror=hacked=9>"]
    page.go("#sql/" + quote("FROM nowhere"))
    page.until("document.querySelector('#result.warn')")
    assert "nowhere" in page.texts("#result")[0]
    page.logged()  # the browser's own line for the status 400


def test_nights_are_listed(page: Browser, store: Store) -> None:
    page.go("#nights")
    page.until("document.getElementById('t-sql')")
    assert len(page.texts("#t-sql tbody tr")) == len(rows(store, "FROM nights"))


def test_side_by_side_every_message_has_the_fate_that_the_store_says(page: Browser, store: Store) -> None:
    wanted = ["codex_local", "head_tail", "none"]
    page.go(f"#beside/{ORDINARY}/1/all/-/{'/'.join(wanted)}")
    page.until("document.getElementById('beside')")
    for _ in range(3):  # a long stretch opens in pieces
        page.run("for (const fold of document.querySelectorAll('#beside .fold')) fold.click()")
    lines = page.run("""
        return [...document.querySelectorAll('#beside .line[id]')].map((line) =>
            [Number(line.dataset.seq),
             ...[...line.querySelectorAll('.fates')].map((one) => one.className.slice(6))])
    """)
    assert [line[0] for line in lines] == list(range(len(lines)))
    for place, method in enumerate(wanted, start=1):
        [row] = rows(
            store,
            "SELECT edited, covered, dropped, cut_seq FROM compactions JOIN points USING (point_id) "
            f"JOIN stg_methods USING (method_id) WHERE points.session_id = '{ORDINARY}' AND cycle = 1 "
            f"AND stg_methods.method = '{method}'",
        )
        assert len(lines) == row["cut_seq"]
        for fate in ("edited", "covered", "dropped"):
            shown = [line[0] for line in lines if line[place] == fate]
            assert shown == sorted(row[fate] or []), (method, fate)
    assert page.logged() == []


def test_keys_columns_and_questions_of_side_by_side_are_in_its_address(page: Browser) -> None:
    def address() -> list[str]:
        found: str = page.run("return decodeURIComponent(location.hash)")
        return found.split("/")[1:]

    page.go(f"#beside/{HOSTILE}/1/all/-/codex_local/head_tail")
    page.until("document.getElementById('beside')")
    press = "dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0] }))"
    page.run(press, "n")
    page.until("document.getElementById('drawer')")
    assert address()[3] == "recall"
    assert "True answer" in page.texts("#drawer h3")
    page.run(press, "j")
    page.until("document.querySelector('#drill .tabs [aria-current]')?.textContent === 'Compaction 2'")
    assert address()[1:4] == ["2", "all", "-"]
    page.run(press, "m")
    page.until("document.querySelectorAll('#beside select')[1]?.selectedOptions[0].text !== 'head_tail'")
    page.driver.back()
    page.until("document.querySelectorAll('#beside select')[1]?.selectedOptions[0].text === 'head_tail'")
    page.run("[...document.querySelectorAll('#beside button')].find((one) => one.textContent === '←').click()")
    page.until("document.querySelector('#beside select')?.selectedOptions[0].text === 'head_tail'")
    assert address()[4:] == ["head_tail", "codex_local"]
    page.run("document.getElementById('add-method').click()")
    page.until("document.querySelectorAll('#beside select').length === 3")
    assert page.run("return document.querySelectorAll('#beside .heads svg').length") == 4


def test_evidence_leads_to_its_message_and_the_summary_that_says_it_is_marked(page: Browser) -> None:
    page.go(f"#beside/{ORDINARY}/1/all/recall/codex_local/empty")
    page.until("document.getElementById('drawer')")
    seq, shown = page.run("""
        const button = document.querySelector('#drawer [data-to]');
        button.click();
        return [button.dataset.to, document.querySelector('#beside .line.here').dataset.seq];
    """)
    assert shown == seq
    marked = []
    for kind in ("recall", "artifact", "continuation"):
        page.run("document.getElementById('drawer').id = 'before'")
        page.go(f"#beside/{ORDINARY}/1/all/{kind}/codex_local/empty")
        page.until("document.getElementById('drawer')")
        page.run("for (const box of document.querySelectorAll('#beside details.made')) box.open = true")
        page.until("[...document.querySelectorAll('#beside details.made')].every((box) => box.querySelector('pre'))")
        texts = page.run("return [...document.querySelectorAll('#beside .made pre')].map((one) => one.textContent)")
        for mark in page.run("return [...document.querySelectorAll('#beside mark')].map((one) => one.textContent)"):
            assert any(mark in " ".join(text.split()) for text in texts), mark
            marked.append(kind)
    assert marked, "no statement is said by the summary"


def test_each_lost_statement_says_where_it_stood_and_what_is_nearest_to_it(page: Browser, store: Store) -> None:
    stored = rows(
        store,
        "SELECT probe_type, text, state, stated_at, lines FROM lost_statements WHERE cycle = 1 "
        f"AND session_id = '{HOSTILE}' AND method = 'head_tail' AND state = 'lost' ORDER BY probe_type, position",
    )
    assert stored
    page.go(f"#beside/{HOSTILE}/1/all/{stored[0]['probe_type']}/head_tail/none")
    page.until("document.getElementById('lost-facts')")
    cells = page.run("""
        return [...document.querySelectorAll('#lost-facts tbody tr')].map((row) =>
            [...row.cells].map((one) => one.textContent))
    """)
    assert {row[0] for row in cells} == {"head_tail"}, "the control has lost nothing"
    wanted = [row for row in stored if row["probe_type"] == stored[0]["probe_type"]]
    assert [row[3] for row in cells if row[1] == "lost"] == [f"message {row['stated_at']}" for row in wanted]
    assert all(row[4].startswith("none found") for row in cells if row[1] == "lost")
    stood, shown = page.run("""
        const button = document.querySelector('#lost-facts [data-to]');
        button.click();
        return [button.dataset.to, document.querySelector('#beside .line.here').dataset.seq];
    """)
    assert int(shown) <= int(stood)
    page.run("document.getElementById('lost-facts').id = 'before'")
    page.go(f"#beside/{HOSTILE}/1/all/{stored[0]['probe_type']}/none")
    page.until("document.getElementById('lost-facts')")
    assert page.texts("#lost-facts p") == ["No method here lost any of it."]
    assert page.logged() == []


def test_none_found_and_cannot_be_checked_are_told_apart_and_a_later_message_opens(page: Browser) -> None:
    page.go(f"#beside/{HOSTILE}/1/all/-/head_tail")
    page.until("document.getElementById('beside')")
    page.run(
        """
        window.lostPack = { session: { id: arguments[0] }, texts: [arguments[1], "near"], messages: [] };
        const state = [["lost", 0.1, null], ["contradicted", 0, 1], ["unknown", null, null], ["readable", 1, null]];
        const probe = {
            statements: [[0, 3, 50, true], ...[3, null, 3, 3].map((stood) => [0, stood, null, stood !== null])],
            answers: { 0: [0, 0, 0, 0, 0, [], state] },
        };
        drill.append(lostFacts(lostPack, { methods: { 0: { context: [] } } }, probe, [0]));
        """,
        HOSTILE,
        EVIL[1],
    )
    cells = page.run("""
        return [...document.querySelectorAll('#lost-facts tbody tr')].map((row) =>
            [...row.cells].slice(1).map((one) => one.textContent))
    """)
    assert [[row[0], *row[2:]] for row in cells] == [
        ["lost", "message 3", "none foundoverlap 0.10", "message 50"],
        ["contradicted", "message 3", "nearoverlap 0.00", "none found"],
        ["unknown: only the provider can read it", "cannot be checked", "cannot be checked", "cannot be checked"],
        ["not measured", "message 3", "cannot be checked", "none found"],
    ]
    assert {row[1] for row in cells} == {EVIL[1]}
    page.run("document.querySelector('#lost-facts details').open = true")
    page.until("document.querySelector('#lost-facts details details')")
    page.run("document.querySelector('#lost-facts details details').open = true")
    page.until("document.querySelector('#lost-facts details details pre')")
    assert page.logged() == []


def test_only_differences_and_only_failures(page: Browser) -> None:
    page.go(f"#beside/{ORDINARY}/1/differences/-/none/mask_sweagent")
    page.until("document.getElementById('beside')")
    fates = page.run("""
        return [...document.querySelectorAll('#beside .line[id]')].map((line) =>
            [...line.querySelectorAll('.fates')].map((one) => one.className.slice(6)))
    """)
    assert fates
    assert all(one == "kept" and other == "edited" for one, other in fates)
    page.go(f"#beside/{ORDINARY}/1/failures/-/none")
    page.until("location.hash.includes('failures') && !document.querySelector('#beside .line[id]')")


def test_hostile_texts_are_inert_side_by_side(page: Browser) -> None:
    page.go(f"#beside/{HOSTILE}/1/all/-/mask_sweagent/codex_local")
    page.until("document.getElementById('beside')")
    page.run("for (const fold of document.querySelectorAll('#beside .fold')) fold.click()")
    page.run("for (const box of document.querySelectorAll('#beside details')) box.open = true")
    page.until("[...document.querySelectorAll('#beside details')].every((box) => box.childElementCount > 1)")
    evil = json.dumps(EVIL[0])
    page.until(f"[...document.querySelectorAll('#beside .said')].some((one) => one.textContent.includes({evil}))")
    assert page.logged() == []


def test_on_a_phone_nothing_is_wider_than_the_page(page: Browser) -> None:
    page.size(390, 800, dark=True)
    for link in (
        "#sql",
        "#/head_tail",
        f"#timeline/{ORDINARY}/head_tail",
        f"#/head_tail/{ORDINARY}/1",
        f"#beside/{ORDINARY}/1/all/-/none/codex_local",
    ):
        page.go(link)
        page.until("drill.querySelector('table, #query, #beside')")
        assert page.run("return document.documentElement.scrollWidth") <= 390, link
