"""Reading logs: its speed beside plain JSON reading of the same bytes, and its memory on a folder of any size.

``COMPACTION_EVAL_BENCH`` names the folders to read, separated by colons; without it logs are generated.
``COMPACTION_EVAL_BENCH_GB`` sets the size of the large folder (1 by default).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows.sources import Input, discover, read_input
from tests.benchmarks.test_speed import Peak

MB = 1 << 20


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_reading_beside_plain_json_of_the_same_bytes() -> None:
    given = os.environ.get("COMPACTION_EVAL_BENCH")
    inputs = discover(given.split(":") if given else [str(files("flows").joinpath("samples"))])
    figures: dict[str, list[float]] = {}
    for input in inputs:
        plain = best(lambda one=input: plain_json(one))
        start = time.perf_counter()
        result = read_input(input)
        first = time.perf_counter() - start
        ours = min(first, best(lambda one=input: read_input(one), 2))
        if plain is not None and result.transcripts:
            row = figures.setdefault(str(result.format), [0, 0, 0])
            for index, value in enumerate((input.size, plain, ours)):
                row[index] += value
    print(f"\n{'format':24}{'MB':>8}{'orjson MB/s':>13}{'reader MB/s':>13}{'ratio':>7}")
    for format, (size, plain, ours) in sorted(figures.items()):
        print(f"{format:24}{size / MB:8.1f}{size / MB / plain:13.0f}{size / MB / ours:13.0f}{ours / plain:7.2f}")
    assert figures


def best(work: Any, times: int = 3) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def plain_json(input: Input) -> None:
    """What any reader has to do at least: read the bytes and decode each value."""
    paths = [input.path] if input.kind == "file" else sorted(input.path.iterdir())
    for path in paths:
        data = path.read_bytes()
        try:
            orjson.loads(data)
        except orjson.JSONDecodeError:
            for line in data.split(b"\n"):
                try:
                    orjson.loads(line)
                except orjson.JSONDecodeError:
                    continue


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_the_memory_of_ingesting_a_large_folder(tmp_path: Path) -> None:
    gigabytes = float(os.environ.get("COMPACTION_EVAL_BENCH_GB", "1"))
    folder = tmp_path / "logs"
    folder.mkdir()
    write_log(folder / "long.jsonl", "long", 200 * MB)
    write_log(folder / "line.jsonl", "line", 40 * MB, one_line=30 * MB)
    number = 0
    while sum(path.stat().st_size for path in folder.iterdir()) < gigabytes * 1024 * MB:
        write_log(folder / f"{number}.jsonl", f"s{number}", 16 * MB)
        number += 1
    size = sum(path.stat().st_size for path in folder.iterdir())
    start = time.perf_counter()
    for input in discover([str(folder)]):
        plain_json(input)
    plain = time.perf_counter() - start
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "flows", "ingest", str(folder), "--store", str(tmp_path / "store"), "--quiet"],
        stdout=subprocess.PIPE,
        text=True,
    )
    peak = Peak(process.pid)
    said, _ = process.communicate()
    wall = time.perf_counter() - start
    most = peak.stop()
    print(f"\n{size / MB:,.0f} MB in {number + 2} files, one of 200 MB, one with a line of 30 MB")
    print(f"plain orjson, one thread: {plain:.1f} s; ingest: {wall:.1f} s wall = {wall / plain:.1f} x")
    print(f"peak memory of all processes together: {most / MB:,.0f} MB")
    print(said.splitlines()[-3:])
    assert process.returncode == 0


def write_log(path: Path, session: str, size: int, one_line: int = 0) -> None:
    """A session in the form of Claude Code's logs, of about this many bytes."""
    with path.open("wb") as file:
        for line in log_lines(session, one_line):
            file.write(orjson.dumps(line) + b"\n")
            if file.tell() >= size:
                break


def log_lines(session: str, one_line: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(session)
    words = [
        f"{chance.choice('bdfglmnprst')}{chance.choice('aeiou')}{chance.choice('lnrst')}{n:x}" for n in range(3000)
    ]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, k=max(1, length // 6)))

    def line(kind: str, number: int, content: Any, **more: Any) -> dict[str, Any]:
        message = {"role": kind, "content": content, **more}
        return {
            "type": kind,
            "uuid": f"{session}-{number}",
            "parentUuid": f"{session}-{number - 1}" if number else None,
            "sessionId": session,
            "isSidechain": False,
            "cwd": "/srv/mill",
            "timestamp": "2026-03-01T10:00:00Z",
            "message": message,
        }

    yield line("user", 0, f"Repair the mill of {session}: " + text(400))
    number = 1
    while True:
        call = f"toolu_{session}_{number:012d}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "cat " + text(60)}}
        yield line("assistant", number, [{"type": "text", "text": text(300)}, use], id=f"msg_{session}_{number}")
        output = text(one_line) if one_line and number == 21 else text(chance.choice((200, 2_000, 20_000)))
        yield line("user", number + 1, [{"type": "tool_result", "tool_use_id": call, "content": output}])
        number += 2


def test_the_generated_log_is_one_that_a_reader_takes_whole(tmp_path: Path) -> None:
    write_log(tmp_path / "a.jsonl", "a", 300_000, one_line=50_000)
    (input,) = discover([str(tmp_path)])
    result = read_input(input)
    (transcript,) = result.transcripts
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(transcript) == len(lines)
    assert max(len(message.text) for message in transcript.messages) > 40_000
