"""What is said of a wrong id, a wrong parameter, a callable that fails and a package that is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from compaction import (
    StrategyError,
    compact,
    make_method,
)
from compaction.adapters.known_peers import KNOWN
from compaction.testing import history
from tests.compaction.adapters.somebodys import TALK, Shipped


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
        "def __getattr__(name):\n    import zlib_ng_of_nobody",
        "the module zlib_ng_of_nobody is missing",
    ),
}


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
    monkeypatch.setattr("compaction.adapters.peers._adapter", lambda known: sys)  # ours imports what a real one brings
    with pytest.raises(StrategyError, match=said) as caught:
        make_method(f"peer:{peer}.AnyClass")
    assert known.package in str(caught.value)
    for name in [name for name in sys.modules if name == peer or name.startswith(f"{peer}.")]:
        del sys.modules[name]
