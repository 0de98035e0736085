"""The whole embedded run against one single-threaded tiktoken pass over the same messages.

``COMPACTION_EVAL_BENCH`` names the folders to run on, separated by colons; without it the sample sessions are
multiplied until they have about as many tokens as the sessions that the project was developed with.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

from compaction import TiktokenCounter, Transcript
from compaction.tokens import counted_text
from flows.sources import discover, read_input

WANTED_TOKENS = 4_000_000
_STAGE = re.compile(r"^(\w+): done, .* in ([\d.]+) (s|min)")


@pytest.mark.benchmark
@pytest.mark.timeout(1800)
def test_the_embedded_run_against_one_tokenising_pass(tmp_path: Path) -> None:
    given = os.environ.get("COMPACTION_EVAL_BENCH")
    sources = given.split(":") if given else [str(multiplied_samples(tmp_path / "sessions"))]
    transcripts = [t for one in discover(sources) for t in read_input(one).transcripts]
    tokens, one_pass = tokenising_pass(transcripts)
    wall, cpu, peak, stages = embedded_run(sources, tmp_path / "store")
    again, _, _, _ = embedded_run(sources, tmp_path / "store")
    work = sum(stages.values())
    print(f"\n{len(transcripts)} sessions, {sum(map(len, transcripts)):,} messages, {tokens:,} tokens")
    print(f"one tiktoken pass, one thread: {one_pass:.2f} s")
    print("  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in stages.items()))
    print(f"all stages:      {work:6.1f} s wall = {work / one_pass:5.1f} x the pass")
    print(
        f"the whole run:   {wall:6.1f} s wall = {wall / one_pass:5.1f} x, {cpu:.1f} s CPU (with Prefect's own server)"
    )
    print(f"run again:       {again:6.1f} s wall")
    print(f"peak memory of all its processes together: {peak / 1e6:,.0f} MB")
    assert stages


def tokenising_pass(transcripts: list[Transcript]) -> tuple[int, float]:
    """Tokens, and seconds to count every message once with tiktoken in this thread."""
    counter = TiktokenCounter()
    texts = [counted_text(message) for transcript in transcripts for message in transcript.messages]
    start = time.perf_counter()
    tokens = sum(map(counter.count, texts))
    return tokens, time.perf_counter() - start


def embedded_run(sources: list[str], store: Path) -> tuple[float, float, int, dict[str, float]]:
    """Seconds wall, seconds CPU, peak bytes of the process and all below it, seconds by stage."""
    before = os.times()
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "flows", "run", *sources, "--store", str(store)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    peak = Peak(process.pid)
    assert process.stderr is not None
    lines = process.stderr.read().splitlines()
    process.wait()
    wall = time.perf_counter() - start
    after = os.times()
    assert process.returncode in (0, 3), lines[-3:]
    found = [match for line in lines if (match := _STAGE.match(line))]
    stages = {m[1]: float(m[2]) * (60 if m[3] == "min" else 1) for m in found}
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, peak.stop(), stages


class Peak:
    """Watches the resident memory of a process and its children."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            total = 0
            try:
                family = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            for one in family:
                try:
                    total += one.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self._most = max(self._most, total)

    def stop(self) -> int:
        """The most bytes that were seen at once."""
        self._over.set()
        self._thread.join()
        return self._most


def multiplied_samples(folder: Path) -> Path:
    """The sample sessions again and again, each copy with words of its own, as chat lists."""
    folder.mkdir()
    samples = [t for one in discover([str(files("flows").joinpath("samples"))]) for t in read_input(one).transcripts]
    counter = TiktokenCounter()
    tokens = sum(counter.count(counted_text(m)) for t in samples for m in t.messages)
    for copy in range(-(-WANTED_TOKENS // tokens)):
        for transcript in samples:
            messages = [_chat(asdict(message), copy) for message in transcript.messages]
            (folder / f"{transcript.session_id}-{copy}.json").write_text(json.dumps(messages))
    return folder


def _chat(message: dict[str, object], copy: int) -> dict[str, object]:
    found: dict[str, object] = {"role": message["role"], "content": f"{message['text']}\n(copy {copy})"}
    calls = message["tool_calls"]
    if isinstance(calls, tuple | list) and calls:
        found["tool_calls"] = [
            {
                "id": f"{c['id']}-{copy}",
                "type": "function",
                "function": {"name": c["name"], "arguments": c["arguments"]},
            }
            for c in calls
        ]
    if message["tool_call_id"]:
        found["tool_call_id"] = f"{message['tool_call_id']}-{copy}"
    return found
