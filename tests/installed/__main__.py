"""Every command once, as it runs where the wheel was installed with nothing but its dependencies.

Those of ``STARTED`` are started as people start them, and start Prefect servers of their own. Each of the others is a
process of its own too, but forked from one that has imported the command line (``tests.flows.forker``), with a Prefect
server that is configured: both take seconds of a core.

``python -m tests.installed commands`` in the checkout, with the Python of such an environment, as ``.ci/run`` makes it.
``python -m tests.installed notebook`` needs ipykernel and nbclient beside the wheel. There is no pytest in such an
environment. The commands run in a folder of their own, so that what is imported is the installed package. It has
packages that are called ``flows`` and ``sql``: the command does not mind, and ``import compaction_eval`` says which
folder is in the way.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

Run = Callable[[Path, str, dict[str, str]], tuple[int, str]]
"""Runs one line in a folder with an environment: exit code, and what it printed."""
ROOT = Path(__file__).parents[2]
PATIENCE = 600.0
"""Seconds after which a command counts as hanging."""
SAMPLE = ROOT / "flows" / "samples" / "logquery.jsonl"
STRATEGIES = "--strategies none,empty,mask_sweagent --limit 2 --quiet"
EVERY_NIGHT = '--cron "0 2 * * *" --now'
JUDGE = "--judge openai:x --quiet"
CALLS = (
    (f"lost {SAMPLE} --all", "kept 2 of 2 constraints"),
    ("init study.toml", "study.toml"),
    ("list strategies", "head_tail"),
    ("list formats", "claude_code"),
    ("list judges", "embedded"),
    ("list rubrics", "software_engineering"),
    ("describe head_tail", "| `tail` | `8` |"),
    (f"plan {STRATEGIES}", "model calls: none"),
    ("ingest --store other --quiet", "stored"),
    (f"run {STRATEGIES} --anchors 5", "mask_sweagent"),
    (f"backfill {JUDGE} --plan", "openai:x"),
    (f"backfill {JUDGE} --method none", "openai:x"),
    (f"backfill {JUDGE} --method empty --batch --no-wait", "openai:x"),
    (f"pairs none empty {JUDGE} --plan", "openai:x"),
    ("rebuild --json", "{"),
    ("accounting", "stored"),
    ("leaderboard --judge embedded", "mask_sweagent"),
    ("compare none empty --judge embedded", "overall"),
    ("recommend --baseline mask_sweagent", "mask_sweagent"),
    ("query", "weakest_dimension"),
    ("query weakest_dimension --judge embedded", "empty"),
    ("sql 'SELECT count(*) AS n_answers FROM answers'", "n_answers"),
    ("export leaderboard answers --output parquet", "leaderboard.parquet"),
    ("export leaderboard answers --output csv --format csv", "leaderboard.csv"),
    ("export leaderboard answers --output json --format json", "leaderboard.json"),
    ("export leaderboard answers --output markdown --format markdown", "leaderboard.md"),
    ("export --all --output all --quiet", ""),
    ("report report.html --judge embedded", "report.html"),
    ("view --no-open", "http://127.0.0.1:"),
    ("calibrate --sample 6 --judge embedded --output labels.csv", "labels.csv"),
    ("calibrate labels.csv --rater ada", "ada"),
    ("drift --now --anchors 5 --judge embedded --quiet", "embedded"),
    ("moved", "Night 1"),
    ("scorecard --judge embedded", "none"),
    ("cache stats", "openai:x"),
    ("cache prune --all --dry-run", ""),
    ("audit validity --judge embedded --questions 2 --quiet", "the true answer"),
    (f"audit pack {JUDGE} --sample 6", "each alone"),
    ("audit blinding --quiet", "p_value"),
    ("audit attacks --judge embedded --quiet", "other_rubric"),
    ("audit gradings --judge embedded --quiet", "10 of 10"),
    ("store drop --gone", "nothing to take out"),
    ("store prune --keep 30-nights", "nothing to take out"),
    ("doctor", "ok"),
    ("--show-completion", "_COMPACTION_EVAL_COMPLETE"),
    (f"serve {STRATEGIES.removesuffix(' --quiet')} --store nights {EVERY_NIGHT}", "Completed"),
)
"""What is typed, and what it has to print."""
FOREIGN = ("flows", "sql")
"""Packages of the folder in which the commands run."""
STARTED = ("init", "run")
"""Commands that are started by the installed script."""
LASTING = ("serve", "view")
"""The same, of those that go on until they are stopped."""
LEFT_UNDER_WAY = 4
"""The exit code of a backfill whose batch has not ended yet."""
MOST_LOOKS = 5
"""How often the same backfill is run until its batch has."""
NAMES = """
import json
from importlib.util import find_spec
import typer
from flows.cli.app import app

