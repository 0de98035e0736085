"""The live view as a process of its own: over HTTP, and in a browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import pytest

from flows.database.scores_db import connect
from flows.reporting.html import library
from flows.reporting.text_tables import fetch_rows, two_decimals
from flows.store.store import Store
from flows.viewing.live_store import MOST_IN_LIST, MOST_ROWS
from tests.flows.conftest import Kept
from tests.flows.reporting.html.report_browser import CHROMIUM, DRIVER, WHY_NOT, Browser, open_browser
from tests.flows.reporting.html.report_store import EVIL, HOSTILE, LONG, ORDINARY, make_store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(prefect_server: str, kept_worker: Kept, tmp_path_factory: pytest.TempPathFactory) -> Store:
    with kept_worker.at_work():
        return Store.open(str(make_store(tmp_path_factory.mktemp("view"))))


@contextmanager
def viewed(store: Store, *arguments: str) -> Iterator[str]:
    """The address at which the command shows a store, without the slash at its end."""
    command = [sys.executable, "-m", "flows", "view", str(store.root), "--no-open", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip().rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="module")
def address(store: Store) -> Iterator[str]:
    with viewed(store) as found:
        yield found


def ask(address: str, name: str, **values: Any) -> Any:
    """The answer of the server as data."""
    with urlopen(f"{address}/data/{name}?{urlencode(values)}") as answer:
        return json.load(answer)


def refused(address: str, name: str, **values: Any) -> tuple[int, str]:
    """Status and sentence of an answer that is an error."""
    with pytest.raises(HTTPError) as caught:
        ask(address, name, **values)
    return caught.value.code, caught.value.read().decode()


def rows(store: Store, query: str) -> list[dict[str, Any]]:
    with connect(store.database) as connection:
        return fetch_rows(connection, query).dicts()


def test_every_point_with_a_scored_question_is_there_with_the_scores_of_the_database(
    address: str, store: Store
) -> None:
    points = rows(
        store,
        "SELECT DISTINCT session_id, cycle FROM int_answer_scores JOIN points USING (point_id, session_id, cycle) "
        "ORDER BY session_id, cycle",
    )
    assert len({point["session_id"] for point in points}) == 2
    methods = [row["method"] for row in rows(store, "SELECT method FROM fronts ORDER BY line")]
    for point in points:
        found = ask(address, "point", session=point["session_id"], cycle=point["cycle"])
        assert found["session"]["id"] == point["session_id"]
        scores = {
            (probe["type"], methods[int(place)]): answer[2]
            for probe in found["points"][0]["probes"]
            for place, answer in probe["answers"].items()
        }
        stored = rows(
            store,
            "SELECT probe_type, stg_methods.method, score FROM int_answer_scores JOIN stg_methods USING (method_id) "
            f"WHERE session_id = '{point['session_id']}' AND cycle = {point['cycle']} AND dimension = 'overall'",
        )
        assert stored
        assert {(row["probe_type"], row["method"]): row["score"] for row in stored}.items() <= scores.items()


def test_a_list_of_messages_has_beginnings_and_one_that_is_opened_is_whole(address: str) -> None:
    found = ask(address, "point", session=HOSTILE, cycle=1)
    assert len(json.dumps(found)) < 1_000_000
    cut = [text for text in found["texts"] if isinstance(text, list)]
    assert max(left_out for _, left_out in cut) > LONG - 10_000
    assert min(len(text) for text, _ in cut) < 2 * MOST_IN_LIST
    long = next(
        seq
        for seq, message in enumerate(found["messages"])
        if message[4] is not None and isinstance(found["texts"][message[4]], list)
    )
    opened = ask(address, "message", session=HOSTILE, seq=long)
    [text] = [text if isinstance(text, str) else text[0] for text in opened["texts"]]
    assert len(text) > 100 * MOST_IN_LIST


def test_the_sessions_of_a_method_are_found_by_title_and_id(address: str, store: Store) -> None:
    found = ask(address, "sessions", method="head_tail", other="mask_sweagent", find="")
    assert {session["id"] for session in found["sessions"]} == {ORDINARY, HOSTILE}
    assert [s["id"] for s in ask(address, "sessions", method="head_tail", other="", find="SESSION-1")["sessions"]] == [
        HOSTILE
    ]
    assert ask(address, "sessions", method="head_tail", other="", find="no such title") == {
        "sessions": [],
        "n_sessions": 0,
    }
    [mean] = rows(
        store,
        "SELECT avg(score) AS mean FROM int_answer_scores JOIN stg_methods USING (method_id) "
        f"WHERE stg_methods.method = 'head_tail' AND session_id = '{HOSTILE}' AND dimension = 'overall'",
    )
    shown = next(session for session in found["sessions"] if session["id"] == HOSTILE)
    assert two_decimals(shown["mean"]) == two_decimals(mean["mean"])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("point", {"session": ORDINARY, "cycle": 99}),
        ("point", {"session": ORDINARY, "cycle": "1; DROP"}),
        ("point", {"session": "no such", "cycle": 1}),
        ("session", {"session": "' OR true --"}),
        ("session", {}),
        ("message", {"session": ORDINARY, "seq": 10**6}),
        ("message", {"session": ORDINARY, "seq": -1}),
        ("message", {"session": "../../etc", "seq": 1}),
        ("nothing", {}),
    ],
)
def test_what_the_store_has_not_is_not_found(address: str, name: str, values: dict[str, Any]) -> None:
    assert refused(address, name, **values) == (404, "not in this store")


def test_a_query_only_reads_and_only_the_store(address: str, store: Store) -> None:
    found = ask(address, "query", sql="SELECT range AS n, 'x' AS x FROM range(1001)")
    assert found["names"] == ["n", "x"]
    assert len(found["rows"]) == MOST_ROWS
    assert found["has_more"]
    odd = "SELECT 2::HUGEINT ** 100 AS a, 'nan'::DOUBLE AS b, 0.5::DECIMAL(3, 1) AS c, NULL AS d"
    assert ask(address, "query", sql=odd)["rows"] == [[2.0**100, None, 0.5, None]]
    assert ask(address, "query", sql=f"SELECT {2**62} AS a")["rows"] == [[str(2**62)]]
    for sql, said in {
        "FROM no_such_table": "no_such_table",
        "SELECT * FROM read_text('/etc/hostname')": "disabled",
        "DROP TABLE scores": "read-only",
        "INSERT INTO scores SELECT * FROM scores": "read-only",
        "SET memory_limit = '9GB'": "locked",
    }.items():
        status, text = refused(address, "query", sql=sql)
        assert status == 400
        assert said in text, text


def test_what_a_query_leaves_behind_changes_no_figure(address: str) -> None:
    before = ask(address, "session", session=ORDINARY)
    ask(address, "query", sql="CREATE TEMP VIEW int_answer_scores AS SELECT 1 AS judge_id")
    assert ask(address, "session", session=ORDINARY) == before


def test_an_unknown_judge_is_told_of(address: str) -> None:
    status, text = refused(address, "session", session=ORDINARY, judge="nobody")
    assert status == 400
    assert "no scores of a judge 'nobody'" in text


def test_a_database_that_is_replaced_meanwhile_is_read_anew(address: str, store: Store) -> None:
    from typer.testing import CliRunner

    from flows.cli.app import app

    ask(address, "session", session=ORDINARY)
    before = os.stat(store.database).st_ino
    assert CliRunner().invoke(app, ["rebuild", "--store", str(store.root), "--quiet"]).exit_code == 0
    assert os.stat(store.database).st_ino != before
    assert ask(address, "session", session=ORDINARY)["points"]


def test_a_port_that_is_taken_is_said_in_one_sentence(address: str, store: Store) -> None:
    port = address.split(":")[2].split("/", maxsplit=1)[0]
    command = [sys.executable, "-m", "flows", "view", str(store.root), "--no-open", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"--port {port}: cannot listen there" in done.stderr


needs_browser = [
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=WHY_NOT),
    pytest.mark.skipif(not library.is_installed(), reason=f"needs {library.INSTALL}"),
]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Browser]:
    """The live page, opened anew; it may not have asked anybody else for anything, nor logged anything."""
    chromium.size(1280)
    chromium.driver.get("about:blank")
    chromium.logged(), chromium.asked_for()
    chromium.driver.get(f"{address}/")
    chromium.until("typeof pairs !== 'undefined' && pairs !== null")
    yield chromium
    assert [url for url in chromium.asked_for() if not url.startswith(f"{address}/")] == []
    assert chromium.run("return window.hacked ?? null") is None


class TestInABrowser:
    """Clicks, addresses, and texts that try to be more than text."""

    pytestmark = needs_browser

    def test_charts_are_drawn_and_no_policy_is_broken(self, page: Browser) -> None:
        page.until("typeof vegaEmbed !== 'undefined'")
        page.draw_all()
        assert page.run("return document.querySelectorAll('#leaderboard figure svg').length") == 1
        assert page.logged() == []

    def test_from_a_method_to_an_answer_and_back(self, page: Browser) -> None:
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

    def test_an_address_of_an_answer_shows_it(self, page: Browser, address: str) -> None:
        page.driver.get("about:blank")
        page.driver.get(f"{address}/#/head_tail/{ORDINARY}/1/recall")
        page.until("!drill.hidden && drill.querySelector('.card.truth')")
        assert page.texts("#drill h1") == ["Recall · head_tail"]

    def test_hostile_texts_are_shown_as_they_are_also_when_a_message_is_opened(self, page: Browser) -> None:
        page.go(f"#/head_tail/{HOSTILE}/1")
        page.until("drill.querySelector('details.message')")
        page.run("for (const box of document.querySelectorAll('#drill details.message')) box.open = true")
        page.until("[...document.querySelectorAll('#drill details.message')].every((box) => box.querySelector('pre'))")
        assert any(EVIL[0] in text for text in page.texts("#drill pre"))
        assert page.logged() == []

    def test_a_query_has_an_address_and_its_error_a_sentence(self, page: Browser) -> None:
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

    def test_nights_are_listed(self, page: Browser, store: Store) -> None:
        page.go("#nights")
        page.until("document.getElementById('t-sql')")
        assert len(page.texts("#t-sql tbody tr")) == len(rows(store, "FROM nights"))

    def test_side_by_side_every_message_has_the_fate_that_the_store_says(self, page: Browser, store: Store) -> None:
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

    def test_keys_columns_and_questions_of_side_by_side_are_in_its_address(self, page: Browser) -> None:
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

    def test_evidence_leads_to_its_message_and_the_summary_that_says_it_is_marked(self, page: Browser) -> None:
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
            page.until(
                "[...document.querySelectorAll('#beside details.made')].every((box) => box.querySelector('pre'))"
            )
            texts = page.run("return [...document.querySelectorAll('#beside .made pre')].map((one) => one.textContent)")
            for mark in page.run("return [...document.querySelectorAll('#beside mark')].map((one) => one.textContent)"):
                assert any(mark in " ".join(text.split()) for text in texts), mark
                marked.append(kind)
        assert marked, "no statement is said by the summary"

    def test_only_differences_and_only_failures(self, page: Browser) -> None:
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

    def test_hostile_texts_are_inert_side_by_side(self, page: Browser) -> None:
        page.go(f"#beside/{HOSTILE}/1/all/-/mask_sweagent/codex_local")
        page.until("document.getElementById('beside')")
        page.run("for (const fold of document.querySelectorAll('#beside .fold')) fold.click()")
        page.run("for (const box of document.querySelectorAll('#beside details')) box.open = true")
        page.until("[...document.querySelectorAll('#beside details')].every((box) => box.childElementCount > 1)")
        evil = json.dumps(EVIL[0])
        page.until(f"[...document.querySelectorAll('#beside .said')].some((one) => one.textContent.includes({evil}))")
        assert page.logged() == []

    def test_on_a_phone_nothing_is_wider_than_the_page(self, page: Browser) -> None:
        page.size(390, 800, dark=True)
        for link in (
            "#sql",
            "#/head_tail",
            f"#/head_tail/{ORDINARY}/1",
            f"#beside/{ORDINARY}/1/all/-/none/codex_local",
        ):
            page.go(link)
            page.until("drill.querySelector('table, #query, #beside')")
            assert page.run("return document.documentElement.scrollWidth") <= 390, link
