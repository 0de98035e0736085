from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from compaction import Message, ToolCall, Transcript
from compaction.measures.needs import Need, SessionNeeds
from compaction.testing import CharacterCounter

ROWS = """def read_rows(path):
    with open(path, encoding="utf-8") as file:
        return [line.split(",") for line in file if line.strip()]
"""
SPLIT = 'return [line.split(",") for line in file if line.strip()]'


def say(*said: str | tuple[str, dict[str, Any], str]) -> tuple[Message, ...]:
    """A session: a text is the person's, or the agent's behind ``>``; a triple is a call with its result."""
    messages: list[Message] = []
    for item in said:
        seq = len(messages)
        if isinstance(item, str):
            role = "assistant" if item.startswith(">") else "user"
            messages.append(Message(role, item.removeprefix(">"), seq=seq, tokens=10))  # type: ignore[arg-type]
            continue
        name, arguments, result = item
        call = ToolCall(f"c{seq}", name, json.dumps(arguments))
        messages.append(Message("assistant", tool_calls=(call,), seq=seq, tokens=10))
        messages.append(
            Message("tool", result, tool_call_id=call.id, tool_name=name, seq=seq + 1, tokens=100 + seq + 1)
        )
    return tuple(messages)


def index(messages: tuple[Message, ...]) -> SessionNeeds:
    return SessionNeeds(Transcript("s", messages, cwd="/srv/mill"))


def read(path: str = "src/rows.py", shown: str = ROWS) -> tuple[str, dict[str, Any], str]:
    return "Read", {"file_path": f"/srv/mill/{path}"}, shown


def edit(old: str, path: str = "src/rows.py") -> tuple[str, dict[str, Any], str]:
    return (
        "Edit",
        {"file_path": f"/srv/mill/{path}", "old_string": old, "new_string": "pass"},
        "The file has been updated.",
    )


def run(command: str, result: str) -> tuple[str, dict[str, Any], str]:
    return "Bash", {"command": command}, result


def brief(needs: tuple[Need, ...]) -> list[tuple[str, str, int, int, int]]:
    return [(n.kind, n.value, n.observation, n.needed_at, n.turns_after) for n in needs]


def test_an_edit_needs_the_file_as_it_was_read_and_the_line_that_it_repeats() -> None:
    session = say("Skip blank rows.", read(), edit(SPLIT))
    assert brief(index(session).at(3)) == [("path", "src/rows.py", 2, 3, 1), ("quote", SPLIT, 2, 3, 1)]
    assert {need.tokens for need in index(session).at(3)} == {102}


def test_a_file_that_the_session_reads_again_is_no_need_of_what_it_read_before() -> None:
    session = say("Skip blank rows.", read(), read(), edit(SPLIT))
    assert index(session).at(3) == ()
    assert [need.observation for need in index(session).at(5)] == [4, 4]


def test_a_search_that_shows_the_place_again_meets_the_need_too() -> None:
    session = say("Skip blank rows.", read(), run("grep -n split src/rows.py", f"src/rows.py:3: {SPLIT}"), edit(SPLIT))
    assert [n for n in index(session).at(3) if n.kind == "path"] == []


def test_a_file_that_is_written_whole_needs_nothing_of_what_it_was() -> None:
    write = ("Write", {"file_path": "/srv/mill/src/rows.py", "content": "pass\n"}, "updated")
    assert index(say("Skip blank rows.", read(), write)).at(3) == ()


def test_a_file_of_which_only_another_part_was_read_is_no_need() -> None:
    session = say("Skip blank rows.", read(), edit("a line that was never shown to anybody"))
    assert [n for n in index(session).at(3) if n.kind == "path"] == []


def test_a_name_is_needed_when_an_observation_brought_it_and_nothing_showed_it_again() -> None:
    listing = run("git ls-files", "src/rows.py\nsrc/writers/csv_writer.py\n")
    used = run("cat src/writers/csv_writer.py", "def write_row(row): ...")
    session = say("Tidy up.", listing, "Go on.", used)
    assert brief(index(session).at(4)) == [("identifier", "src/writers/csv_writer.py", 2, 4, 1)]
    again = say("Tidy up.", listing, "Go on.", listing, used)
    assert index(again).at(4) == ()


@pytest.mark.parametrize("said", ["Look at csv_writer.py first.", ">I shall look at src/writers/csv_writer.py."])
def test_a_name_that_the_person_or_the_agent_brought_up_is_no_need(said: str) -> None:
    listing = run("git ls-files", "src/writers/csv_writer.py\n")
    session = say(said, listing, "Go on.", run("cat src/writers/csv_writer.py", "…"))
    assert index(session).at(4) == ()


def test_a_code_name_is_needed_only_when_its_definition_was_shown() -> None:
    use = run("grep -rn assert_called_once_with tests", "…")
    called = say("Tidy up.", run("cat tests/test_a.py", "mock.assert_called_once_with(1)"), use)
    assert index(called).at(3) == ()
    shown = say("Tidy up.", run("cat tests/mocks.py", "def assert_called_once_with(self):"), use)
    assert brief(index(shown).at(3)) == [("identifier", "assert_called_once_with", 2, 3, 1)]


