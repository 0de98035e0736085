"""The call cache against a bare sqlite3 table with the same answers, in one run."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from flows.llm.cache.call_cache import CallCache, JournalEntry, StoredCall
from flows.llm.clients.transport import TokenUse

ROOT = Path(__file__).parents[2]
ANSWERS = 100_000
LOOKUPS = 20_000
PUTS = 2_000
"""By each of four processes; by all threads together."""
BARE = "create table answers (key text primary key, answer text)"


def verdict(number: int) -> str:
    """A text of the size and kind of a verdict: about 1.1 kB."""
    chance = random.Random(number)
    words = ("the answer names file error step decision missing wrong complete earlier later test which not").split()
    return json.dumps(
        {
            "scores": {f"criterion_{n}": chance.randint(0, 5) for n in range(6)},
            "reasons": [" ".join(chance.choices(words, k=25)) for _ in range(6)],
        }
    )


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def stored(number: int) -> StoredCall:
    return StoredCall(verdict(number), "gpt-5.2-2025-12-11", TokenUse(15_000, 250), 0.03, 2.5)


def entry(number: int, cached: bool = False) -> JournalEntry:
    return JournalEntry(
        call_id=uuid.uuid4().hex,
        run_id="run",
        stage="score",
        item_id=key(number)[:24],
        model="openai:gpt-5.2",
        key=key(number),
        input_tokens=15_000,
        output_tokens=250,
        cost_usd=0.03,
        cached=cached,
        seconds=2.5,
        status="done",
        started_at="2026-11-20T10:00:00+00:00",
    )


def each(work: Callable[[str], object], keys: Sequence[str]) -> tuple[float, float]:
    """Median and 99th percentile of one call, in microseconds."""
    taken = []
    for one in keys:
        start = time.perf_counter_ns()
        work(one)
        taken.append(time.perf_counter_ns() - start)
    taken.sort()
    return taken[len(taken) // 2] / 1e3, taken[int(len(taken) * 0.99)] / 1e3


def in_threads(threads: int, work: Callable[[int], None]) -> float:
    """Seconds until all threads have done their part."""
    crew = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    start = time.perf_counter()
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    return time.perf_counter() - start


@pytest.mark.benchmark
@pytest.mark.timeout(600)
def test_lookups_against_a_bare_table(tmp_path: Path) -> None:
    bare = sqlite3.connect(tmp_path / "bare.sqlite", isolation_level=None)
    bare.execute("pragma journal_mode = wal")
    bare.execute(BARE)
    bare.execute("begin")
    bare.executemany("insert into answers values (?, ?)", ((key(n), verdict(n)) for n in range(ANSWERS)))
    bare.execute("commit")
    cache = CallCache(tmp_path / "cache")
    start = time.perf_counter()
    for number in range(ANSWERS):
        cache.put(key(number), stored(number), entry(number))
    print(f"\n{ANSWERS / (time.perf_counter() - start):,.0f} puts/s from one thread, a transaction each")

    asked = [key(n) for n in random.Random(1).choices(range(ANSWERS), k=LOOKUPS)]
    asked_bare = lambda one: bare.execute("select answer from answers where key = ?", (one,)).fetchone()  # noqa: E731
    for work in (asked_bare, cache.get):
        each(work, asked)  # both warm
    bare_p50, bare_p99 = each(asked_bare, asked)
    p50, p99 = each(cache.get, asked)
    miss_p50, _ = each(cache.get, [f"x{one}" for one in asked])
    start = time.perf_counter()
    found = sum(len(cache.get_many(asked[at : at + 500])) for at in range(0, LOOKUPS, 500))
    many = (time.perf_counter() - start) / LOOKUPS * 1e6
    start = time.perf_counter()
    for number, one in enumerate(asked):
        cache.get(one)
        cache.note(entry(number, cached=True))
    served = LOOKUPS / (time.perf_counter() - start)
    print(f"lookup in {ANSWERS:,} answers: p50 {p50:.1f} µs, p99 {p99:.1f} µs; a miss {miss_p50:.1f} µs")
    print(f"bare table:                  p50 {bare_p50:.1f} µs, p99 {bare_p99:.1f} µs: {p50 / bare_p50:.1f} x it")
    print(f"get_many of 500: {many:.1f} µs a key ({found:,} found): {many / bare_p50:.1f} x a bare lookup")
    print(f"lookup and journal row of the use: {served:,.0f}/s")

    def read(number: int) -> None:
        for one in asked[number::64]:
            cache.get(one)

    seconds = in_threads(64, read)
    print(f"64 threads: {LOOKUPS / seconds:,.0f} lookups/s")
    size = cache.stats().bytes
    text = sum(len(verdict(n)) for n in range(1000)) / 1000
    print(f"file: {size / ANSWERS:,.0f} bytes an answer with its journal row, of which its text is {text:,.0f}")
    cache.close()
    bare.close()
    assert found <= LOOKUPS
    assert p50 < 1000


WRITER = """
import sys, time
from pathlib import Path
from flows.llm.cache.call_cache import CallCache
from tests.benchmarks.test_cache import PUTS, entry, key, stored
name, folder = int(sys.argv[1]) * 10**7, Path(sys.argv[2])
rows = [(key(name + n), stored(n), entry(name + n)) for n in range(PUTS)]
cache = CallCache(folder)
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
for row in rows:
    cache.put(*row)
