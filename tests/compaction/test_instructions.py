"""A prompt and a focus of the user's own, which every method that asks a summariser takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compaction import Method, SummaryRequest, compact, make_method, parse_method
from compaction.instructions import FOCUS
from compaction.strategy import StrategyError
from compaction.testing import ScriptedSummarizer, history
from flows.config.study import Study
from flows.pipeline.plan import method_rows
from tests.compaction.histories import build, random_words
from tests.compaction.test_strategies import every_model_method

WORDS = "Answer in 5 words, for $10, from ${nowhere}."
HISTORIES = [build(random_words(seed)) for seed in range(12)]


def requests(method: Method) -> list[SummaryRequest]:
    """All that a method asks of its summariser over histories of every shape."""
    summarizer = ScriptedSummarizer()
    for messages in HISTORIES:
        compact(history(messages, budget=24, summarizer=summarizer), method)
    assert summarizer.requests, method.name
    return summarizer.requests


def shown(request: SummaryRequest) -> str:
    return "\n".join(message.text for message in request.prompt)


def with_words(method: Method, **words: str) -> Method:
    return make_method(method.strategy.id, {**method.params, **words})


@pytest.fixture
def prompt_file(tmp_path: Path) -> str:
    file = tmp_path / "prompt.md"
    file.write_text(f"{WORDS}\n")
    return str(file)


@every_model_method
def test_a_focus_stands_behind_the_instructions_and_nothing_else_changes(method: Method) -> None:
    added = f"\n\n{FOCUS}\nthe tests, and why they fail"
    before, after = requests(method), requests(with_words(method, focus="the tests, and why they fail"))
    assert len(before) == len(after)
    for one, other in zip(before, after, strict=True):
        assert shown(other).count(added) == 1
        assert shown(other).replace(added, "") == shown(one)
        assert (one.span, one.sections) == (other.span, other.sections)


@every_model_method
def test_a_prompt_of_the_users_own_stands_in_the_place_of_the_methods(method: Method, prompt_file: str) -> None:
    before, after = requests(method), requests(with_words(method, prompt_file=prompt_file, focus="tests"))
    for one, other in zip(before, after, strict=False):
        assert shown(other).count(WORDS) == 1
        assert FOCUS in shown(other)
        assert all(section.ask not in shown(other) for section in one.sections), "the method's instructions are gone"
        said = set(re.findall(r"line \d+", shown(one)))
        assert said <= set(re.findall(r"line \d+", shown(other))), "all messages are shown"


def test_a_prompt_names_the_sections_and_where_the_messages_stand(tmp_path: Path) -> None:
    file = tmp_path / "named.md"
    file.write_text("<<$messages>> At most $max_tokens tokens:\n$sections")
    request, *_ = requests(parse_method(f'langchain_summary(keep=3,summary_tokens=77,prompt_file="{file}")'))
    text = shown(request)
    assert text.startswith("<<<message type=")
    assert "At most 77 tokens:\n## " in text
    assert "<messages>" not in text


def test_another_text_is_another_method_and_without_words_the_id_is_as_before(tmp_path: Path) -> None:
    files = [tmp_path / "a.md", tmp_path / "b.md"]
    for file in files:
        file.write_text(file.name)
    names = [f'codex_local(prompt_file="{file}")' for file in files]
    study = Study(strategies=("codex_local", *names, 'codex_local(focus="tests")', 'codex_local(focus="")'))
    plain, *others = rows = method_rows(study)
    assert len({row["method_id"] for row in rows}) == len(rows) == 4
    assert plain["version"] == others[2]["version"] == "1"
    assert not {"prompt_file", "focus"} & set(plain["params"])
    assert others[2]["params"] == {**plain["params"], "focus": "tests"}
    assert re.fullmatch(r"1\+prompt@[0-9a-f]{12}", others[0]["version"])
    assert others[0]["version"] != others[1]["version"]
    for row in rows:
        again = make_method(row["strategy"], row["params"])
        assert (again.name, again.version) == (row["method"], row["version"])
        assert parse_method(again.spec) == again


def test_parts_of_pipelines_and_wrapped_methods_have_words_of_their_own() -> None:
    inner = r"freeform_summary(focus=\"tests\")"
    for spec in (f'file_index(over="{inner}")', f'pipeline(steps="{inner}")'):
        assert all(shown(request).count(FOCUS) == 1 for request in requests(parse_method(spec)))
    two = requests(parse_method(f'pipeline(steps="{inner} -> freeform_summary")'))
    assert {FOCUS in shown(request) for request in two} == {True, False}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            'codex_local(prompt_file="{0}/none.md")',
            "'codex_local': prompt_file {0}/none.md: no such file; name one with",
        ),
        ('codex_local(prompt_file="{0}")', "'codex_local': prompt_file {0}: no such file; name one with"),
        ('codex_local(prompt_file="{0}/empty.md")', "expected 1 to 100,000 characters of instructions, found 0"),
        ('codex_local(prompt_file="{0}/bytes.md")', "prompt_file {0}/bytes.md: expected a text in UTF-8"),
        ("codex_local(focus=5)", "'codex_local': focus must be str, not 5"),
        ("codex_local(focsu=tests)", "prompt_file, focus (did you mean focus?)"),
        ("head_tail(focus=tests)", "'head_tail' has no parameter 'focus'; it has: head, tail"),
    ],
)
def test_what_is_no_prompt_is_one_sentence(spec: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text(" \n")
    (tmp_path / "bytes.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(StrategyError) as caught:
        parse_method(spec.format(tmp_path))
    assert said.format(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
