"""Strategies in a file of the user's own."""

from pathlib import Path

import pytest

from compaction.methods import load_registry, parse_method
from compaction.strategy import History, StrategyError
from compaction.tokens import LengthCounter
from compaction.transcript import Message

CODE = '''
from compaction_eval import History, strategy


@strategy("last_messages")
def last_messages(history: History, *, keep: int = 10):
    """The last messages."""
    return history.messages[-keep:]
'''


def _file(path: Path, code: str = CODE) -> str:
    path.write_text(code)
    return str(path)


def test_a_strategy_in_a_file_is_named_by_the_file_and_is_in_no_registry(tmp_path: Path) -> None:
    file = _file(tmp_path / "mine.py")
    method = parse_method(f"{file}:last_messages(keep=1)")
    messages = tuple(Message("user", f"word {n}", seq=n) for n in range(3))
    assert method.run(History(messages, LengthCounter(), 10)) == messages[-1:]
    assert method.name == f"{file}:last_messages(keep=1)"
    assert parse_method(method.spec) == method
    assert "last_messages" not in load_registry()


def test_another_code_is_another_version(tmp_path: Path) -> None:
    files = [_file(tmp_path / "a.py"), _file(tmp_path / "b.py", CODE.replace("10", "20"))]
    one, other = (parse_method(f"{file}:last_messages").strategy.version for file in files)
    assert one != other


@pytest.mark.parametrize(
    ("code", "spec", "said"),
    [
        (CODE, "mine.py:last_message", r"has no strategy 'last_message' \(did you mean last_messages\?\)"),
        (CODE, "other.py:last_messages", "no such file: .*other.py"),
        (CODE, "mine.py:last_messages(kep=1)", r"has no parameter 'kep'; it has: keep"),
        ("x = 1", "mine.py:x", "has no strategy 'x'; no function in it has the decorator @strategy"),
        ("def x(:", "mine.py:x", "cannot be run: SyntaxError"),
        (CODE.replace('"last_messages"', '"recency"'), "mine.py:recency", "'recency' is registered twice"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, spec: str, said: str
) -> None:
    _file(tmp_path / "mine.py", code)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StrategyError, match=said):
        parse_method(spec)
