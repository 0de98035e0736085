"""The call cache: nothing that was acknowledged is lost, nothing wrong is given back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.llm.cache.call_cache import CallCache, StoredCall
from flows.llm.cache.records import pack, unpack
from flows.llm.clients.transport import TokenUse
from flows.support.errors import StoreError
from tests.flows.llm.cache.entries import call, entry


def test_what_was_put_is_given_back_whole_also_by_the_next_process_that_opens_it(tmp_path: Path) -> None:
    stored = StoredCall("“5” – gut\n", "m-1", TokenUse(10, 20, 3, 4), None, 0.5, {"output": [{"type": "compaction"}]})
    with CallCache(tmp_path) as cache:
        assert cache.get("k") is None
        cache.put("k", stored, entry())
        assert cache.get("k") == stored
    with CallCache(tmp_path) as again:
        assert again.get("k") == stored


def test_get_many_gives_those_that_are_there(cache: CallCache) -> None:
    for number in range(2_500):
        cache.put(f"k{number}", call(str(number)), entry())
    found = cache.get_many([f"k{number}" for number in range(1, 5_000, 2)] + ["k1"])
    assert found == {f"k{number}": call(str(number)) for number in range(1, 2_500, 2)}
    assert cache.get_many([]) == {}


@given(text=st.text(st.characters(), max_size=40), times=st.integers(1, 400))
def test_every_text_survives_packing(text: str, times: int) -> None:
    stored = call(text * times)
    assert unpack("k", pack("k", stored)) == stored


def test_long_answers_are_compressed() -> None:
    assert len(pack("k", call("The tests pass, but the deploy step was never run. " * 400))) < 1_000


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7), text=st.sampled_from(["4 of 5", "many words " * 600]))
def test_a_flipped_bit_makes_an_answer_unreadable_and_never_wrong(at: int, bit: int, text: str) -> None:
    packed = bytearray(pack("k", call(text)))
    packed[at % len(packed)] ^= 1 << bit
    assert unpack("k", bytes(packed)) is None


def test_an_answer_under_a_wrong_key_is_unreadable() -> None:
    assert unpack("another", pack("k", call())) is None


@pytest.mark.parametrize("damage", [b"", b"j", b"not an answer", bytes(40)])
def test_a_damaged_answer_is_a_miss_is_claimed_and_replaced(cache: CallCache, damage: bytes) -> None:
    cache.put("k", call(), entry())
    with sqlite3.connect(cache.path) as db:
        db.execute("update answers set call = ?", (damage,))
    db.close()
    assert cache.get("k") is None
    assert cache.get_many(["k"]) == {}
    assert cache.claim("k", 60)
    cache.put("k", call("new"), entry())
    assert cache.get("k") == call("new")


def test_a_file_that_is_no_database_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "calls.sqlite").write_bytes(b"this was once a cache" * 500)
    with pytest.raises(StoreError, match=r"calls\.sqlite is damaged .*move calls\.sqlite.* away"):
        CallCache(tmp_path)


def test_pages_that_were_overwritten_are_said_and_give_no_answer(tmp_path: Path) -> None:
    with CallCache(tmp_path) as cache:
        for number in range(2_000):
            cache.put(f"k{number}", call("x" * 900), entry())
    path = tmp_path / "calls.sqlite"
    content = bytearray(path.read_bytes())
    for page in range(3, len(content) // 4096):
        content[page * 4096 : page * 4096 + 200] = b"\xaa" * 200
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        read_all(tmp_path, {f"k{number}": call("x" * 900) for number in range(2_000)})


def test_a_truncated_file_is_said_and_gives_no_wrong_answer(tmp_path: Path) -> None:
    with CallCache(tmp_path) as cache:
        for number in range(500):
            cache.put(f"k{number}", call(str(number)), entry())
    path = tmp_path / "calls.sqlite"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreError, match="is damaged"):
        read_all(tmp_path, {f"k{number}": call(str(number)) for number in range(500)})


def read_all(folder: Path, expected: dict[str, StoredCall]) -> None:
    """Ask for every answer; each has to be right or missing."""
    with CallCache(folder) as cache:
        for key, stored in expected.items():
            assert cache.get(key) in (None, stored)


def test_a_cache_of_another_version_and_another_programs_database_are_refused(tmp_path: Path) -> None:
    CallCache(tmp_path / "newer").close()
    with sqlite3.connect(tmp_path / "newer" / "calls.sqlite") as db:
        db.execute("pragma user_version = 7")
    db.close()
    with pytest.raises(StoreError, match="has version 7, this version of compaction-eval reads 2: update it"):
        CallCache(tmp_path / "newer")
    (tmp_path / "foreign").mkdir()
    with sqlite3.connect(tmp_path / "foreign" / "calls.sqlite") as db:
        db.execute("create table songs (title)")
    db.close()
    before = (tmp_path / "foreign" / "calls.sqlite").read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        CallCache(tmp_path / "foreign")
    assert (tmp_path / "foreign" / "calls.sqlite").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(StoreError, match=r"calls\.sqlite: cannot be opened: "):
        CallCache(tmp_path / "cache")


def test_a_full_disk_is_said_and_loses_nothing_that_was_there(cache: CallCache) -> None:
    cache.put("k", call(), entry())
    pages = cache._db.execute("pragma page_count").fetchone()[0]
    cache._db.execute(f"pragma max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="cannot be used: database or disk is full; check disk space"):
        cache.put("big", replace(call(), text=os.urandom(200_000).hex()), entry("big"))
    assert cache.get("k") == call()
    assert cache.get("big") is None
    assert [one.key for _, one in cache.journal_after(0)] == ["k"]
    cache.put("small", call(), entry("small"))


def test_money_spent_is_in_the_journal_at_once_and_cached_uses_at_the_latest_at_the_end(tmp_path: Path) -> None:
    reader = CallCache(tmp_path)
    with CallCache(tmp_path) as cache:
        cache.note(entry("failed", status="timeout"))
        cache.note(entry("use", cached=True))
        assert [one.key for _, one in reader.journal_after(0)] == ["failed"]
        cache.flush()
        assert [one.key for _, one in reader.journal_after(0)] == ["failed", "use"]
        cache.note(entry("last", cached=True))
    assert [one.key for _, one in reader.journal_after(0)] == ["failed", "use", "last"]
    reader.close()


def test_cached_uses_are_written_a_thousand_at_a_time_and_with_the_next_put(tmp_path: Path) -> None:
    reader = CallCache(tmp_path)
    cache = CallCache(tmp_path)
    for _ in range(1_000):
        cache.note(entry(cached=True))
    assert len(reader.journal_after(0)) == 1_000
    cache.note(entry("u", cached=True))
    cache.put("k", call(), entry("paid"))
    assert [one.key for _, one in reader.journal_after(1_000)] == ["u", "paid"]
    cache.close()
    reader.close()


def test_cached_uses_are_written_when_they_are_a_second_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("flows.llm.cache.call_cache.time.monotonic", lambda: now[0])
    with CallCache(tmp_path) as cache, CallCache(tmp_path) as reader:
        cache.note(entry(cached=True))
        assert reader.journal_after(0) == []
        now[0] += 1.0
        cache.note(entry(cached=True))
        assert len(reader.journal_after(0)) == 2


def test_the_journal_gives_back_what_was_noted_row_by_row(cache: CallCache) -> None:
    noted = [
        replace(entry(str(n)), input_tokens=None, cost_usd=None, status="server", error="503 \ud800") for n in range(5)
    ]
    for one in noted:
        cache.note(one)
    rows = cache.journal_after(0)
    assert [one for _, one in rows] == [replace(one, error="503 ?") for one in noted]
    assert cache.journal_after(rows[1][0], limit=2) == rows[2:4]


def test_forgotten_rows_are_gone_their_numbers_are_not_given_out_again_and_their_sums_stay(cache: CallCache) -> None:
    cache.put("a", call(), entry("a"))
    cache.note(entry("a", status="rate_limited", cost=None))
    cache.note(entry("a", cached=True))
    cache.put("b", call(cost=None), entry("b", cost=None))
    before = cache.stats()
    rows = cache.journal_after(0)
    assert cache.forget_journal(rows[1][0]) == 2
    assert cache.stats().uses == before.uses
    assert cache.forget_journal(rows[-1][0]) == 2
    assert cache.forget_journal(rows[-1][0]) == 0
    assert cache.stats() == replace(before, bytes=cache.stats().bytes)
    cache.note(entry("c"))
    assert [(row > rows[-1][0], one.key) for row, one in cache.journal_after(0)] == [(True, "c")]


def test_stats_add_up_by_model_and_stage_and_say_what_is_unknown(cache: CallCache) -> None:
    cache.put("a", call(), entry("a", cost=0.25))
    cache.put("b", call(), entry("b", cost=None))
    cache.note(entry("c", cost=0.5, status="truncated"))
    cache.note(entry("c", cost=None, status="timeout"))
    cache.note(entry("a", cost=0.25, cached=True))
    cache.note(entry("a", cost=0.25, cached=True))
    cache.note(entry("b", cost=None, cached=True))
    cache.note(replace(entry("d", cost=2.0), stage="answer", model="anthropic:claude-haiku-4-5"))
    stats = cache.stats()
    assert stats.answers == 2
    assert stats.answers_by_model == {"openai:gpt-5.2": 2}
    assert stats.oldest is not None
    assert stats.newest is not None
    assert time.time() - 60 < stats.oldest <= stats.newest <= time.time()
    other_stage, scored = stats.uses
    assert (other_stage.stage, other_stage.calls, other_stage.cost_usd) == ("answer", 1, 2.0)
    assert (scored.calls, scored.failed, scored.cached, scored.input_tokens, scored.output_tokens) == (
        4,
        2,
        3,
        3600,
        480,
    )
    assert (scored.cost_usd, scored.unpriced, scored.saved_usd, scored.unpriced_saved) == (0.75, 1, 0.5, 1)


def aged(cache: CallCache, key: str, days: float, model: str = "openai:gpt-5.2") -> None:
    cache.put(key, call(), replace(entry(key), model=model))
    cache._db.execute("update answers set made_at = ? where key = ?", (time.time() - days * 86_400, key))


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ({"older_than": 5}, {"new", "new other"}),
        ({"model": "openai:o"}, {"old", "new"}),
        ({"older_than": 5, "model": "openai:o"}, {"old", "new", "new other"}),
        ({"everything": True}, set()),
        ({"model": "openai:none"}, {"old", "new", "old other", "new other"}),
    ],
)
def test_prune_removes_what_was_named_after_saying_so_and_keeps_the_journal(
    cache: CallCache, arguments: dict[str, object], left: set[str]
) -> None:
    for key, days, model in (("old", 9, "openai:m"), ("new", 1, "openai:m")):
        aged(cache, key, days, model)
        aged(cache, f"{key} other", days, "openai:o")
    said = cache.prune(**arguments, dry_run=True)  # type: ignore[arg-type]
    assert len(cache.get_many(["old", "new", "old other", "new other"])) == 4
    done = cache.prune(**arguments)  # type: ignore[arg-type]
    assert cache.get_many(["old", "new", "old other", "new other"]).keys() == left
    assert (said.answers, said.left, said.answer_bytes) == (done.answers, done.left, done.answer_bytes)
    assert (done.answers, done.left) == (4 - len(left), len(left))
    assert len(cache.journal_after(0)) == 4


def test_prune_gives_the_disk_space_back(cache: CallCache) -> None:
    for number in range(300):
        cache.put(f"k{number}", replace(call(), text=os.urandom(5_000).hex()), entry())
    before = cache.stats().bytes
    pruned = cache.prune(everything=True)
    assert pruned.freed_bytes > 0.9 * before
    assert cache.stats().bytes < 0.1 * before


def test_prune_of_nothing_named_is_a_mistake(cache: CallCache) -> None:
    with pytest.raises(ValueError, match="nothing says what"):
        cache.prune()


def test_closing_twice_is_once(tmp_path: Path) -> None:
    cache = CallCache(tmp_path)
    cache.close()
    cache.close()


def test_a_cache_of_the_version_before_is_brought_up_to_date_and_keeps_its_journal(tmp_path: Path) -> None:
    with CallCache(tmp_path / "older") as cache:
        cache.note(entry("before"))
    with sqlite3.connect(tmp_path / "older" / "calls.sqlite") as db:
        for name in ("cached_input_tokens", "cache_write_tokens"):
            db.execute(f"alter table journal drop column {name}")
        db.execute("alter table claims drop column sent")
        db.execute("pragma user_version = 1")
    db.close()
    with CallCache(tmp_path / "older") as cache:
        cache.note(replace(entry("after"), cached_input_tokens=3, cache_write_tokens=4))
        found = [one for _, one in cache.journal_after(0)]
    assert [one.cached_input_tokens for one in found] == [None, 3]
    assert [one.cache_write_tokens for one in found] == [None, 4]


def test_a_call_that_a_killed_process_has_sent_is_booked_once_and_one_that_it_heard_of_is_not(tmp_path: Path) -> None:
    script = f"""
import os, sys
from pathlib import Path
from dataclasses import replace
from flows.llm.cache.call_cache import CallCache
from tests.flows.llm.cache.entries import call, entry
cache = CallCache(Path({str(tmp_path)!r}))
for key in ("unread", "read", "faulty", "claimed"):
    assert cache.claim(key, 60)
for key in ("unread", "read", "faulty"):
    cache.mark_sent(entry(key, status="sent"))
cache.put("read", call(), entry("read"))
cache.note(entry("faulty", status="timeout"))
os.kill(os.getpid(), 9)
"""
    root = Path(__file__).parents[4]
    subprocess.run([sys.executable, "-c", script], cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False)
    for _ in range(2):
        with CallCache(tmp_path) as cache:
            found = sorted((one.key, one.status) for _, one in cache.journal_after(0))
            assert found == [("faulty", "timeout"), ("read", "done"), ("unread", "sent")]
    with CallCache(tmp_path) as cache:
        assert cache.claim("unread", 60)