def test_reasoning_is_no_use_of_a_name() -> None:
    session = say("Tidy up.", run("git ls-files", "src/writers/csv_writer.py\n"), ">Done.")
    thinking = replace(session[3], reasoning="src/writers/csv_writer.py")
    assert index((*session[:3], thinking)).at(3) == ()


def test_the_latest_observation_is_the_one_that_is_needed() -> None:
    session = say("Skip blank rows.", read(), "Now?", read(), "Go on.", edit(SPLIT))
    assert {need.observation for need in index(session).at(7)} == {5}


def test_the_turns_are_counted_from_the_point() -> None:
    session = say("Skip blank rows.", read(), run("true", "ok"), ">Well.", edit(SPLIT))
    assert {need.turns_after for need in index(session).at(3)} == {3}


SESSION = say(
    "Skip blank rows.",
    read(),
    run("git ls-files", "src/rows.py\nsrc/writers/csv_writer.py"),
    edit(SPLIT),
    run("cat src/writers/csv_writer.py", "…"),
)
CUT = 5


def test_the_history_as_it_was_meets_every_need_and_the_empty_context_none() -> None:
    session = index(SESSION)
    needs = session.at(CUT)
    assert [need.kind for need in needs] == ["path", "quote", "identifier"]
    assert session.loss(needs, SESSION[:CUT]) == session.loss(needs, tuple(map(replace, SESSION[:CUT])))
    assert session.loss(needs, SESSION[:CUT]).lost == ()
    empty = session.loss(needs, ())
    assert (empty.lost, empty.fetched, empty.tokens) == ((0, 1, 2), (2, 4), 102 + 104)


def test_an_observation_is_fetched_once_however_many_needs_point_to_it() -> None:
    session = index(SESSION)
    loss = session.loss(session.at(CUT), SESSION[3:5])
    assert (loss.lost, loss.fetched, loss.tokens) == ((0, 1), (2,), 102)


def test_what_is_fetched_for_one_need_serves_a_later_one_that_it_has_as_well() -> None:
    """The second listing is the latest with the name, but the file is fetched before, and says it too."""
    shown = ROWS + "# see src/writers/csv_writer.py\n"
    session = say(
        "Go.",
        read(shown=shown),
        run("git ls-files", "src/writers/csv_writer.py"),
        edit(SPLIT),
        run("cat src/writers/csv_writer.py", "…"),
    )
    made = index(session)
    needs = made.at(5)
    assert [need.observation for need in needs if need.kind == "identifier"] == [4]
    assert made.loss(needs, ()).fetched == (2,)


@pytest.mark.parametrize(
    ("left", "lost"),
    [
        (f"Read src/rows.py: {SPLIT}", ["identifier"]),
        ("The writer is in csv_writer.py.", ["path", "quote"]),
        ("The writer is in other_csv_writer.py.", ["path", "quote", "identifier"]),
        ("Rows are split by line.", ["path", "quote", "identifier"]),
    ],
)
def test_a_summary_meets_the_needs_whose_words_it_has(left: str, lost: list[str]) -> None:
    session = index(SESSION)
    needs = session.at(CUT)
    summary = Message("user", left, covers=tuple(range(CUT)), tokens=5)
    assert [needs[i].kind for i in session.loss(needs, (summary,)).lost] == lost


def test_a_shortened_observation_meets_what_it_still_has() -> None:
    session = index(SESSION)
    needs = session.at(CUT)
    for text, lost in ((ROWS[-70:], {2}), ("[removed]", {0, 1, 2})):
        context = (SESSION[2].with_text(text),)
        assert set(session.loss(needs, context).lost) == lost


def test_a_call_that_is_kept_with_the_words_in_it_meets_the_need() -> None:
    write = ("Write", {"file_path": "/srv/mill/src/rows.py", "content": ROWS}, "created")
    made = index(say("Go.", write, run("cat src/rows.py", ROWS), edit(SPLIT)))
    needs = made.at(5)
    assert {need.observation for need in needs} == {4}
    assert made.loss(needs, made.messages[1:2]).lost == ()


def test_tokens_are_counted_where_they_are_not_known() -> None:
    session = tuple(replace(message, tokens=None) for message in SESSION)
    with pytest.raises(ValueError, match="message 2 has no token count"):
        index(session).at(CUT)
    counted = SessionNeeds(Transcript("s", session, cwd="/srv/mill"), CharacterCounter()).at(CUT)
    assert counted[0].tokens == -(-len(ROWS) // 4)


def test_a_point_at_the_end_has_no_needs_and_an_empty_session_neither() -> None:
    assert index(SESSION).at(len(SESSION)) == ()
    assert index(()).at(0) == ()
