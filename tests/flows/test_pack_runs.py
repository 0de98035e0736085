"""Runs whose judge gets all answers from one context in one call, against a provider on this machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.config.study import make_study
from flows.llm.batch import prefill
from flows.llm.batch.prefill import Polling
from flows.support.errors import UsageError
from tests.flows.conftest import Command, write_session
from tests.flows.llm.batch_server import BatchProvider
from tests.flows.llm.server import HttpError
from tests.flows.test_model_runs import asked_of_a_judge, handler, query

PRICES = "input_usd = 1.0\noutput_usd = 5.0\n"


def answers_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The answers that a request for verdicts shows; none of another request."""
    said = body.get("messages", [{"content": ""}])[-1]["content"]
    if not said.startswith("{"):
        return []
    shown, _ = json.JSONDecoder().raw_decode(said)
    return shown.get("answers") or ([shown] if "rubric_criteria" in shown else [])


class Judging:
    """A provider's models; what they say of a pack can be spoiled."""

    def __init__(self) -> None:
        self.spoil: Callable[[list[dict[str, Any]]], object] = lambda verdicts: None
        self.most = 100
        """Answers of a pack that fit."""
        self.blank = ""
        """The answer to a question with this text is blank."""

    def __call__(self, body: dict[str, Any]) -> str:
        asked = answers_of(body)
        if not asked:
            is_blank = self.blank and self.blank in body["messages"][-1]["content"][-1_500:]
            return "" if is_blank else handler(body)
        if "number" not in asked[0]:
            return handler(body)
        if len(asked) > self.most:
            raise HttpError(400, "This model's maximum context length is 9 tokens", code="context_length_exceeded")
        verdicts = [
            {
                "number": one["number"],
                "criterionResults": [
                    {"criterionId": id, "score": 1 + one["number"] % 4, "reasoning": "as seen"}
                    for id in one["rubric_criteria"]
                ],
            }
            for one in asked
        ]
        self.spoil(verdicts)
        return json.dumps({"verdicts": verdicts})


class Served:
    def __init__(self, provider: BatchProvider, judging: Judging) -> None:
        self.provider, self.judging = provider, judging

    def packs(self) -> list[int]:
        """Answers of each request for verdicts that was answered live, in the order in which they came."""
        return [len(found) for one in self.provider.requests if one.body and (found := answers_of(one.body))]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    monkeypatch.setattr(prefill, "POLLING", Polling(first=0.01, longest=0.02, lost_after=0.05))
    judging = Judging()
    provider = BatchProvider(handler=judging, polls=1)
    with provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        yield Served(provider, judging)


@pytest.fixture
def line(tmp_path: Path) -> tuple[object, ...]:
    write_session(tmp_path / "logs" / "orchard.jsonl", "session-0", 30)
    (tmp_path / "study.toml").write_text(f'pack = true\n[models."openai:m"]\n{PRICES}[models."openai:j"]\n{PRICES}')
    options = (
        "--points",
        "messages:20",
        "--strategies",
        "none,empty",
        "--responder",
        "openai:m",
        "--judge",
        "openai:j",
    )
    return (tmp_path / "logs", "--store", tmp_path / "store", "--study", tmp_path / "study.toml", *options, "--quiet")


def scored(store: Path) -> list[tuple[Any, ...]]:
    """Of each judge the number of answers that it scored."""
    return query(
        store,
        "SELECT judge, count(DISTINCT answer_id) FROM scores JOIN judges USING (judge_id) WHERE score IS NOT NULL "
        "GROUP BY judge ORDER BY judge",
    )