def names(command, path):
    below = getattr(command, "commands", None)
    if below is None:
        return [" ".join(path)]
    return [name for key, child in below.items() for name in names(child, [*path, key])]

origins = {package: find_spec(package).origin for package in ("compaction_eval", "compaction", "judge", "flows")}
print(json.dumps({"names": names(typer.main.get_command(app), []), "origins": origins}))
"""
"""Says what commands there are and where the packages are imported from."""
SERVER = """
import json, sys
from flows.execution.prefect_server import Server, prepare

prepare()
server = Server()
server.wait()
print(json.dumps(server.client_settings), flush=True)
sys.stdin.read()
server.stop()
"""
"""A Prefect server for as long as stdin is open; says how it is reached."""


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for in a new folder; exit code 1 when anything is not as it should be."""
    if [*arguments] not in (["commands"], ["notebook"]):
        print("usage: python -m tests.installed commands|notebook", file=sys.stderr)
        return 2
    with TemporaryDirectory(prefix="installed-") as folder:
        wrong = commands(Path(folder)) if arguments[0] == "commands" else notebook(Path(folder))
    for sentence in wrong:
        print(f"failed: {sentence}", file=sys.stderr)
    return 1 if wrong else 0


def commands(folder: Path) -> list[str]:
    """Run every command of the installed package; what was wrong."""
    wrong = [
        f"{name} is installed here: this is to be the wheel with nothing but its dependencies"
        for name in ("pandas", "psutil", "pytest")
        if find_spec(name)
    ]
    wrong += _in_the_way(folder)
    found = json.loads(_python(folder, "-P", "-c", NAMES))
    wrong += [
        f"{package} is imported from {origin}: install the wheel"
        for package, origin in found["origins"].items()
        if ROOT in Path(origin).parents and Path(sys.prefix) not in Path(origin).parents
    ]
    typed = [_name(line, found["names"]) for line, _ in CALLS]
    wrong += [f"no call of `{name}`: add one to CALLS in {__file__}" for name in found["names"] if name not in typed]

    from tests.flows.llm.batch_server import BatchProvider

    with (
        BatchProvider(handler=_verdict, polls=0) as provider,
        _prefect_server(folder) as server,
        _forking(folder, server) as forked,
    ):
        environment = _environment(folder) | {"OPENAI_BASE_URL": provider.openai_url}
        for line, expected in CALLS:
            # A plan needs no key.
            key = {"OPENAI_API_KEY": "sk-any"} if "openai:" in line and "--plan" not in line else {}
            lasting = partial(_lasting, expected)
            run = lasting if line.startswith(LASTING) else _started if line.startswith(STARTED) else forked
            started = time.monotonic()
            code, output = _run(run, folder, line, environment | key | (server if run is forked else {}))
            print(f"{time.monotonic() - started:6.1f} s  compaction-eval {line}", flush=True)
            if code or expected not in output:
                wrong.append(f"compaction-eval {line}\nexit code {code}, expected {expected!r} in\n{output}")
        asked = Counter(request.path for request in provider.requests)
    wrong += [f"nothing was asked at {path}" for path in ("/v1/chat/completions", "/v1/batches") if not asked[path]]
    print(f"{len(found['names'])} commands in {len(CALLS)} calls, {len(wrong)} failed")
    return wrong


