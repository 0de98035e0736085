"""Somebody else's code as a method: callables of one's own, the way there and back, and what is said of a wrong id.

What the peers' own classes do is in ``test_adapters_live``, which needs them.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from compaction import (
    Message,
    Method,
    StrategyError,
    SummaryError,
    ToolCall,
    compact,
    compact_messages,
    default_methods,
    make_method,
    parse_method,
)
from compaction.adapters import KNOWN, listed
from compaction.adapters._asking import Asking
from compaction.adapters._messages import Found, edited, restored, role_of
from compaction.adapters.callables import aligned, chat, read
from compaction.testing import CharacterCounter, ScriptedSummarizer, blank, failing, history, talk
from tests.compaction.histories import histories

OURS = '''
"""What a team ships."""

import asyncio


def last(messages, keep=3):
    """The system prompt and the last messages."""
    return [m for m in messages[:-keep] if m["role"] == "system"] + messages[-keep:]


def same(messages):
    return [{**m} for m in messages]


async def last_later(messages, *, keep):
    await asyncio.sleep(0)
    return messages[-keep:]


def masked(messages):
    for m in messages:
        if m["role"] == "tool":
            m["content"] = "[gone]"
    return messages


def masked_copies(messages):
    return [{**m, "content": "[gone]"} if m["role"] == "tool" else dict(m) for m in messages]


def noted(messages):
    return [messages[0], {"role": "developer", "content": "things were said"}, *messages[-2:]]


class Summarizing:
    """The middle as a summary."""

    def __init__(self, summarize, budget, keep=2):
        self.summarize, self.budget, self.keep = summarize, budget, keep

    def __call__(self, messages):
        middle = messages[1:-self.keep]
        asked = [*middle, {"role": "user", "content": f"Sum this up within {self.budget} tokens."}]
        return [messages[0], {"role": "user", "content": self.summarize(asked)}, *messages[-self.keep:]]


def prompted(messages, summarize):
    text = "\\n".join(m["content"] for m in messages[1:-1])
    return [messages[0], {"role": "user", "content": summarize("Sum up:\\n" + text)}, messages[-1]]


def stubborn(messages, summarize):
    try:
        summary = summarize(messages)
    except Exception:
        return messages
    return [{"role": "user", "content": summary}] if summary else messages


def reckless(messages, summarize):
    try:
        return [{"role": "user", "content": "About: " + summarize(messages)}]
    except Exception:
        return messages[-1:]


def counting(messages, count_tokens):
    return [m for m in messages if count_tokens(m["content"]) < 3]


def anything(messages, **settings):
    return messages[-settings["keep"]:]


def wrong(messages):
    return "a text"


def broken(messages):
    raise KeyError("the roof is off")


figure = 3
'''


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Method]:
    """A module of somebody's own, and a method of what is in it."""
    (tmp_path / "our_compaction.py").write_text(OURS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "our_compaction", raising=False)

    def named(rest: str) -> Method:
        return parse_method(f"peer:our_compaction:{rest}")

    return named


Shipped = Callable[[str], Method]
TALK = talk("s u a2 u a1 a u")


def test_any_callable_on_chat_messages_is_a_method(shipped: Shipped) -> None:
    done = compact(history(TALK), shipped("last(keep=2)"))
    assert sorted(done.kept) == [0, 8, 9]
    assert all(any(message is original for original in TALK) for message in done.messages)
    assert sorted(done.dropped) == [1, 2, 3, 4, 5, 6, 7]


def test_its_parameters_have_the_defaults_of_its_signature_and_are_written_as_any_others(shipped: Shipped) -> None:
    assert (shipped("last").params, shipped("last").name) == ({"keep": 3}, "peer:our_compaction:last")
    method = shipped("last(keep=2)")
    assert method.spec == "peer:our_compaction:last(keep=2)"
    assert parse_method(f"ours = {method.spec}").name == "ours"
    assert shipped("anything(keep=2, also='x')").params == {"keep": 2, "also": "x"}


