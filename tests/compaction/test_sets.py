"""Sets of methods: what runs where nothing is named, everything, and the families."""

from __future__ import annotations

import pytest

from compaction import Method, default_methods, load_registry, parse_methods, strategy
from compaction.registry import REGISTRY
from compaction.sets import list_sets, sets_of
from tests.compaction.shipped import SHIPPED

CONTROLS = {"none", "empty", "head_tail", "recorded"}


def names(methods: list[Method]) -> list[str]:
    return [method.name for method in methods]


def ids(set: str) -> set[str]:
    return {method.strategy.id for method in parse_methods(set)}


def test_the_defaults_are_few_rows_each_with_its_defaults_and_have_the_controls() -> None:
    found = default_methods()
    assert names(found) == names(parse_methods(" @defaults "))
    assert names(found) == sorted({method.strategy.id for method in found}), "each once, without variants"
    assert {"none", "empty", "head_tail", "recorded"} <= ids("@defaults")
    assert 20 <= len(found) <= 40


def test_all_is_every_registered_method_with_its_variants_but_those_that_take_a_key() -> None:
    assert set(names(parse_methods("@all"))) == {name for name, one in SHIPPED.items() if one.needs != "key"}


@pytest.mark.parametrize(
    ("set", "some"),
    [
        ("@openhands", {"openhands_sdk", "mask_openhands_v0"}),
        ("@langchain", {"langchain_summary", "clear_tool_uses"}),
        ("@claude", {"claude_code_style_regen"}),
        ("@agent-framework", {"af_py_summarization", "af_net_pipeline", "af_net_sliding"}),
        ("@agent_framework", {"af_py_summarization", "af_net_pipeline", "af_net_sliding"}),
        ("@af-net", {"af_net_pipeline", "af_net_sliding"}),
    ],
)
def test_a_family_has_what_its_id_file_or_original_begins_with(set: str, some: set[str]) -> None:
    assert some <= ids(set)
    assert not CONTROLS & ids(set)


def test_a_family_is_no_beginning_of_a_word() -> None:
    assert "pi_anchored_files" in ids("@pi")
    assert not {"pydantic_ai_history", "pipeline"} & ids("@pi")


def test_every_listed_set_has_members_and_what_a_strategy_says_of_its_sets_holds() -> None:
    registry = load_registry()
    listed = list_sets(registry)
    for set in listed:
        assert parse_methods(set), set
    for id, one in registry.items():
        assert all(id in ids(set) and set in listed for set in sets_of(one)), id


def test_a_plug_in_is_among_the_defaults_and_its_module_is_its_family() -> None:
    try:

        @strategy("plugged", version=1)
        def plugged(history: object) -> tuple[()]:
            """Nothing."""
            return ()

        assert "plugged" in ids("@defaults") & ids("@all") & ids("@tests")
    finally:
        REGISTRY.pop("plugged")