def _in_the_way(folder: Path) -> list[str]:
    """Write packages that are called like two of ours, and import from beside them; what was wrong."""
    for name in FOREIGN:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise RuntimeError('the foreign package was imported')\n")
    imported = [sys.executable, "-c", "import compaction_eval"]
    ended = subprocess.run(
        imported, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    told = f"ImportError: {folder} has a package {FOREIGN[0]!r}"
    return [] if told in ended.stderr else [f"import compaction_eval\nexpected {told!r} in\n{ended.stderr}"]


def notebook(folder: Path) -> list[str]:
    """Execute the notebook of the documentation on a store of samples; what was wrong."""
    import nbclient
    import nbformat

    from flows.cli.pages import docs_pages as pages

    wrong = [f"{name} is installed here" for name in ("ipywidgets", "pandas") if find_spec(name)]
    code, output = _started(folder, f"run {STRATEGIES}", _environment(folder))
    if code:
        return [*wrong, f"compaction-eval run\nexit code {code}\n{output}"]
    cells = nbformat.reads(pages.notebook((ROOT / "docs" / "notebooks.md").read_text("utf-8")), as_version=4)
    try:
        nbclient.NotebookClient(cells, kernel_name="python3", timeout=PATIENCE).execute(cwd=folder)
    except nbclient.exceptions.CellExecutionError as error:
        wrong.append(f"docs/notebooks.md: {error}")
    print(f"docs/notebooks.md: {len(cells.cells)} cells, {len(wrong)} failed")
    return wrong


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of this machine's settings: no other folder's packages, no key, no Prefect server."""
    kept = ("PATH", "LANG", "LC_ALL", "TMPDIR")
    own = {"HOME": str(folder), "PREFECT_HOME": str(folder / "prefect"), "COLUMNS": "200"}
    return {name: os.environ[name] for name in kept if name in os.environ} | own


def _python(folder: Path, *arguments: str) -> str:
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return ended.stdout


def _name(line: str, names: Sequence[str]) -> str:
    """The command that a line runs."""
    words = shlex.split(line)
    return next((name for name in names if words[: len(name.split())] == name.split()), "")


def _typed(line: str) -> list[str]:
    return [str(Path(sys.executable).parent / "compaction-eval"), *shlex.split(line)]


def _run(run: Run, folder: Path, line: str, environment: dict[str, str]) -> tuple[int, str]:
    """Run it to its end, a batch until it has ended: exit code, and what it printed."""
    if line == "--show-completion":  # the shell of the terminal, which there is none here
        environment = environment | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        line = "--show-completion bash"
    if line.startswith("calibrate labels.csv"):
        _label(folder / "labels.csv")
    for _ in range(MOST_LOOKS):
        code, output = run(folder, line, environment)
        if "--no-wait" not in line or code != LEFT_UNDER_WAY:
            break
    return code, output


def _started(folder: Path, line: str, environment: dict[str, str]) -> tuple[int, str]:
    ended = subprocess.run(
        _typed(line), cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    return ended.returncode, ended.stdout + ended.stderr


@contextmanager
def _prefect_server(folder: Path) -> Iterator[dict[str, str]]:
    """What is set in the environment where a Prefect server is configured."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=folder,
        env=_environment(folder) | {"PYTHONSAFEPATH": "1"},  # for the processes that it starts too
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
        process.communicate()


@contextmanager
def _forking(folder: Path, server: dict[str, str]) -> Iterator[Run]:
    """Runs commands in processes that have imported what every command needs, Prefect with its settings too."""
    # -P: nothing is imported from the folder of the script.
    forker = [sys.executable, "-P", str(ROOT / "tests" / "flows" / "forker.py")]
    with subprocess.Popen(
        forker, cwd=folder, env=_environment(folder) | server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None
        assert answers is not None
        assert answers.readline(), "the forker did not start"

        def ask(order: dict[str, object]) -> int | None:
            asked.write(json.dumps(order) + "\n")
            asked.flush()
            answer: int | None = json.loads(answers.readline())
            return answer

        def run(_: Path, line: str, environment: dict[str, str]) -> tuple[int, str]:
            out, err = folder / "printed.out", folder / "printed.err"
            how = {"fresh": False, "most_bytes": None, "cores": os.cpu_count()}
            pid = ask({"run": shlex.split(line), "env": environment, "out": str(out), "err": str(err), **how})
            deadline = time.monotonic() + PATIENCE
            while (code := ask({"ended": pid})) is None:
                assert time.monotonic() < deadline, f"compaction-eval {line} hangs"
                time.sleep(0.02)
            return code, out.read_text() + err.read_text()

        yield run


def _lasting(expected: str, folder: Path, line: str, environment: dict[str, str]) -> tuple[int, str]:
    """Let a command go on until it has printed what is expected; 0 when it ends as it is told to."""
    log = folder / "lasting.log"
    with log.open("wb") as out:
        serving = subprocess.Popen(_typed(line), cwd=folder, env=environment, stdout=out, stderr=out)
    deadline = time.monotonic() + PATIENCE
    while serving.poll() is None and expected not in log.read_text() and time.monotonic() < deadline:
        time.sleep(0.5)
    serving.send_signal(signal.SIGTERM)
    code = serving.wait(PATIENCE)
    return (0 if code in (128 + signal.SIGTERM, -signal.SIGTERM) else code), log.read_text()


def _label(sheet: Path) -> None:
    """Give every answer of a drawn sheet the same score, as a person would."""
    with sheet.open(newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines))
    with sheet.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        for row in rows:
            empty = {name: "3" for name, value in row.items() if not value and name not in ("rater", "notes")}
            writer.writerow(row | empty)


def _verdict(body: dict[str, object]) -> str:
    """A verdict on every criterion that the request names."""
    asked = re.search(r'\\?"rubric_criteria\\?"\s*:\s*\[(.*?)\]', json.dumps(body).replace('\\"', '"'), re.DOTALL)
    ids = re.findall(r'"(\w+)"', asked[1]) if asked else []
    results = [{"criterionId": name, "score": 3, "reasoning": "as seen"} for name in ids]
    return json.dumps({"criterionResults": results, "aggregateScore": 3.0, "dimensionScores": {}})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
