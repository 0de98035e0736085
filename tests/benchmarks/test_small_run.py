"""A run of one session of seven messages against the mere imports of what it cannot do without."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.conftest import ROOT, PrefectHome, prefect_home, write_session  # noqa: F401 (a fixture)

MOST = 2.2
"""Times the imports; 1.5 to 2.0 were measured."""
IMPORTS = "import flows.evaluate, flows.execution.prefect_in_process"


def core_seconds(environment: dict[str, str], *words: str) -> float:
    """Seconds of a core that a process of Python takes, with those that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.benchmark
def test_a_run_of_seven_messages_takes_little_more_than_its_imports(
    prefect_home: PrefectHome,  # noqa: F811 (the fixture)
    tmp_path: Path,
) -> None:
    write_session(tmp_path / "logs" / "one.jsonl", "session-1", 3)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    own |= {"PREFECT_HOME": str(prefect_home())}
    words = ["-m", "flows", "run", str(tmp_path / "logs"), "--points", "messages:4", "--store"]
    ratios = []
    for turn in range(3):
        imports = core_seconds(own, "-c", IMPORTS)
        whole = core_seconds(own, *words, str(tmp_path / f"store-{turn}"))
        print(f"\nimports {imports:.1f} s, run {whole:.1f} s")
        ratios.append(whole / imports)
    assert sorted(ratios)[1] < MOST
