"""Made-up sessions: the same for a seed, read back without loss, and spread like the profile that they follow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from compaction import Transcript
from compaction.reading.file_effects import file_ops
from flows.config.study import Study
from flows.pipeline.tasks.ingest import ingest_batch
from flows.sessions.deduplicate import deduplicate
from flows.sessions.session_parts import load_session, read_parts
from flows.sources import discover, read_input
from flows.store.store import Store
from flows.support.errors import EvalError, UsageError
from tests.synth.__main__ import app
from tests.synth.chance import chance_of
from tests.synth.corpus import Corpus, check_room, write
from tests.synth.cue_words import is_decision, said
from tests.synth.measure import measure_profile
from tests.synth.profile import BANDS, LEVELS, Profile, Spread, load_profile, shipped
from tests.synth.writers import FORMATS

MESSAGES = 5_000


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.synth", *arguments], capture_output=True, text=True, check=False
    )


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def transcripts(folder: Path) -> Iterator[Transcript]:
    for input in discover([str(folder)]):
        result = read_input(input)
        assert not result.set_aside
        yield from result.transcripts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("synth") / "corpus"
    done = write(Corpus(shipped(), MESSAGES), folder)
    assert done.messages == MESSAGES
    return folder


@pytest.fixture(scope="module")
def store(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    root = str(tmp_path_factory.mktemp("synth-store") / "store")
    made = Store.create(root, "o200k_base")
    ingest_batch(root, Study(sources=(str(corpus),), store=root), discover([str(corpus)]), 1)
    deduplicate(made)
    return made


@pytest.fixture(scope="module")
def measured(store: Store) -> Profile:
    return measure_profile(store)


def test_the_same_seed_writes_the_same_bytes_whatever_the_number_of_processes(tmp_path: Path) -> None:
    made = Corpus(shipped(), 10_000, seed=3)
    write(made, tmp_path / "one")
    write(made, tmp_path / "two", processes=2)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_another_seed_writes_other_sessions(tmp_path: Path) -> None:
    write(Corpus(shipped(), 300, seed=1), tmp_path / "one")
    write(Corpus(shipped(), 300, seed=2), tmp_path / "two")
    one, two = bytes_of(tmp_path / "one"), bytes_of(tmp_path / "two")
    assert one.keys().isdisjoint(two)
    assert set(one.values()).isdisjoint(two.values())


def test_a_larger_corpus_begins_with_the_same_lengths(tmp_path: Path) -> None:
    small, large = (list(Corpus(shipped(), n).plan()) for n in (2_000, 20_000))
    assert small[:-1] == large[: len(small) - 1]
    assert sum(planned.n_messages for planned in large) == 20_000


def test_what_is_written_is_read_back_whole(store: Store, corpus: Path) -> None:
    (part,) = read_parts(store)
    assert sum(info.n_messages for info in part.sessions) == MESSAGES
    assert len(part.inputs) == len(part.sessions) == len(bytes_of(corpus))
    assert not part.folded
    assert not list(store.quarantine.glob("*"))
    assert {info.source_format for info in part.sessions} == set(FORMATS)
    for record in part.inputs:
        aside = dict.fromkeys(("user", "assistant", "tool", "system", "tool_call"), 0)
        for kind, _, number in record.aside:
            if kind in aside:
                aside[kind] += number
        roles = {kind: n for kind, n in record.met.items() if kind in aside and kind != "tool_call"}
        assert sum(roles.values()) - sum(n for kind, n in aside.items() if kind != "tool_call") == record.n_messages


def test_no_session_has_results_that_were_not_asked_for(store: Store) -> None:
    (part,) = read_parts(store)
    assert not any(info.n_stray_results for info in part.sessions)
    # A session that is cut where the messages are used up may end with its calls.
    n_cut = sum(1 for info in part.sessions if info.n_open_calls)
    assert 0 < n_cut < len(part.sessions) / 2


def test_sessions_are_as_long_as_those_of_the_profile() -> None:
    """Of a corpus of the size of the study's: the mean within a tenth, the share of each band within a fiftieth."""
    wanted, plan = shipped(), list(Corpus(shipped(), 36_611).plan())
    assert sum(planned.n_messages for planned in plan) / len(plan) == pytest.approx(wanted.session_messages, rel=0.1)
    for at, band in enumerate(wanted.bands):
        share = sum(planned.band == at for planned in plan) / len(plan)
        assert share == pytest.approx(band.share, abs=0.02)