def test_it_is_called_with_the_shape_of_openais_chat_api() -> None:
    said = Message("assistant", "so", "hm", (ToolCall("c1", "read", '{"path": "a"}'),), seq=4)
    assert chat(said) == {
        "role": "assistant",
        "content": "so",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}],
    }
    result = Message("tool", "text", tool_call_id="c1", tool_name="read", seq=5)
    assert chat(result) == {"role": "tool", "content": "text", "tool_call_id": "c1"}


def test_what_it_returns_may_have_content_in_parts_and_arguments_as_an_object() -> None:
    found = read({
        "role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"text": "b"}],
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"x": 1}}}],
    })  # fmt: skip
    assert (found.text, found.tool_calls) == ("ab", (ToolCall("c", "f", '{"x": 1}'),))
    assert read({"role": "developer", "content": None}) == Message("system")


def test_a_callable_may_be_asynchronous_also_where_an_event_loop_is_running(shipped: Shipped) -> None:
    method = shipped("last_later(keep=2)")
    assert sorted(compact(history(TALK), method).kept) == [8, 9]

    async def inside() -> list[int]:
        return sorted(compact(history(TALK), method).kept)

    assert asyncio.run(inside()) == [8, 9]


@pytest.mark.parametrize("name", ["masked", "masked_copies"])
def test_a_changed_message_keeps_its_place_whether_changed_itself_or_in_a_copy(name: str, shipped: Shipped) -> None:
    done = compact(history(TALK), shipped(name))
    assert sorted(done.edited) == [3, 4, 7]
    assert [m.seq for m in done.messages] == [m.seq for m in TALK]
    mask = next(m for m in done.messages if m.seq == 3)
    assert (mask.text, mask.tool_call_id, mask.tool_name) == ("[gone]", TALK[3].tool_call_id, "read")


@given(histories())
def test_messages_that_say_the_same_are_the_same_objects(messages: tuple[Message, ...]) -> None:
    sent = [chat(message) for message in messages]
    copies = [{**item} for item in sent]
    positions = aligned(sent, sent, copies)
    found = [
        Found(read(item), position, read(sent[position or 0])) for item, position in zip(copies, positions, strict=True)
    ]
    left = restored(messages, found)
    assert len(left) == len(messages)
    assert all(one is other for one, other in zip(left, messages, strict=True))


def test_messages_alike_are_taken_for_the_last_of_them() -> None:
    """What an agent keeps is at the end more often than not."""
    sent = [chat(m) for m in talk("s u")] + [{"role": "user", "content": "go on"} for _ in range(3)]
    assert aligned(sent, sent, [{"role": "user", "content": "go on"} for _ in range(2)]) == [3, 4]


def test_one_of_two_neighbours_that_is_missing_is_told_by_the_ids_of_the_calls() -> None:
    sent = [chat(m) for m in talk("u a2 u")]
    left = [sent[0], {**sent[1], "content": "cut"}, {**sent[3], "content": "[gone]"}, sent[4]]
    assert aligned(sent, sent, left) == [0, 1, 3, 4]


def test_a_new_message_stands_for_what_disappeared_between_its_neighbours(shipped: Shipped) -> None:
    done = compact(history(TALK), shipped("noted"))
    made = [m for m in done.messages if m.seq is None]
    assert [(m.role, m.text, m.covers) for m in made] == [("system", "things were said", (1, 2, 3, 4, 5, 6, 7))]
    assert sorted(done.covered) == [1, 2, 3, 4, 5, 6, 7]


def test_new_messages_share_what_disappeared_by_where_they_stand() -> None:
    note = Found(Message("user", "note"))
    left = restored(TALK, [note, Found(TALK[2], 2), note, Found(TALK[5], 5), note])
    assert [m.covers for m in left if m.seq is None] == [(0, 1), (3, 4), (6, 7, 8, 9)]
    left = restored(TALK, [Found(TALK[0], 0), note, Found(TALK[1], 1), Found(TALK[9], 9)])
    assert [m.covers for m in left if m.seq is None] == [(2, 3, 4, 5, 6, 7, 8)], (
        "nothing between them: all that is gone"
    )
    left = restored(TALK, [Found(Message("user", "note"), covers=(2, 3)), Found(TALK[9], 9)])
    assert left[0].covers == (2, 3), "what the peer says of it counts"


