import pytest

from compaction import Message
from judge.measures.file_mentions import file_mentions

SUMMARY = """## Session intent
- mend the login

## Files
- src/a.ts (created): `connect`
- config/redis.ts (modified): `poolSize`, `keepAlive`
- tests/auth.test.ts (examined)

## Next steps
- run the suite again
- mend the mock
"""


def verbs(message: Message) -> dict[str, str]:
    return {op.path: op.verb for op in file_mentions(message)}


def test_a_summary_says_what_was_done_to_each_file() -> None:
    made = Message("user", SUMMARY, covers=(1, 2))
    assert verbs(made) == {"src/a.ts": "created", "config/redis.ts": "modified", "tests/auth.test.ts": "examined"}
    assert file_mentions(made)[1].details == ("poolSize", "keepAlive")


def test_a_heading_speaks_for_the_lines_below_it() -> None:
    made = Message("user", "**Files examined:**\n- src/a.py\n- src/b.py\n\n# Created\nsrc/c.py")
    assert verbs(made) == {"src/a.py": "examined", "src/b.py": "examined", "src/c.py": "created"}


@pytest.mark.parametrize("path", [".env", "/srv/app/.env", ".git/hooks/pre-push", "Makefile", "deploy/Dockerfile"])
def test_a_file_without_an_ending_counts_as_an_item_of_a_list(path: str) -> None:
    for text in (f"Created: {path}\nModified: none", f"## Files\n- `{path}` (created): new", f"Created: a.py; {path}"):
        assert (path, "created") in [(op.path, op.verb) for op in file_mentions(Message("user", text))]
    assert file_mentions(Message("user", "Created: none\nOpen: created/modified is mixed up")) == []


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        ("- `src/a.py` (NEW)", "created"),
        ("- **src/a.py** [new]: the reader", "created"),
        ("- src/a.py (new file)", "created"),
        ("[NEW] src/a.py", "created"),
        ("NEW: src/a.py", "created"),
        ("A  src/a.py", "created"),
        ("?? src/a.py", "created"),
        ("+ src/a.py", "created"),
        ("- M src/a.py", "modified"),
        ("~ src/a.py: the totals", "modified"),
        ("D src/a.py", "deleted"),
        ("- src/a.py (modified)", "modified"),
        ("- `src/a.py`: new endpoint, tried with `GET /api/reviews/:id`, updated", "modified"),
        ("- src/a.py (new helper for totals)", "modified"),
        ("A src/a.py script reads the totals", "modified"),
        ("- src/a.py", "modified"),
    ],
)
def test_a_mark_beside_a_file_says_what_was_done_to_it(line: str, verb: str) -> None:
    assert verbs(Message("user", f"## Files\n{line}\n", covers=(1,))) == {"src/a.py": verb}


def test_new_files_are_created() -> None:
    assert verbs(Message("user", "New files:\n- src/a.py\n", covers=(1,))) == {"src/a.py": "created"}


def test_what_is_taken_from_a_file_or_put_into_it_does_not_delete_it() -> None:
    for text in (
        "Removed `limit` from `docs/b.md`.",
        "Deleted docs/in/a.md, docs/c.md, and put its text into docs/b.md.",
        "- docs/b.md: updated, holds what was deleted with docs/a.md",
    ):
        found = verbs(Message("user", text, covers=(1,)))
        assert found["docs/b.md"] == "modified"
        assert found.get("docs/c.md", "deleted") == "deleted"


def test_what_is_created_in_a_file_leaves_open_whether_the_file_is_new() -> None:
    text = "- Started by creating a helper function in src/str.py\n- Created src/new.py\n"
    assert verbs(Message("user", text, covers=(1,))) == {"src/new.py": "created"}
    assert verbs(Message("user", text + "- Modified src/str.py: a helper", covers=(1,)))["src/str.py"] == "modified"


def test_what_an_agent_says_counts_only_with_a_verb() -> None:
    said = Message("assistant", "I updated `src/a.py` to close the socket.\nThe function lives in src/b.py.", seq=4)
    assert verbs(said) == {"src/a.py": "modified"}


def test_prose_with_dots_holds_no_files() -> None:
    assert file_mentions(Message("user", "We changed it, e.g. gc.auto and v1.2 of node.process.", covers=(1,))) == []


def test_what_stands_under_a_heading_ends_at_the_next_one() -> None:
    numbered = (
        "6. Files created:\n   - a.py\n7. Pending Tasks:\n   - run b.py\n   1. mend c.py\n8. Current Work:\n   - x\n"
    )
    assert verbs(Message("user", numbered, covers=(1,))) == {"a.py": "created"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", [" ", "a", "a/", "a.", "* ", "# ", "`", "a ", "- a.b/"])
def test_hostile_lines_take_linear_time(piece: str) -> None:
    text = piece * 200_000 + "\n" + piece * 900 + "!"
    file_mentions(Message("user", text, covers=(1,)))
