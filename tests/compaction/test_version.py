from collections.abc import Sequence

from compaction import History, Message, load_registry
from compaction.version import code_version, function_version


def keep_all(history: History) -> Sequence[Message]:
    return history.messages


def test_the_projects_own_strategies_share_the_version_of_their_code() -> None:
    assert len({strategy.code for strategy in load_registry().values()}) == 1


def test_another_module_has_another_version() -> None:
    assert function_version(keep_all) != load_registry()["none"].code


def test_a_function_without_a_file_has_the_version_of_its_code() -> None:
    spaces: list[dict[str, object]] = [{"__name__": "typed_in"} for _ in range(3)]
    for space, code in zip(spaces, ("return 1", "return 2", "return 1"), strict=True):
        exec(f"def f():\n    {code}", space)
    first, second, third = (function_version(space["f"]) for space in spaces)  # type: ignore[arg-type]
    assert first == third != second


def test_prompts_count_as_code() -> None:
    assert code_version("compaction/prompts") != code_version("compaction/strategies")
