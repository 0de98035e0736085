"""Formats are found by themselves, and each is in every place that a format belongs to."""

from __future__ import annotations

import re
from dataclasses import replace

import orjson
import pytest

from flows.config.study import Study
from flows.pipeline.plan import unread_inputs
from flows.sessions.session_parts import read_parts
from flows.sources import registry
from flows.sources.discovery import discover
from flows.sources.reading.opening import open_source
from flows.sources.registry import formats, read_input
from tests.flows.conftest import ROOT
from tests.flows.sources import logs
from tests.flows.sources.folders import ingest

NAMES = [known.name for known in formats()]
FIRST = """
    claude_code copilot_cli codex_rollout deepseek_events pi openhands_v1_events openhands_v0_output
    openhands_v0_trajectory openhands_llm_completion swe_agent_traj mini_swe_agent atif opencode_export specstory_md
    aider_md gemini_cli_chat gemini_contents entire_compact openai_responses cline anthropic_messages llm_request_log
    inspect tau2_bench tau_bench openai_chat
""".split()
"""The formats of the first version, as they are tried."""
FRAMES = {"adk", "langfuse", "langgraph", "openai_agents", "otel_genai", "pydantic_ai", "strands"}
"""Stored sessions of frameworks, and traces of models' requests."""


def test_the_formats_of_the_first_version_are_tried_in_this_order() -> None:
    assert [name for name in NAMES if name in FIRST] == FIRST


def test_no_two_formats_have_the_same_place() -> None:
    places = [known.order for known in formats()]
    assert places == sorted(set(places))


def raised(name: str):
    return tuple(replace(known, version=known.version + (known.name == name)) for known in formats())


def test_a_log_is_read_again_when_the_version_of_its_reader_rises_and_no_other_is(tmp_path, store, monkeypatch) -> None:
    names = ("pi", "codex_rollout", "unknown")
    for name in names[:2]:
        written(logs.MODULES[name], tmp_path / "logs").rename(tmp_path / "logs" / f"{name}.jsonl")
    (tmp_path / "logs" / "unknown.jsonl").write_text('{"said": "hello"}\n')
    study = Study(sources=(str(tmp_path / "logs"),))
    ingest(store, study)

    def unread() -> list[str]:
        return [one.path.stem for one in unread_inputs(read_parts(store), discover(study.sources), study)]

    assert unread() == []
    monkeypatch.setattr(registry, "_FORMATS", raised("pi"))
    assert unread() == ["pi", "unknown"]
    ingest(store, study, generation=2)
    assert unread() == []
    new = replace(formats()[0], name="new", order=1_000)
    monkeypatch.setattr(registry, "_FORMATS", (*formats(), new))
    assert unread() == ["unknown"]
    monkeypatch.setattr(registry, "VERSION", registry.VERSION + 1)
    assert unread() == sorted(names)


@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_in_every_place(name: str) -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    places = {
        "a row in the table of docs/formats.md": f"\n| `{name}` |" in page,
        f"a log made by hand, tests/flows/sources/logs/{name}.py": name in logs.MODULES,
    }
    missing = [place for place, there in places.items() if not there]
    assert missing == [], f"the format {name} lacks: {'; '.join(missing)}"


def test_nothing_stands_for_a_format_that_is_none() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("\n## ")[0], re.MULTILINE)
    assert set(rows) == set(logs.MODULES) == set(NAMES)


def written(module, folder):
    """The log of a module as a file in a folder."""
    folder.mkdir(exist_ok=True)
    write = getattr(module, "ARCHIVE", None) or getattr(module, "DATABASE", None)
    if write is not None:
        path = folder / getattr(module, "NAME", "log.eval")
        write(path)
        return path
    if hasattr(module, "TEXT"):
        path, content = folder / getattr(module, "NAME", "log.md"), module.TEXT.encode()
    elif hasattr(module, "LINES"):
        path, content = folder / getattr(module, "NAME", "log.jsonl"), b"\n".join(map(orjson.dumps, module.LINES))
    else:
        path, content = folder / getattr(module, "NAME", "log.json"), orjson.dumps(module.DOCUMENT)
    path.write_bytes(content)
    return path


def recognised_by(module, folder) -> set[str]:
    """The formats whose own mark a log of a module has, whatever comes first."""
    [input] = discover([str(written(module, folder))])
    head = open_source(input, registry.is_member).head()
    return {known.name for known in formats() if registry._detects(known, head)}


@pytest.mark.parametrize("name", NAMES)
def test_logs_of_frameworks_and_traces_are_recognised_by_their_own_reader_only(name, tmp_path) -> None:
    """No reader takes them by their shape, and theirs take no other log."""
    found = recognised_by(logs.MODULES[name], tmp_path / "logs")
    assert found == {name} if name in FRAMES else not found & FRAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_reads_messages_of_its_log_made_by_hand(name, tmp_path) -> None:
    """And it is the one that recognises it: a reader that recognises nothing is none."""
    [input] = discover([str(written(logs.MODULES[name], tmp_path / "logs"))])
    result = read_input(input)
    assert result.format == name
    messages = [message for transcript in result.transcripts for message in transcript.messages]
    wanted = {"assistant"} if getattr(logs.MODULES[name], "HAS_NO_PROMPTS", False) else {"user", "assistant"}
    assert wanted <= {message.role for message in messages}
    assert any(message.text or message.tool_calls for message in messages if message.role == "assistant")


def test_no_reader_is_longer_than_300_lines() -> None:
    folder = ROOT / "flows" / "sources" / "formats"
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py")}
    assert {name: count for name, count in lines.items() if count > 300} == {}
