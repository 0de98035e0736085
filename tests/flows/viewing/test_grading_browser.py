"""Grading in a browser: keys, clicks, addresses, and pages and texts that want something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser
from tests.flows.reporting.html.report_store import EVIL, HOSTILE
from tests.flows.viewing.live_view import SCORED, lines_of, needs_browser, rows

pytestmark = [pytest.mark.slow, *needs_browser]


def press(page: Browser, key: str) -> None:
    page.run("dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], bubbles: true }))", key)


def place(page: Browser) -> str:
    found: str = page.run("return decodeURIComponent(location.hash.split('/')[1] ?? '')")
    return found


def go_on(page: Browser, before: str) -> None:
    page.until(f"location.hash.startsWith('#grade/') && !location.hash.endsWith({json.dumps(before)})")
    page.until("document.querySelector('fieldset.grade')")


def test_a_person_goes_on_with_the_keyboard(rating: Browser, labels: Path, store: Store) -> None:
    first = place(rating)
    names = rating.run("return [...document.querySelectorAll('fieldset.grade')].map((f) => f.dataset.criterion)")
    press(rating, "4")
    press(rating, "0")
    press(rating, "k")
    press(rating, "2")
    press(rating, "9")
    press(rating, "n")
    go_on(rating, first)
    second = place(rating)
    press(rating, "n")  # no grade: it is skipped
    go_on(rating, second)
    assert place(rating) not in (first, second)
    row = lines_of(labels)[-1]
    assert {k: v for k, v in row.items() if v} == {"answer_id": first, names[0]: "4", names[1]: "2"}
    shown = " ".join(rating.texts("#drill"))
    methods = [row["method"] for row in rows(store, "FROM stg_methods") if "_" in row["method"]]  # "none" is a word
    assert methods
    assert [method for method in methods if method in shown] == []
    assert rating.logged() == []


def test_clicks_grade_too_and_an_answer_has_an_address(rating: Browser, labels: Path) -> None:
    first = place(rating)
    rating.run("document.querySelector('fieldset.grade input[value=\"5\"]').click()")
    rating.run("document.getElementById('grade-next').click()")
    go_on(rating, first)
    assert lines_of(labels)[-1]["answer_id"] == first
    rating.go(f"#grade/{first}")
    rating.until("!document.querySelector('fieldset.grade')")
    assert "has your grades already" in rating.texts("#drill")[0]
    rating.driver.back()
    rating.until("document.querySelector('fieldset.grade')")
    rating.go("#grade/no such")
    rating.until("drill.textContent.includes('Nothing here')")


def test_hostile_answers_are_inert_and_fit_a_phone(rating: Browser, labels: Path, store: Store) -> None:
    graded = {line["answer_id"] for line in lines_of(labels)}  # by the tests before, which take what comes first
    scored = [row for row in rows(store, SCORED) if row["answer_id"] not in graded]
    hostile = [row for row in scored if row["session_id"] == HOSTILE and EVIL[0] in row["text"]]
    rating.size(390, 800, dark=True)
    rating.go(f"#grade/{hostile[0]['answer_id']}")
    rating.until("document.querySelector('fieldset.grade')")
    assert any(EVIL[0] in text for text in rating.texts("#drill pre"))
    assert rating.run("return document.documentElement.scrollWidth") <= 390
    assert rating.logged() == []


def test_a_page_of_another_origin_cannot_grade(rating: Browser, graded: str, labels: Path) -> None:
    answer, before = place(rating), labels.read_bytes()
    rating.driver.get("data:text/html,<title>evil</title>")
    outcome = rating.driver.execute_async_script(
        "const [url, body, done] = arguments;"
        "const send = (type) => fetch(url, { method: 'POST', mode: type ? 'cors' : 'no-cors', body,"
        " headers: type ? { 'Content-Type': type } : {} }).then(() => 'sent', () => 'refused');"
        "Promise.all([send('application/json'), send('')]).then(done)",
        f"{graded}/data/grades",
        json.dumps({"id": answer, "scores": {"accuracy_factual": 5}}),
    )
    assert outcome[0] == "refused"
    assert labels.read_bytes() == before
    rating.logged(), rating.asked_for()


def test_a_live_view_without_a_file_says_how(page: Browser) -> None:
    page.go("#grade")
    page.until("drill.querySelector('pre')")
    assert page.texts("#drill pre") == ["compaction-eval view STORE --labels FILE.csv"]


def test_what_the_server_refuses_is_said_and_the_grades_stay(rating: Browser, labels: Path) -> None:
    labels.rename(labels.with_suffix(".moved"))
    press(rating, "3")
    press(rating, "n")
    rating.until("!document.getElementById('grade-problem').hidden")
    labels.with_suffix(".moved").rename(labels)
    assert "No such file" in rating.texts("#grade-problem")[0]
    assert rating.run("return document.querySelectorAll('fieldset.grade input:checked').length") == 1
    assert any("400" in line for line in rating.logged())