def test_a_new_message_stands_for_nothing_that_its_summariser_was_not_shown() -> None:
    left = restored(TALK, [Found(Message("user", "summary")), Found(TALK[9], 9)], shown={4, 5})
    assert left[0].covers == (4, 5)


def test_what_a_summary_stood_for_passes_on_to_the_one_that_replaces_it(shipped: Shipped) -> None:
    earlier = Message("user", "earlier", covers=(1, 2), tokens=3)
    given_ = (TALK[0], earlier, *TALK[3:])
    done = compact(history(given_, summarizer=ScriptedSummarizer()), shipped("Summarizing"))
    assert [m.covers for m in done.messages if m.seq is None] == [(1, 2, 3, 4, 5, 6, 7)]


def test_only_what_the_peer_changed_is_changed_in_an_edited_copy() -> None:
    """Arguments that a peer parses and writes again are not changed by that."""
    calls = (ToolCall("1", "a", '{"x":1}'), ToolCall("2", "b", '{"y":  2}'))
    original = Message("assistant", "t", "r", calls, seq=3, tokens=9, source_ref="f:1")
    before = Message("assistant", "t", "", (ToolCall("1", "a", '{"x": 1}'), ToolCall("2", "b", '{"y": 2}')))
    assert edited(original, before, before) is original
    now = Message("assistant", "t", "", (ToolCall("1", "a", "{}"), ToolCall("2", "b", '{"y": 2}')))
    found = edited(original, before, now)
    assert (found.reasoning, found.seq, found.tokens, found.source_ref) == ("r", 3, None, "f:1")
    assert found.tool_calls == (ToolCall("1", "a", "{}"), calls[1])


def test_roles_of_other_systems_are_ours_and_one_that_is_not_known_is_refused() -> None:
    assert [role_of(name) for name in ("developer", "human", "ai", "function")] == [
        "system", "user", "assistant", "tool",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="has the role 'critic'; expected one of system, developer"):
        role_of("critic")


def test_a_class_is_made_with_its_parameters_and_its_object_called(shipped: Shipped) -> None:
    method = shipped("Summarizing(keep=1)")
    assert method.needs == "model"
    summarizer = ScriptedSummarizer()
    done = compact(history(TALK, budget=70, summarizer=summarizer), method)
    assert [m.text for m in done.messages] == ["system 0", "SUMMARY 1", "user 9"]
    (request,) = summarizer.requests
    assert request.prompt[-1].text == "Sum this up within 70 tokens."
    assert request.span == TALK[1:9]


def test_a_summariser_that_is_sent_a_text_is_told_which_messages_stand_in_it(shipped: Shipped) -> None:
    messages = [m.with_text(m.text + " and much else is said") for m in talk("s u a u a u")]
    summarizer = ScriptedSummarizer()
    done = compact(history(messages, summarizer=summarizer), shipped("prompted"))
    assert summarizer.requests[0].span == tuple(messages[1:5])
    assert done.messages[1].covers == (1, 2, 3, 4)


def test_of_a_message_that_is_cut_in_a_prompt_the_summariser_is_told_the_beginning() -> None:
    long = Message("user", "word " * 100, seq=0, tokens=1)
    short = Message("user", "a short text that is there", seq=1, tokens=1)
    summarizer = ScriptedSummarizer()
    asking = Asking(history([long, short], summarizer=summarizer))
    asking.forms = lambda: [(f"[user] {m.text}", i, m) for i, m in enumerate((long, short))]
    asking.about([Message("user", f"Sum up\n[user] {long.text[:200]}<cut>\n[user] {short.text}")])
    first, second = summarizer.requests[0].span
    assert (first.text, first.seq) == (long.text[:200], 0)
    assert second is short


@pytest.mark.parametrize(
    ("name", "handler", "reason"),
    [
        ("Summarizing", failing, "not reachable"),
        ("stubborn", failing, "not reachable"),
        ("stubborn", blank, "a blank summary"),
    ],
)
def test_a_peer_that_goes_on_without_a_summary_has_failed_all_the_same(
    name: str, handler: Any, reason: str, shipped: Shipped
) -> None:
    with pytest.raises(SummaryError, match=reason):
        compact(history(TALK, summarizer=ScriptedSummarizer(handler)), shipped(name))


