"""Somebody else's code as a method: callables of one's own, classes, and what is documented of them.

What the peers' own classes do is in ``test_peers_live``, which needs them.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from compaction import (
    Message,
    SummaryError,
    compact,
    compact_messages,
    default_methods,
    parse_method,
)
from compaction.adapters.known_peers import list_peers
from compaction.adapters.summarizer_bridge import Asking
from compaction.testing import CharacterCounter, ScriptedSummarizer, blank, failing, history, talk
from tests.compaction.adapters.somebodys import TALK, Shipped


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


def test_a_callable_may_be_asynchronous_also_where_an_event_loop_is_running(shipped: Shipped) -> None:
    method = shipped("last_later(keep=2)")
    assert sorted(compact(history(TALK), method).kept) == [8, 9]

    async def inside() -> list[int]:
        return sorted(compact(history(TALK), method).kept)

    assert asyncio.run(inside()) == [8, 9]


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
    assert (method.mode, method.needs, len(method.version)) == ("faithful", "nothing", 10)
    module.write_text("def last(messages):\n    return messages[-12:]\n")
    monkeypatch.delitem(sys.modules, "shipped_compaction")
    assert parse_method("peer:shipped_compaction:last").version != method.version


def test_it_is_a_step_of_a_pipeline_and_a_method_of_compact_messages(shipped: Shipped) -> None:
    shipped("last")
    done = compact_messages(TALK, 'pipeline(steps="none -> peer:our_compaction:last(keep=2)")')
    assert sorted(done.kept) == [0, 8, 9]
    assert compact_messages(TALK, "peer:our_compaction:same").kept == frozenset(range(10))


def test_the_originals_are_listed_with_what_they_need_and_run_only_when_they_are_named() -> None:
    names = [item["name"] for item in list_peers()]
    assert [name.partition(".")[0] for name in names[:4]] == [
        "peer:agent_framework",
        "peer:openhands",
        "peer:langchain",
        "peer:inspect_ai",
    ]
    assert "installed" in list_peers()[0]["needs"]
    assert not any(method.strategy.id.startswith("peer:") for method in default_methods())


def documented(heading: str, language: str) -> str:
    """The first block in a language below a heading of docs/strategies.md."""
    text = (Path(__file__).parents[3] / "docs" / "strategies.md").read_text(encoding="utf-8")
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
        "import sys; from compaction import default_methods; import compaction.adapters.peers; default_methods();"
        "found = {'agent_framework', 'openhands', 'langchain', 'inspect_ai'} & set(sys.modules); sys.exit(len(found))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
