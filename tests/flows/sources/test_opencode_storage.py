"""opencode's files before 1.2: a folder of messages with their parts and the session beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flows.sources import discover
from tests.flows.sources.logs import opencode_export as export
from tests.flows.sources.properties import check

PROJECT = "4b0ea68d7af9a6031a7ffda7ad66e0cb83315750"


def write(storage: Path, document: dict[str, Any]) -> Path:
    """An export in the files that it comes from; the folder of its messages."""
    info = document["info"]

    def put(path: str, value: Any) -> None:
        (storage / path).parent.mkdir(parents=True, exist_ok=True)
        (storage / path).write_text(json.dumps(value), encoding="utf-8")

    put(f"session/{PROJECT}/{info['id']}.json", info)
    put(f"project/{PROJECT}.json", {"id": PROJECT, "worktree": "/home/ada"})
    put(f"session_diff/{info['id']}.json", [{"file": "mill.py", "before": "", "after": "x"}])
    put(f"todo/{info['id']}.json", [{"id": "1", "content": "Mend", "status": "pending"}])
    for message in document["messages"]:
        own = message["info"]["id"]
        put(f"message/{info['id']}/{own}.json", message["info"] | {"sessionID": info["id"]})
        for part in message["parts"]:
            put(f"part/{own}/{part['id']}.json", part)
    return storage / "message" / info["id"]


def test_the_files_give_what_the_export_gives(tmp_path: Path, read: Any) -> None:
    folder = write(tmp_path / "storage", export.DOCUMENT)
    assert [one.path for one in discover([str(tmp_path)])] == [folder], "nothing else in there is an input"
    (stored,) = check(folder, "folder").transcripts
    (exported,) = read("export.json", export.DOCUMENT).transcripts

    def said(transcript: Any) -> list[Any]:
        return [(m.role, m.text, m.reasoning, m.tool_calls, m.timestamp) for m in transcript.messages]

    assert said(stored) == said(exported)
    assert stored.compactions == exported.compactions
    names = ("session_id", "title", "cwd", "parent_session_id", "started_at", "usage", "set_aside")
    assert [getattr(stored, name) for name in names] == [getattr(exported, name) for name in names]


def test_messages_are_in_the_order_of_their_times_and_parts_in_that_of_their_ids(tmp_path: Path) -> None:
    first = export.user(9, export.part(2, "text", text="two"), export.part(1, "text", text="one"), created=1)
    later = export.user(1, export.part(3, "text", text="three"), created=2)
    folder = write(tmp_path, export.DOCUMENT | {"messages": [later, first]})
    (transcript,) = check(folder, "folder").transcripts
    assert [m.text for m in transcript.messages] == ["one\ntwo", "three"]


def test_a_part_that_is_cut_is_set_aside_and_without_its_session_the_folder_gives_the_id(tmp_path: Path) -> None:
    parts = [export.part(number, "text", text=f"{number}") for number in range(2)]
    folder = write(tmp_path, export.DOCUMENT | {"messages": [export.user(0, *parts)]})
    (tmp_path / "part/msg_0/prt_1.json").write_text('{"id": "prt_1", "type": "te')
    (tmp_path / f"session/{PROJECT}/ses_1.json").unlink()
    result = check(folder, "folder")
    assert [m.text for m in result.transcripts[0].messages] == ["0"]
    assert result.transcripts[0].session_id == "opencode_export-ses_1"
    assert ["prt_1.json" in one.reason for one in result.set_aside] == [True]


def test_a_link_leads_to_no_part(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "storage", export.DOCUMENT | {"messages": [export.user(0, export.part(0, "text", text="a"))]}
    )
    (tmp_path / "other.json").write_text(json.dumps(export.part(1, "text", text="secret")))
    (tmp_path / "storage/part/msg_0/prt_1.json").symlink_to(tmp_path / "other.json")
    assert [m.text for m in check(folder, "folder").transcripts[0].messages] == ["a"]
