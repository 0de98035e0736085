"""From what a person names to the inputs to read."""

import gzip
import json
import os

import pytest

from flows.sources import SourceError, discover, formats, read_input
from tests.flows.sources.folders import chat
from tests.flows.sources.logs import aider_md, specstory_md


@pytest.fixture
def tree(tmp_path):
    for name in (
        "a/s1.jsonl",
        "a/deep/s2.json.gz",
        "a/.git/x.jsonl",
        "a/notes.md",
        "a/tool.py",
        "a/.hidden.jsonl",
        "a/x.traj",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}")
    return tmp_path


def names(inputs, root):
    return [os.path.relpath(found.path, root) for found in inputs]


def test_a_folder_is_searched_to_the_bottom_without_hidden_entries_and_other_files(tree):
    assert names(discover([str(tree)]), tree) == ["a/deep/s2.json.gz", "a/s1.jsonl", "a/x.traj"]


def test_a_glob_and_a_folder_that_overlap_give_each_file_once(tree):
    found = discover([str(tree / "a" / "*.jsonl"), str(tree), str(tree / "a" / "s1.jsonl")])
    assert names(found, tree) == ["a/deep/s2.json.gz", "a/s1.jsonl", "a/x.traj"]


def test_a_file_named_outright_is_taken_whatever_its_name(tree):
    assert names(discover([str(tree / "a" / "notes.md")]), tree) == ["a/notes.md"]


def test_an_input_knows_its_size_and_its_time(tree):
    (found,) = discover([str(tree / "a" / "s1.jsonl")])
    stat = (tree / "a" / "s1.jsonl").stat()
    assert (found.kind, found.size, found.mtime_ns, found.label) == ("file", 2, stat.st_mtime_ns, str(found.path))


def test_a_folder_of_events_is_one_input_with_the_sum_of_sizes_and_the_latest_time(tmp_path):
    for number in (1, 2):
        path = tmp_path / f"event-0000{number}-ab.json"
        path.write_bytes(b"{}")
        os.utime(path, ns=(number, number))
    (found,) = discover([str(tmp_path)])
    assert (found.kind, found.path, found.size, found.mtime_ns) == ("folder", tmp_path, 4, 2)
    assert discover([str(tmp_path / "event-*.json")]) == [found]


def test_state_that_can_hold_credentials_is_never_an_input(tmp_path):
    (tmp_path / "base_state.json").write_text("{}")
    with pytest.raises(SourceError, match="nothing to read in"):
        discover([str(tmp_path)])


@pytest.mark.parametrize(
    ("source", "said"), [("gone.jsonl", "no such file or folder"), ("gone-*.jsonl", "no file matches")]
)
def test_a_source_that_leads_nowhere_is_named(source, said, tmp_path):
    with pytest.raises(SourceError, match=said) as error:
        discover([str(tmp_path / source)])
    assert source in str(error.value)


def test_every_format_tells_its_name_what_it_is_and_how_it_is_recognised():
    known = formats()
    assert len({one.name for one in known}) == len(known) >= 7
    assert all(one.description and one.recognised for one in known)


def test_markdown_in_a_folder_is_an_input_only_when_it_is_a_log(tmp_path):
    texts = {
        "README.md": "# The mill\n\nIt turns.\n",
        "docs/chat.md": aider_md.TEXT,
        ".aider.chat.history.md": aider_md.TEXT,
        ".specstory/history/2026-03-01_mill.md": specstory_md.TEXT,
        ".git/notes.md": aider_md.TEXT,
        ".notes.md": aider_md.TEXT,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = discover([str(tmp_path)])
    assert names(found, tmp_path) == [
        ".aider.chat.history.md",
        ".specstory/history/2026-03-01_mill.md",
        "docs/chat.md",
    ]
    assert [read_input(one).format for one in found] == ["aider_md", "specstory_md", "aider_md"]


def test_markdown_that_is_named_outright_and_is_no_log_is_set_aside_with_the_reason(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("# The mill\n\nIt turns.\n")
    (found,) = discover([str(path)])
    result = read_input(found)
    (aside,) = result.set_aside
    assert result.transcripts == ()
    assert aside.reason.startswith("no known format: not one of ")
    assert (aside.path, aside.excerpt) == (str(path), "# The mill")


def test_a_glob_over_many_events_looks_at_their_folder_once(tmp_path, monkeypatch):
    for number in range(300):
        (tmp_path / f"event-{number:05d}-ab.json").write_bytes(b"{}")
    listed = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path=".": listed.append(path) or scan(path))
    (found,) = discover([str(tmp_path / "event-*.json")])
    assert (found.path, found.size) == (tmp_path, 600)
    assert len(listed) < 10


def test_packed_event_files_are_read(tmp_path):
    event = {
        "kind": "MessageEvent",
        "id": "e1",
        "timestamp": "2026-03-01T10:00:00",
        "source": "user",
        "llm_message": {"role": "user", "content": [{"type": "text", "text": "Go"}]},
    }
    (tmp_path / "event-00001-e1.json.gz").write_bytes(gzip.compress(json.dumps(event).encode()))
    (found,) = discover([str(tmp_path)])
    assert [message.text for t in read_input(found).transcripts for message in t.messages] == ["Go"]


def test_markdown_that_may_not_be_read_is_no_silent_loss(tmp_path, monkeypatch):
    (tmp_path / "chat.md").write_text("# The mill")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert [(one.path.name, one.mtime_ns) for one in discover([str(tmp_path)])] == [("chat.md", 0)]


def test_what_an_agent_keeps_beside_its_log_is_no_input(tmp_path, write):
    beside = {"summary.json": {"info": {"id": "g"}}, "compaction_checkpoints/c.json": {"compacted_history": []}}
    for name, value in beside.items():
        write(f"g/{name}", value)
    write("g/updates.jsonl", lines=[{"method": "session/update", "params": {}}])
    write("d.settings.json", {"model": "m"})
    kept = write("e/summary.json", chat("mill")), write("g/chat_history.jsonl", chat("mill"))
    assert [one.path for one in discover([str(tmp_path)])] == sorted(kept)


def test_the_records_of_a_workflow_are_no_logs(tmp_path, write):
    started = {"type": "started", "key": "k", "agentId": "a1"}
    write("s/subagents/workflows/wf_1/journal.jsonl", lines=[started, {**started, "type": "result", "result": "ok"}])
    write("s/workflows/wf_1.json", {"runId": "wf_1", "script": "..."})
    kept = write("s/journal.jsonl", chat("mill"))
    assert [one.path for one in discover([str(tmp_path)])] == [kept]
