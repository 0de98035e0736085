"""A run over sessions with secrets leaves none of them in anything that it writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.flows.conftest import Command, session_lines
from tests.flows.redaction.planted import random_text

PLACES = ("title", "tool", "error", "excerpt", "argument", "result", "reasoning")


def token() -> str:
    """A token of GitHub's form: it is known wherever it stands."""
    return "ghp_" + random_text(36)


def shown(path: Path) -> Iterator[bytes]:
    """What a file holds: its bytes, and those of its values where they are packed."""
    yield path.read_bytes()
    if path.suffix == ".parquet":
        table = pq.ParquetFile(path)
        yield repr(table.metadata.metadata).encode()
        yield json.dumps(table.read().to_pylist(), default=str).encode()
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as base:
            for schema, name in base.sql("SELECT schema_name, table_name FROM duckdb_tables()").fetchall():
                yield repr(base.sql(f'SELECT * FROM "{schema}"."{name}"').fetchall()).encode()


def found(secrets: dict[str, str], *places: Path) -> list[tuple[str, str]]:
    """Which secret stands in which file, in its content or its name."""
    files = [file for place in places for file in (place.rglob("*") if place.is_dir() else [place]) if file.is_file()]
    assert files
    return sorted(
        {
            (name, file.name)
            for file in files
            for content in (file.name.encode(), *shown(file))
            for name, secret in secrets.items()
            if secret.encode() in content
        }
    )


def write(folder: Path, secrets: dict[str, str]) -> None:
    lines = session_lines("session-1", 20)
    lines[0]["message"]["content"] = f"Log in with {secrets['title']} and make sorting stable."
    for line in lines:
        for block in line["message"]["content"] if isinstance(line["message"]["content"], list) else ():
            if block["type"] == "tool_use":
                block["name"] = f"run.{secrets['tool']}" if block["name"] == "Bash" else block["name"]
                block["input"] = {**block["input"], "note": secrets["argument"]}
            elif block["type"] == "tool_result":
                said = secrets["error"] if block["is_error"] else secrets["result"]
                block["content"] = f"{block['content']}: refused {said}"
    lines[1]["message"]["content"].insert(0, {"type": "thinking", "thinking": f"so {secrets['reasoning']} it is"})
    folder.mkdir()
    (folder / "one.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "broken.jsonl").write_text(f'{{"type": "user", "sessionId": "x", "message": "{secrets["excerpt"]}" "\n')


@pytest.mark.slow
def test_no_written_byte_holds_a_secret_of_a_session(working_command: Command, tmp_path: Path) -> None:
    secrets = {place: token() for place in PLACES}
    write(tmp_path / "logs", secrets)
    store, log, page = tmp_path / "store", tmp_path / "log.jsonl", tmp_path / "page.html"
    options = ("--points", "messages:20", "--strategies", "none,head_tail", "--log", log)
    done = [
        working_command("ingest", tmp_path / "logs", "--store", store),
        working_command("run", tmp_path / "logs", "--store", store, *options),
        working_command("report", page, "--store", store),
    ]
    assert [one.exit_code for one in done] == [3, 3, 0], [one.output for one in done]  # the broken file
    assert found(secrets, store, log, page) == []
    assert not [name for name, secret in secrets.items() for one in done if secret in one.output]