def test_what_a_peer_leaves_without_a_summary_is_kept_and_flagged(shipped: Shipped) -> None:
    done = compact(history(TALK, summarizer=ScriptedSummarizer(failing)), shipped("reckless"))
    assert (done.flags, sorted(done.kept)) == (("summary_failed",), [9])
    done = compact(history(TALK, summarizer=ScriptedSummarizer(blank)), shipped("reckless"))
    assert (done.flags, done.covered, done.messages[0].text) == (("blank_summary",), frozenset(), "About: ")


def test_it_may_count_tokens_as_the_run_does(shipped: Shipped) -> None:
    done = compact(history(TALK), shipped("counting"))
    assert sorted(done.kept) == [m.seq for m in TALK if CharacterCounter().count(m.text) < 3]
    assert 0 < len(done.messages) < len(TALK)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("last(kept=2)", "has no parameter 'kept'; it has: keep"),
        ("last_later", "needs the parameters keep"),
        ("Summarizing(summarize=no)", "summarize is the run's summariser; leave it out"),
        ("nothing", "our_compaction has no 'nothing' in our_compaction"),
        ("figure", "figure in our_compaction is neither a class nor a function"),
        ("anything(keep={1})", "parameters are figures, texts and lists of these"),
    ],
)
def test_a_wrong_name_or_parameter_is_refused_in_one_sentence(rest: str, said: str, shipped: Shipped) -> None:
    with pytest.raises(StrategyError, match=said) as refused:
        shipped(rest)
    assert "\n" not in str(refused.value)


def test_what_a_callable_raises_or_returns_amiss_fails_the_compaction_with_its_words(shipped: Shipped) -> None:
    with pytest.raises(KeyError, match="the roof is off"):
        compact(history(TALK), shipped("broken"))
    with pytest.raises(TypeError, match="expected a list of messages, the callable returned str"):
        compact(history(TALK), shipped("wrong"))


def test_a_module_that_is_not_there_and_an_id_that_is_none_are_refused() -> None:
    with pytest.raises(StrategyError, match=r"cannot import no_such_module \(No module named 'no_such_module'\)"):
        make_method("peer:no_such_module:compact")
    for id in ("peer:", "peer:compact", "peer:my_package.compact"):
        with pytest.raises(StrategyError, match=r"expected peer:PEER\.CLASS .* or peer:MODULE:FUNCTION"):
            make_method(id)