@pytest.mark.parametrize("least", BANDS)
def test_texts_are_as_long_as_those_of_the_profile(measured: Profile, least: int) -> None:
    """The mean within a third, where the band has enough of it: most sizes are long-tailed."""
    wanted, found = (next(band for band in profile.bands if band.least == least) for profile in (shipped(), measured))
    compared = {
        **{f"{k} result": (wanted.tools[k].result.mean, t.result.mean) for k, t in found.tools.items()},
        **{kind: (spread.mean, found.chars[kind].mean) for kind, spread in wanted.chars.items()},
    }
    usual = [kind for kind in ("talk", "remark", "user", "read result", "shell result") if kind in compared]
    total = sum(compared[kind][0] for kind in usual)
    assert sum(compared[kind][1] for kind in usual) == pytest.approx(total, rel=0.5)


def test_turns_calls_and_errors_are_those_of_the_profile(measured: Profile) -> None:
    for band in shipped().bands[2:]:
        found = next(one for one in measured.bands if one.least == band.least)
        assert found.results[0] == pytest.approx(band.results[0], abs=0.08)
        assert found.user_after_calls == pytest.approx(band.user_after_calls, abs=0.05)
        assert found.has_text == pytest.approx(band.has_text, abs=0.1)
        assert found.tools["shell"].share == pytest.approx(band.tools["shell"].share, abs=0.12)
        assert found.tools["shell"].error == pytest.approx(band.tools["shell"].error, abs=0.06)
        assert found.again["modified"] == pytest.approx(band.again["modified"], abs=0.15)


def test_what_can_be_asked_for_is_as_frequent_as_in_the_profile(measured: Profile) -> None:
    wanted = shipped()
    assert measured.content["decision"] == pytest.approx(wanted.content["decision"], abs=0.05)
    assert measured.content["intent"] == pytest.approx(wanted.content["intent"], abs=0.15)
    assert measured.content["error lines"] == pytest.approx(wanted.content["error lines"], abs=0.06)
    assert measured.repeated["tool"] == pytest.approx(wanted.repeated["tool"], abs=0.08)
    assert measured.repeated["assistant"] < 0.02


def test_tokens_and_characters_are_in_the_proportion_of_real_ones(measured: Profile) -> None:
    real, made = (profile.measured["chars"] / profile.measured["tokens"] for profile in (shipped(), measured))
    assert made == pytest.approx(real, rel=0.08)


def test_a_profile_is_numbers_alone(measured: Profile, tmp_path: Path) -> None:
    measured.write(tmp_path / "profile.json")
    assert load_profile(tmp_path / "profile.json") == measured

    def leaves(value: object) -> Iterator[object]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                yield from leaves(one)
        else:
            yield value

    assert all(isinstance(leaf, int | float) for leaf in leaves(json.loads((tmp_path / "profile.json").read_text())))


