"""The live view over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError

import pytest

from flows.reporting.text_tables import two_decimals
from flows.store.store import Store
from flows.viewing.live_store import MOST_IN_LIST, MOST_ROWS
from tests.flows.reporting.html.report_store import HOSTILE, LONG, ORDINARY
from tests.flows.viewing.live_view import ask, refused, rows

pytestmark = pytest.mark.slow


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


def test_a_session_over_time_has_the_sizes_and_needs_of_the_database(address: str, store: Store) -> None:
    found = ask(address, "timeline", session=ORDINARY)["over_time"]
    [session] = rows(store, f"SELECT n_messages, n_tokens FROM sessions WHERE session_id = '{ORDINARY}'")
    assert (len(found["tokens"]), sum(found["tokens"])) == (session["n_messages"], session["n_tokens"])
    methods = [row["method"] for row in rows(store, "SELECT method FROM fronts ORDER BY line")]
    shown = {
        (point["cycle"], methods[int(place)]): tuple(left)
        for point in found["points"]
        for place, left in point["methods"].items()
    }
    stored = rows(
        store,
        "SELECT cycle, method, compactions.tokens_before, tokens_after, lost FROM compactions "
        "JOIN points USING (point_id) JOIN stg_methods USING (method_id) LEFT JOIN measures USING (compaction_id) "
        f"WHERE session_id = '{ORDINARY}'",
    )
    assert len({row["cycle"] for row in stored}) > 1
    assert shown == {
        (row["cycle"], row["method"]): (row["tokens_before"], row["tokens_after"], row["lost"]) for row in stored
    }
    needs = rows(
        store,
        "SELECT cycle, kind, observation_seq, observation_tokens, needed_at FROM needs JOIN points USING (point_id) "
        f"WHERE session_id = '{ORDINARY}' ORDER BY cycle, number",
    )
    assert [[point["cycle"], kind, *rest] for point in found["points"] for kind, _, *rest in point["needs"]] == [
        list(row.values()) for row in needs
    ]


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
        ("timeline", {"session": "no such"}),
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


def test_a_slow_query_holds_up_no_other_answer(address: str) -> None:
    slow = "SELECT count(*) FROM range(1_000_000_000) WHERE hash(range) % 7 = 3"

    def wait() -> None:
        with suppress(HTTPError):  # on a busy machine it is stopped, because it takes longer than a query may
            ask(address, "query", sql=slow)

    asked = threading.Thread(target=wait)
    asked.start()
    time.sleep(0.2)  # it has begun
    assert ask(address, "session", session=ORDINARY)["points"]
    assert ask(address, "point", session=ORDINARY, cycle=1)["messages"]
    assert ask(address, "nights")["rows"]
    assert asked.is_alive()
    asked.join()


def test_a_point_has_the_contexts_of_the_methods_that_are_shown_and_the_fates_of_all(address: str) -> None:
    bare = ask(address, "point", session=ORDINARY, cycle=1)["points"][0]["methods"]
    assert bare
    assert all(left["context"] == [] for left in bare.values() if left["status"] == "done")
    shown = ask(address, "point", session=ORDINARY, cycle=1, contexts="0.2")["points"][0]["methods"]
    assert {place for place, left in shown.items() if left["context"]} == {"0", "2"}
    fates = ("edited", "covered", "dropped")
    assert {p: [left[f] for f in fates] for p, left in shown.items()} == {
        p: [left[f] for f in fates] for p, left in bare.items()
    }


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