@pytest.mark.parametrize(
    ("id", "module", "package"),
    [
        ("peer:agent_framework.SlidingWindowStrategy", "agent_framework", r"agent-framework-core==1\.23\.0'$"),
        ("peer:openhands.LLMSummarizingCondenser", "openhands", r"openhands-sdk==1\.58\.0' on Python 3\.12 or later$"),
        ("peer:langchain.agents.middleware:ClearToolUsesEdit", "langchain", r"langchain==1\.4\.7'$"),
        ("peer:inspect_ai.CompactionTrim", "inspect_ai", r"inspect-ai==0\.3\.285'$"),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_version(
    id: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(StrategyError, match=f"needs the package .*: pip install '{package}"):
        make_method(id)


PARTS = {
    "no dependency": ("import zlib_ng_of_nobody", "the module zlib_ng_of_nobody is missing"),
    "a dependency that lacks a part": ("import json.no_such_part", "the module json.no_such_part is missing"),
    "an older one": ("from json import no_such_name", "lacks what version .* cannot import name 'no_such_name'"),
    "one that breaks": ("raise AttributeError('module x has no y')", "lacks what version .* module x has no y"),
    "one that is asked for late": (
        "def __getattr__(name):\n    import zlib_ng_of_nobody", "the module zlib_ng_of_nobody is missing"
    ),
}  # fmt: skip


@pytest.mark.parametrize("peer", ["agent_framework", "openhands", "langchain", "inspect_ai"])
@pytest.mark.parametrize("part", PARTS)
def test_a_package_that_is_half_installed_is_named_with_what_it_lacks(
    peer: str, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, said = PARTS[part]
    known = next(one for one in KNOWN if one.name == peer)
    folder = tmp_path
    for name in known.places[0].split("."):
        folder /= name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
    (folder / "__init__.py").write_text(body)
    for name in [name for name in sys.modules if name == peer or name.startswith(f"{peer}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("compaction.adapters._adapter", lambda known: sys)  # ours imports what a real one brings
    with pytest.raises(StrategyError, match=said) as caught:
        make_method(f"peer:{peer}.AnyClass")
    assert known.package in str(caught.value)
    for name in [name for name in sys.modules if name == peer or name.startswith(f"{peer}.")]:
        del sys.modules[name]


def test_somebody_elses_code_is_part_of_the_methods_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of its package, and the text of its module."""
    info = tmp_path / "shipped_compaction-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shipped-compaction\nVersion: 2.5\n")
    (info / "top_level.txt").write_text("shipped_compaction\n")
    module = tmp_path / "shipped_compaction.py"
    module.write_text("def last(messages):\n    return messages[-1:]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shipped_compaction", raising=False)
    method = parse_method("peer:shipped_compaction:last")
    assert (method.strategy.peer, method.strategy.peer_version) == ("shipped-compaction", "2.5")
    assert (method.mode, method.needs, len(method.code)) == ("faithful", "nothing", 8)
    module.write_text("def last(messages):\n    return messages[-12:]\n")
    monkeypatch.delitem(sys.modules, "shipped_compaction")
    assert parse_method("peer:shipped_compaction:last").code != method.code


def test_it_is_a_step_of_a_pipeline_and_a_method_of_compact_messages(shipped: Shipped) -> None:
    shipped("last")
    done = compact_messages(TALK, 'pipeline(steps="none -> peer:our_compaction:last(keep=2)")')
    assert sorted(done.kept) == [0, 8, 9]
    assert compact_messages(TALK, "peer:our_compaction:same").kept == frozenset(range(10))


def test_the_originals_are_listed_with_what_they_need_and_run_only_when_they_are_named() -> None:
    names = [item["name"] for item in listed()]
    assert [name.partition(".")[0] for name in names[:4]] == [
        "peer:agent_framework", "peer:openhands", "peer:langchain", "peer:inspect_ai",
    ]  # fmt: skip
    assert "installed" in listed()[0]["needs"]
    assert not any(method.strategy.id.startswith("peer:") for method in default_methods())


def documented(heading: str, language: str) -> str:
    """The first block in a language below a heading of docs/strategies.md."""
    text = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text(encoding="utf-8")
    below = text.partition(f"# {heading}\n")[2]
    return below.partition(f"```{language}\n")[2].partition("```")[0]


def test_the_documented_callable_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "documented_context.py").write_text(documented("A callable of your own", "python"))
    monkeypatch.syspath_prepend(str(tmp_path))
    method = parse_method("peer:documented_context:compact(keep=2)")
    done = compact(history(TALK, summarizer=ScriptedSummarizer()), method)
    assert [m.seq for m in done.messages] == [0, None, 8, 9]
    assert done.messages[1].covers == (1, 2, 3, 4, 5, 6, 7)


def test_the_documented_strategy_of_another_package_is_registered_and_works(tmp_path: Path) -> None:
    (tmp_path / "our_strategies.py").write_text(documented("A strategy of your own", "python"))
    points = tomllib.loads(documented("A strategy of your own", "toml"))["project"]["entry-points"]
    info = tmp_path / "our_strategies-2.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: our-strategies\nVersion: 2.1\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in points.items()]
    (info / "entry_points.txt").write_text("".join(lines))
    code = (
        "from compaction import compact, default_methods, parse_method\n"
        "from compaction.testing import history, talk\n"
        "assert 'our_short_results' in {method.name for method in default_methods()}\n"
        "done = compact(history(talk('s u a1 a2')), parse_method('our_short_results(max_chars=3,keep=1)'))\n"
        "print(sorted(done.edited))"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[3, 5]", "")


def test_no_peer_is_imported_before_it_is_named() -> None:
    code = (
        "import sys; from compaction import default_methods; import compaction.adapters; default_methods();"
        "found = {'agent_framework', 'openhands', 'langchain', 'inspect_ai'} & set(sys.modules); sys.exit(len(found))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