print(time.perf_counter() - start, flush=True)
"""

BARE_WRITER = """
import sqlite3, sys, time
from tests.benchmarks.test_cache import PUTS, key, verdict
name = int(sys.argv[1]) * 10**7
rows = [(key(name + n), verdict(n)) for n in range(PUTS)]
db = sqlite3.connect(sys.argv[2], isolation_level=None, timeout=60)
db.execute("pragma synchronous = normal")
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
for row in rows:
    db.execute("insert into answers values (?, ?)", row)
print(time.perf_counter() - start, flush=True)
"""


def together(code: str, place: Path) -> float:
    """Rows a second of four processes that write at once."""
    crew = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(number), str(place)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for one in crew:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    start = time.perf_counter()
    for one in crew:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in crew:
        assert one.stdout is not None
        assert float(one.stdout.readline()) > 0
    seconds = time.perf_counter() - start
    for one in crew:
        one.communicate()
    return 4 * PUTS / seconds


@pytest.mark.benchmark
@pytest.mark.timeout(600)
def test_puts_from_four_processes_and_64_threads_against_a_bare_table(tmp_path: Path) -> None:
    bare = sqlite3.connect(tmp_path / "bare.sqlite", isolation_level=None)
    bare.execute("pragma journal_mode = wal")
    bare.execute(BARE)
    bare.close()
    CallCache(tmp_path / "cache").close()
    plain = together(BARE_WRITER, tmp_path / "bare.sqlite")
    puts = together(WRITER, tmp_path / "cache")
    print(f"\n4 processes: {puts:,.0f} puts/s (answer and journal row), bare {plain:,.0f} rows/s: {puts / plain:.2f} x")
    cache = CallCache(tmp_path / "threads")
    rows = [(key(n), stored(n), entry(n)) for n in range(PUTS)]

    def write(number: int) -> None:
        for row in rows[number::64]:
            cache.put(*row)

    seconds = in_threads(64, write)
    print(f"64 threads: {PUTS / seconds:,.0f} puts/s")

    def claim(number: int) -> None:
        for row in rows[number::64]:
            cache.claim(f"c{row[0]}", 60)
            cache.put(f"c{row[0]}", *row[1:])

    seconds = in_threads(64, claim)
    print(f"64 threads: {PUTS / seconds:,.0f} claims with their puts a second")
    with CallCache(tmp_path / "cache") as written:
        assert written.stats().answers == 4 * PUTS
    assert cache.stats().answers == 2 * PUTS
    cache.close()