def test_a_spread_draws_its_own_mean() -> None:
    spread = Spread.of([1, 2, 3, 5, 8, 13, 200, 900, 2, 4] * 20)
    chance = chance_of("mean")
    drawn = [spread.draw(chance) for _ in range(20_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(spread.mean, rel=0.05)
    assert len(spread.quantiles) == len(LEVELS)


@pytest.mark.parametrize("compression", ["gzip", "zst"])
def test_compressed_logs_are_read_as_the_plain_ones(tmp_path: Path, compression: str) -> None:
    plain = Corpus(shipped(), 200)
    write(plain, tmp_path / "plain")
    write(replace(plain, compression=compression), tmp_path / "packed")
    one, two = (
        {t.session_id: [m.text for m in t.messages] for t in transcripts(tmp_path / name)}
        for name in ("plain", "packed")
    )
    assert one == two
    assert sum(map(len, bytes_of(tmp_path / "packed").values())) < sum(map(len, bytes_of(tmp_path / "plain").values()))


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(UsageError, match="not empty"):
        write(Corpus(shipped(), 10), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_disk_without_room_is_said_before_anything_is_written(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    with pytest.raises(EvalError, match="GB left"):
        check_room(Corpus(shipped(), 10 + free // 200), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_size_is_foreseen(tmp_path: Path, corpus: Path) -> None:
    written = sum(map(len, bytes_of(corpus).values()))
    assert check_room(Corpus(shipped(), MESSAGES), tmp_path) == pytest.approx(written, rel=0.5)


def test_memory_does_not_grow_with_the_number_of_messages(tmp_path: Path) -> None:
    """Of a process that writes ten times as much: at most a tenth more, and 20 MB."""
    script = (
        "import sys, resource; from pathlib import Path; from tests.synth.corpus import Corpus, write; "
        "from tests.synth.profile import shipped; write(Corpus(shipped(), int(sys.argv[1])), Path(sys.argv[2])); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = [
        int(
            subprocess.run(
                [sys.executable, "-c", script, str(n), str(tmp_path / str(n))],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for n in (500, 5_000)
    ]
    assert peaks[1] < 1.1 * peaks[0] + 20_000 * (1024 if psutil.MACOS else 1)


@pytest.mark.slow
def test_the_command_writes_a_corpus_and_measures_a_profile_that_it_can_follow(tmp_path: Path, store: Store) -> None:
    out, profile = str(tmp_path / "out"), str(tmp_path / "ours.json")
    measured = command("--profile-of", str(store.root), "--output", profile, "--json")
    assert measured.returncode == 0, measured.stderr
    assert json.loads(measured.stdout)["messages"] == MESSAGES
    made = command(out, "--from", profile, "--messages", "150", "--scale", "2", "--json", "--format", "codex_rollout")
    assert made.returncode == 0, made.stderr
    said = json.loads(made.stdout)
    assert (said["messages"], said["bytes"]) == (300, sum(map(len, bytes_of(Path(out)).values())))
    assert sum(len(t) for t in transcripts(Path(out))) == 300
    assert {t.source_format for t in transcripts(Path(out))} == {"codex_rollout"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "OUT_DIR"),
        (("out", "--format", "aider_md"), 2, "synth writes claude_code"),
        (("out", "--compress", "rar"), 2, "expected none, gzip, zst"),
        (("out", "--from", "missing.json"), 2, "cannot be read"),
        (("--profile-of", "nowhere", "--output", "p.json"), 1, "no store at"),
        (("--profile-of", "nowhere"), 2, "--output"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == code
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_profile_is_said(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"version": 1, "bands": []}')
    with pytest.raises(UsageError, match="not a profile of version 1"):
        load_profile(tmp_path / "p.json")


def test_the_questions_of_the_embedded_engine_find_their_truth(store: Store) -> None:
    """Of the sessions of 50 messages and more, nine in ten have a file operation, and most a decision."""
    long = [info for part in read_parts(store) for info in part.sessions if info.n_messages >= 50]
    found = [load_session(store, info) for info in long]
    touched = sum(bool(file_ops(t.messages, t.cwd)) for t in found)
    prose = [[s for m in t.messages if m.role == "assistant" for s in said(m)] for t in found]
    decided = sum(any(map(is_decision, sentences)) for sentences in prose)
    assert touched >= 0.9 * len(found)
    assert decided >= 0.6 * len(found)
