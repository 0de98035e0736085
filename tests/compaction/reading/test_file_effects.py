"""Which files a session created, modified, examined, moved and deleted, from the calls of every agent."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.reading.changed_names import changed_names
from compaction.reading.file_effects import FileOp, Ledger, OpReader, ToolResults, file_ops, same_file
from compaction.reading.file_paths import Roots, find_roots
from compaction.transcript import Message, ToolCall
from tests.compaction.reading.session_calls import ROOT, Session, op


def test_a_written_file_that_was_read_before_is_modified() -> None:
    session = (
        Session().call("Read", file_path="conf.toml").call("Write", file_path=f"{ROOT}/conf.toml", content="a = 1")
    )
    assert session.ops()[-1] == ("modified", "conf.toml")


@pytest.mark.parametrize(
    "listing",
    [
        "./src/tax.py\n./src/cart.py",
        "src/tax.py:12:def vat():",
        " M src/tax.py",
        "shop/src/tax.py\n",
        " src/tax.py | 4 ++--",
    ],
)
def test_a_written_file_that_a_listing_showed_is_modified(listing: str) -> None:
    session = Session().call("Bash", command="find .", result=listing).call("bash", command="echo x > src/tax.py")
    assert session.ops()[-1] == ("modified", "src/tax.py")


@pytest.mark.parametrize(
    "talk", ["cat: src/tax.py: No such file or directory", "write src/tax.py next", "D  src/tax.py"]
)
def test_a_written_file_that_was_only_spoken_of_is_created(talk: str) -> None:
    session = Session().call("Bash", command="make", result=talk).call("bash", command="echo x > src/tax.py")
    assert session.ops()[-1] == ("created", "src/tax.py")


def test_the_tools_own_word_on_creation_wins() -> None:
    session = (
        Session()
        .call("Bash", command="ls", result="tax.py\n")
        .call("Write", file_path="tax.py", content="", result="File created successfully at: tax.py")
        .call("Write", file_path="new.py", content="", result="The file new.py has been updated.")
    )
    assert session.ops() == [("created", "tax.py"), ("modified", "new.py")]


def test_a_call_that_failed_did_nothing_and_a_refused_command_neither() -> None:
    session = (
        Session()
        .call(
            "Edit",
            file_path="a.py",
            old_string="x",
            new_string="y",
            is_error=True,
            result="String to replace not found",
        )
        .call("Bash", command="rm a.py", is_error=True, result="The user doesn't want to proceed with this tool use.")
        .call("Read", file_path="b.py", result="Error: File does not exist.")
    )
    assert session.ops() == []


def test_a_command_line_that_fails_at_its_end_has_written_its_file() -> None:
    command = "cat > repro.py <<'EOF'\nimport shop\nEOF\npython repro.py && rm repro.py"
    session = Session().call("bash", command=command, result="<returncode>1</returncode>\n<output>boom</output>")
    assert session.ops() == [("created", "repro.py")]


def test_a_file_that_was_not_there_was_not_examined() -> None:
    session = Session().call(
        "bash", command="cat a.py; cat b.py; true", result="x = 1\ncat: b.py: No such file or directory"
    )
    assert session.ops() == [("examined", "a.py")]


def test_a_script_that_the_session_wrote_does_its_work_when_it_runs() -> None:
    body = "p = 'src/cart.py'\ns = open(p).read()\nopen(p, 'w').write(s.replace('a', 'b'))\n"
    session = Session().call("bash", command=f"cat > fix.py <<'EOF'\n{body}EOF").call("bash", command="python fix.py")
    assert session.ops() == [("created", "fix.py"), ("modified", "src/cart.py")]
    failed = Session().call("bash", command=f"cat > fix.py <<'EOF'\n{body}EOF")
    assert failed.call("bash", command="python fix.py", result="Exit code 1\n").ops() == [("created", "fix.py")]


def test_patch_says_itself_which_files_it_patched() -> None:
    session = Session().call("bash", command="patch -p1 < fix.diff", result="patching file src/cart.py\n")
    assert session.ops() == [("modified", "src/cart.py")]


def test_one_file_has_one_name_however_it_is_written() -> None:
    session = (
        Session()
        .call("Read", file_path=f"{ROOT}/src/cart.py")
        .call("bash", command="cat ./src/cart.py")
        .call("bash", command="cd src && cat cart.py")
        .call("exec_command", cmd="cat cart.py", workdir=f"{ROOT}/src")
    )
    assert {path for _, path in session.ops()} == {"src/cart.py"}


def test_a_worktree_and_its_repository_share_their_names() -> None:
    cwd = f"{ROOT}/.worktrees/tax"
    session = Session().call("Read", file_path=f"{cwd}/src/a.py").call("Read", file_path=f"{ROOT}/src/a.py")
    assert session.ops(cwd) == [("examined", "src/a.py"), ("examined", "src/a.py")]


def test_without_any_root_an_absolute_and_a_relative_name_are_one_file() -> None:
    session = Session().call("bash", command="cat src/cart.py").call("Read", file_path="/srv/x/src/cart.py")
    assert session.ops(None) == [("examined", "src/cart.py"), ("examined", "src/cart.py")]


def test_temporary_files_outside_of_the_project_are_marked() -> None:
    ops = file_ops(Session().call("bash", command="echo 1 > /tmp/x.txt; echo 2 > y.txt").messages, ROOT)
    assert [(op.path, op.scratch) for op in ops] == [("/tmp/x.txt", True), ("y.txt", False)]


def test_the_project_is_where_commands_go() -> None:
    session = Session().call("bash", command="cd /testbed && ls").call("bash", command="cd /testbed/src && ls")
    session.call("bash", command="cd /tmp && ls")
    assert find_roots(session.messages) == Roots(("/testbed",), "/testbed")


def test_details_name_what_an_edit_touches_definitions_first() -> None:
    (op,) = file_ops(
        Session()
        .call(
            "Edit",
            file_path="cart.py",
            old_string="RATE = 3\n\ndef total(items):\n    return 0",
            new_string="RATE = 4\n\ndef total(items, tax):\n    amount = 0\n    return amount",
        )
        .messages,
        ROOT,
    )
    assert op.details == ("total", "RATE", "amount")


@pytest.mark.parametrize(
    ("new", "old", "path", "names"),
    [
        ("export async function load(id: string) {\n", "", "a.ts", ("load",)),
        ("func (s *Store) Close() error {\n", "", "a.go", ("Close",)),
        ("pub struct Pool {\n    size: usize,\n}", "", "a.rs", ("Pool", "size")),
        ("max_retries: 5\n", "max_retries: 3\n", "app.yaml", ("max_retries",)),
        ("[redis]\npool_size = 10\n", "[redis]\npool_size = 2\n", "c.toml", ("pool_size",)),
        ("def f():\n    return 2", "def f():\n    return 1", "a.py", ("f",)),
        ("# Setup\n\ntext\n```\n# not a heading\n```\n## Use", "", "README.md", ("Setup", "Use")),
        ("from app.pool import RedisPool\n", "", "a.py", ("RedisPool",)),
        ("# class Old was here\nsize = 2\n", "size = 1\n", "a.py", ("size",)),
        ("/**\n * class of rows: see Row\n */\nexport const limit = 3\n", "", "a.ts", ("limit",)),
    ],
)
def test_names_are_found_in_the_changed_lines(new: str, old: str, path: str, names: tuple[str, ...]) -> None:
    assert changed_names(new, old, path) == names


def test_same_file_compares_whole_path_parts() -> None:
    assert same_file("src/a.py", "/repo/src/a.py")
    assert same_file("./a.py", "a.py")
    assert not same_file("src/a.py", "/repo/osrc/a.py")
    assert not same_file("a.py", "b.py")


def test_the_ledger_folds_operations_to_what_holds() -> None:
    ledger = Ledger().extend(
        [
            op("examined", "a.py"),
            op("modified", "a.py", 1, "f"),
            op("examined", "a.py", 2),
            op("modified", "a.py", 3, "g"),
            op("created", "b.py", 4, "h"),
            op("modified", "b.py", 5, "i"),
            op("created", "tmp.py", 6),
            op("deleted", "tmp.py", 7),
            op("deleted", "old.py", 8),
            op("examined", "c.py", 9),
        ]
    )
    assert {p: o.details for p, o in ledger.modified.items()} == {"a.py": ("g", "f")}
    assert {p: o.details for p, o in ledger.created.items()} == {"b.py": ("i", "h")}
    assert (list(ledger.examined), list(ledger.deleted)) == (["c.py"], ["old.py"])


def test_the_operation_of_a_file_says_what_came_of_it() -> None:
    ledger = Ledger().extend([op("created", "a.py"), op("modified", "a.py", 1), op("modified", "b.py", 2)])
    assert (ledger.created["a.py"].verb, ledger.created["a.py"].seq) == ("created", 1)
    assert ledger.modified["b.py"].verb == "modified"


def test_a_file_that_is_deleted_and_written_again_was_modified() -> None:
    ledger = Ledger().extend([op("deleted", "a.py"), op("created", "a.py", 1)])
    assert (list(ledger.modified), list(ledger.created), list(ledger.deleted)) == (["a.py"], [], [])


def test_a_moved_file_goes_by_its_new_name() -> None:
    ledger = Ledger().extend(
        [
            op("modified", "a.py", 0, "f"),
            op("moved", "a.py", 1, to="b.py"),
            op("created", "n.py", 2),
            op("moved", "n.py", 3, to="m.py"),
        ]
    )
    assert (list(ledger.modified), list(ledger.created), list(ledger.moved)) == (["b.py"], ["m.py"], ["a.py"])
    assert ledger.modified["b.py"].details == ("f",)


OPS = st.lists(
    st.builds(
        FileOp,
        path=st.sampled_from(["a", "b", "c"]),
        verb=st.sampled_from(["created", "modified", "deleted", "moved", "examined"]),
        seq=st.integers(0, 9),
        moved_to=st.sampled_from(["a", "b", "d"]),
    ),
    max_size=30,
)


@given(OPS, st.integers(0, 30))
def test_folding_in_two_parts_is_folding_at_once_and_no_file_is_in_two_places(ops: list[FileOp], cut: int) -> None:
    first = Ledger().extend(ops[:cut])
    whole = Ledger().extend(ops)
    assert first.copy().extend(ops[cut:]) == whole
    assert first == Ledger().extend(ops[:cut])
    live = [*whole.created, *whole.modified, *whole.examined]
    assert len(live) == len(set(live))


def test_a_single_message_is_read_without_the_others() -> None:
    session = Session().call("Read", file_path=f"{ROOT}/a.py").call("Write", file_path=f"{ROOT}/a.py", content="x = 1")
    results = ToolResults(session.messages)
    roots = find_roots(session.messages, ROOT)
    reader = OpReader(roots, remembers=False)
    (written,) = reader.read(session.messages[2], results.is_error, results.text)
    assert (written.verb, written.path, written.seq) == ("created", "a.py", 2)
    assert reader.read(session.messages[2], lambda _: True, results.text) == []


@given(
    st.sampled_from(["Bash", "edit", "apply_patch", "Read", "task"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "path",
                        "file_path",
                        "command",
                        "cmd",
                        "input",
                        "content",
                        "old_string",
                        "new_string",
                        "edits",
                        "diff",
                        "paths",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    ),
    st.text(max_size=40),
)
@settings(max_examples=200, deadline=None)
def test_no_arguments_make_it_raise(tool: str, arguments: object, result: str) -> None:
    call = ToolCall("c", tool, json.dumps(arguments))
    messages = [Message("assistant", tool_calls=(call,), seq=0), Message("tool", result, tool_call_id="c", seq=1)]
    assert isinstance(file_ops(messages), list)


def test_a_file_that_the_shell_could_not_write_was_not_created() -> None:
    session = (
        Session()
        .call("Bash", command="echo 1 > gone/.env && ls", result="(eval):1: no such file or directory: gone/.env")
        .call("bash", command="echo 1 > gone/x.py; ls", result="bash: line 1: gone/x.py: No such file or directory")
    )
    assert session.ops() == []
