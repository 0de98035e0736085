"""Questions that wait in a file for whoever answers them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from compaction.model import Message, ModelRequest
from flows.llm.batch.question_files import QuestionFiles
from flows.llm.cache.call_cache import CallCache
from flows.llm.cache.keys import call_key
from flows.llm.settings import make_settings
from tests.flows.llm.batch.filling import journal, keys, refuse_seven

ADA = make_settings("file:ada", {}, "test")


def asked(*names: str) -> list[tuple[object, ...]]:
    messages = [(Message("system", "You grade."), Message("user", name)) for name in names]
    return [(ADA, ModelRequest(said, 50, {"type": "object"}, check=refuse_seven), said[1].text) for said in messages]


def test_replies_are_taken_by_id_and_what_is_not_answered_well_stays_open(tmp_path: Path) -> None:
    said: list[str] = []
    folder, items = tmp_path / "questions", asked("a", "b", "c")
    files = QuestionFiles(folder, "run", said.append)
    with CallCache(tmp_path) as cache:
        assert files.ask(items, "score", cache) == 3
        path = folder / "questions-score.jsonl"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        questions = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(one["id"], one["messages"]) for one in questions] == [
            (key, [{"role": "user", "content": name}]) for key, name in zip(keys(items), "abc", strict=True)
        ]
        assert {(one["system"], one["max_tokens"], one["schema"]["type"]) for one in questions} == {
            ("You grade.", 50, "object")
        }
        first, second, third = keys(items)
        good, bad = {"id": first, "reply": {"score": 3}}, {"id": second, "reply": "seven"}
        lines = [json.dumps(good), json.dumps(bad), "no JSON", json.dumps({"id": "another's", "reply": "x"})]
        (folder / "replies-1.jsonl").write_text("\n".join(lines))
        assert files.ask(items, "score", cache) == 2
        assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [second, third]
        assert [text.split("replies-1.jsonl:")[1][:1] for text in sorted(said)] == ["2", "3"]
        assert "it is seven" in "".join(said)
        again = [{"id": second, "reply": "six"}, {"id": third, "reply": "six"}]
        (folder / "replies-2.jsonl").write_text("\n".join(map(json.dumps, again)))
        assert files.ask(items[1:], "score", cache) == 0
        assert not path.exists()
        texts = {key: call.text for key, call in cache.get_many(keys(items)).items()}
        assert texts == {first: '{"score": 3}', second: "six", third: "six"}
        assert [(row.cost_usd, row.model, row.cached) for row in journal(cache)] == [(0.0, "file:ada", False)] * 3
        assert call_key(*items[0][:2]) == first