@pytest.mark.slow
def test_all_answers_from_a_context_are_one_call_and_a_bad_verdict_is_asked_again_alone(
    served: Served, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    served.judging.spoil = lambda found: found[1]["criterionResults"].pop() if len(found) > 1 else None
    done = working_command("run", *line)
    assert done.exit_code == 0, done.output
    [(n_answers, n_contexts)] = query(
        store, "SELECT count(*), count(DISTINCT compaction_id) FROM answers WHERE status = 'done'"
    )
    sizes = served.packs()
    n_packs = sum(size > 1 for size in sizes)
    assert n_packs == n_contexts
    assert sizes.count(1) == n_packs  # the spoiled verdict of each
    assert sum(sizes) - n_packs == n_answers > 2 * n_contexts
    (judge,) = {name for name, _ in scored(store)}
    assert "(packed)" in judge
    assert scored(store) == [(judge, n_answers)]
    assert query(store, "SELECT * FROM checks WHERE violations > 0") == []
    again = query(store, "SELECT asked_again, count(DISTINCT answer_id) FROM verdicts GROUP BY ALL ORDER BY ALL")
    assert again == [(False, n_answers - n_packs), (True, n_packs)]
    # One booking a call, for all of its answers: the sums are the provider's.
    booked = query(
        store,
        "SELECT count(*), count(DISTINCT answer), sum(cost_usd / n) FROM ("
        "SELECT unnest(answers) AS answer, len(answers) AS n, cost_usd FROM ("
        "SELECT string_split(rtrim(item_id, '+'), '+') AS answers, cost_usd FROM calls WHERE stage = 'score'))",
    )
    [(cost, n_calls)] = query(store, "SELECT cost_usd, n_calls FROM costs WHERE stage = 'score'")
    assert booked == [(sum(sizes), n_answers, pytest.approx(cost))]
    assert n_calls == len(sizes)

    for file in (store / "scores").glob("*.parquet"):  # as after a kill
        file.unlink()
    planned = json.loads(working_command("plan", *line, "--json").stdout)
    assert [(calls["calls"], calls["to_pay"]) for calls in planned["calls"] if calls["stage"] == "score"] == [
        (len(sizes), 0)
    ]
    assert working_command("run", *line).exit_code == 0
    assert scored(store) == [(judge, n_answers)]
    assert served.packs() == sizes
    alone = working_command("backfill", "--store", store, "--judge", "openai:j", "--quiet")
    assert alone.exit_code == 0, alone.output
    assert served.packs()[len(sizes) :] == [1] * (
        n_answers - n_packs
    )  # those asked again alone were asked as these are
    assert scored(store) == [(judge.removesuffix(" (packed)"), n_answers), (judge, n_answers)]


@pytest.mark.slow
def test_a_pack_that_is_paid_stays_as_it_was_when_another_answer_joins_its_context(
    served: Served, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    served.judging.blank = "Which files"
    served.judging.most = 2  # larger ones are sent in halves
    first = working_command("run", *line)
    assert first.exit_code == 3, first.output
    [(n_failed,)] = query(store, "SELECT count(*) FROM answers WHERE status = 'failed'")
    assert n_failed
    for file in (store / "scores").glob("*.parquet"):
        file.unlink()
    before = len(served.packs())
    served.judging.blank = ""
    second = working_command("run", *line)
    assert second.exit_code == 0, second.output
    assert served.packs()[before:] == [1] * n_failed
    [(_, n)] = scored(store)
    assert query(store, "SELECT count(*) FROM answers") == [(n,)]


@pytest.mark.slow
def test_packs_go_into_batches_and_what_is_asked_alone_into_the_next(
    served: Served, line: tuple[object, ...], tmp_path: Path, working_command: Command
) -> None:
    store = tmp_path / "store"
    served.judging.spoil = lambda found: found.pop()
    assert working_command("run", *line, "--batch", "--no-wait").exit_code == 4
    while (done := working_command("run", *line, "--batch", "--no-wait")).exit_code == 4:
        pass
    assert done.exit_code == 0, done.output
    assert not served.packs()
    sizes = Counter(len(found) for body in served.provider.bodies.values() if (found := answers_of(body)))
    assert set(served.provider.paid.values()) == {1}
    [(n_answers, n_contexts)] = query(store, "SELECT count(*), count(DISTINCT compaction_id) FROM answers")
    assert sizes[1] == n_contexts
    assert sum(size * n for size, n in sizes.items()) == n_answers + n_contexts
    [(judge, n)] = scored(store)
    assert n == n_answers
    priced = ("--study", tmp_path / "other.toml")
    (tmp_path / "other.toml").write_text(f'[models."openai:other"]\n{PRICES}')
    backfill = ("backfill", "--store", store, "--judge", "openai:other", "--pack", *priced, "--quiet")
    planned = json.loads(working_command(*backfill, "--batch", "--plan", "--json").stdout)
    assert [calls["to_pay"] for calls in planned["calls"]] == [n_contexts]
    added = working_command(*backfill, "--batch")
    assert added.exit_code == 0, added.output
    assert not served.packs()
    assert scored(store) == [(judge, n_answers), (judge.replace(":j", ":other"), n_answers)]


@pytest.mark.slow
def test_packs_are_asked_by_file_too(
    line: tuple[object, ...], served: Served, tmp_path: Path, working_command: Command
) -> None:
    store, folder = tmp_path / "store", tmp_path / "store" / "cache" / "questions"
    served.judging.spoil = lambda found: found.pop()
    by_file = (*line, "--judge", "file:ada")
    sizes = []
    for n in range(2):  # the packs, then what one of their verdicts was missing for
        asked = working_command("run", *by_file)
        assert asked.exit_code == 4, asked.output
        questions = [json.loads(one) for one in (folder / "questions-score.jsonl").read_text().splitlines()]
        sizes.append([len(answers_of(one)) for one in questions])
        replies = [{"id": one["id"], "reply": served.judging(one)} for one in questions]
        (folder / f"replies-{n}.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    done = working_command("run", *by_file)
    assert done.exit_code == 0, done.output
    [(n_answers, n_contexts)] = query(store, "SELECT count(*), count(DISTINCT compaction_id) FROM answers")
    assert len(sizes[0]) == n_contexts
    assert sum(sizes[0]) == n_answers > n_contexts
    assert sizes[1] == [1] * n_contexts
    assert scored(store) == [("file:ada (packed)", n_answers)]


def test_a_pack_needs_a_single_model_as_judge() -> None:
    for flags, said in (
        ({}, "--pack: the embedded judge makes no calls, so there is nothing to pack; name a model with --judge"),
        ({"judges": "openai:a,openai:b"}, "--pack: the members of a panel judge one answer a call; name one judge"),
    ):
        with pytest.raises(UsageError, match=said):
            make_study({"pack": True, **flags})
    assert not asked_of_a_judge({})
    assert make_study({"pack": True, "judge": "file:ada"}).pack
