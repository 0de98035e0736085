"""Which files a session created, modified, examined, moved and deleted, from the calls of every agent."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.artifacts import FileOp, Ledger, Results, file_ops, message_ops, same_file
from compaction.names import changed_names
from compaction.paths import Roots, find_roots
from compaction.transcript import Message, ToolCall

ROOT = "/home/dev/shop"


class Session:
    """Builds a session call by call."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def call(self, tool: str, /, result: str = "ok", is_error: bool = False, **arguments: object) -> "Session":
        ident = f"call_{len(self.messages)}"
        seq = len(self.messages)
        self.messages.append(Message("assistant", tool_calls=(ToolCall(ident, tool, json.dumps(arguments)),), seq=seq))
        self.messages.append(Message("tool", result, tool_call_id=ident, is_error=is_error, seq=seq + 1))
        return self

    def ops(self, cwd: str | None = ROOT) -> list[tuple[str, str]]:
        return [(op.verb, op.path) for op in file_ops(self.messages, cwd)]

    def ledger(self, cwd: str | None = ROOT) -> Ledger:
        return Ledger().extend(file_ops(self.messages, cwd))


def test_claude_code_tools_read_write_and_edit() -> None:
    session = (
        Session()
        .call("Read", file_path=f"{ROOT}/src/cart.py")
        .call(
            "Write", file_path=f"{ROOT}/src/tax.py", content="def vat(): ...", result="File created successfully at: x"
        )
        .call("Edit", file_path=f"{ROOT}/src/cart.py", old_string="a = 1", new_string="a = 2")
        .call("MultiEdit", file_path=f"{ROOT}/src/tax.py", edits=[{"old_string": "x", "new_string": "y"}])
        .call("NotebookEdit", notebook_path=f"{ROOT}/nb.ipynb", new_source="rate = 3")
        .call("Bash", command="rm src/old.py")
    )
    assert session.ops() == [
        ("examined", "src/cart.py"), ("created", "src/tax.py"), ("modified", "src/cart.py"), ("modified", "src/tax.py"),
        ("modified", "nb.ipynb"), ("deleted", "src/old.py"),
    ]  # fmt: skip


def test_a_search_examines_a_file_only_when_it_names_one() -> None:
    session = (
        Session()
        .call("Grep", pattern="vat", path=f"{ROOT}/src")
        .call("Grep", pattern="vat", path=f"{ROOT}/src/tax.py")
        .call("Glob", pattern="**/*.py")
        .call("LS", path=f"{ROOT}/src")
    )
    assert session.ops() == [("examined", "src/tax.py")]


def test_codex_commands_and_patches() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: docs/tax.md\n+# Tax\n*** Update File: src/cart.py\n@@\n-total = 1\n+total = 2\n"
        "*** Delete File: src/old.py\n*** Update File: a.py\n*** Move to: b.py\n*** End Patch"
    )
    session = (
        Session()
        .call("exec_command", cmd="sed -n '1,40p' src/cart.py", workdir=ROOT)
        .call("shell", command=["bash", "-lc", "cat README.md"])
        .call("apply_patch", input=patch, result="Exit code: 0\nSuccess. Updated the following files:")
    )
    assert session.ops() == [
        ("examined", "src/cart.py"), ("examined", "README.md"), ("created", "docs/tax.md"), ("modified", "src/cart.py"),
        ("deleted", "src/old.py"), ("moved", "a.py"),
    ]  # fmt: skip


def test_a_patch_that_was_refused_did_nothing() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    assert Session().call("apply_patch", input=patch, result="apply_patch verification failed: no match").ops() == []


def test_openhands_editor_commands() -> None:
    root = "/tmp/tmpq1/shop"
    session = Session()
    session.messages.append(Message("user", f"The repository is in {root}, fix the bug.", seq=0))
    (
        session.call("execute_bash", command=f"cd {root} && ls")
        .call("str_replace_editor", command="view", path=f"{root}/cart.py",
              result="Here's the result of running `cat -n`")
        .call("str_replace_editor", command="view", path=root, result="Here's the files and directories up to 2 levels")
        .call("str_replace_editor", command="create", path=f"{root}/repro.py", file_text="x",
              result="File created successfully")
        .call("str_replace_editor", command="str_replace", path=f"{root}/cart.py", old_str="a", new_str="b")
        .call("file_editor", command="insert", path=f"{root}/cart.py", insert_line=3, new_str="c")
        .call("str_replace_editor", command="str_replace", path=f"{root}/tax.py", old_str="a", new_str="b",
              result="ERROR:\nNo replacement was performed", is_error=True)
    )  # fmt: skip
    assert session.ops(None) == [
        ("examined", "cart.py"), ("created", "repro.py"), ("modified", "cart.py"), ("modified", "cart.py"),
    ]  # fmt: skip


def test_pi_tools() -> None:
    session = (
        Session()
        .call("read", path="src/cart.ts")
        .call("edit", path="src/cart.ts", oldText="let a = 1", newText="let a = 2")
        .call("write", path="src/new.ts", content="x", result="Successfully wrote 1 bytes to src/new.ts")
        .call("bash", command="cd src && mv new.ts pool.ts")
    )
    assert session.ops() == [
        ("examined", "src/cart.ts"), ("modified", "src/cart.ts"), ("created", "src/new.ts"), ("moved", "src/new.ts"),
    ]  # fmt: skip
    assert list(session.ledger().created) == ["src/pool.ts"]


SHOWN = "[File: /shop/{0} (40 lines total)]\n1:x\n(Open file: /shop/{0})\n(Current directory: /shop)\nbash-$"


def test_swe_agent_edits_the_file_that_is_open() -> None:
    session = (
        Session()
        .call("bash", command="open src/cart.py 20", result=SHOWN.format("src/cart.py"))
        .call("bash", command="goto 33", result=SHOWN.format("src/cart.py"))
        .call("bash", command="edit 3:4\ndef total(x):\n    return x\nend_of_edit", result=SHOWN.format("src/cart.py"))
        .call("bash", command="create repro.py", result=SHOWN.format("repro.py"))
        .call("bash", command="edit 1:1\nprint(1)\nend_of_edit",
              result="Your proposed edit has introduced new syntax error(s).\n(Open file: /shop/repro.py)")
        .call("bash", command='search_dir "total" src', result="Found 3 matches")
    )  # fmt: skip
    assert session.ops(None) == [
        ("examined", "src/cart.py"), ("examined", "src/cart.py"), ("modified", "src/cart.py"), ("created", "repro.py"),
    ]  # fmt: skip


def test_swe_agent_remembers_the_open_file_when_the_answer_is_gone() -> None:
    session = Session().call("bash", command="open cart.py", result=SHOWN.format("cart.py"))
    session.call("bash", command="edit 1:1\nx = 1\nend_of_edit", result="")
    assert session.ops(None)[-1] == ("modified", "cart.py")


def test_tools_that_nobody_knows_are_told_by_their_arguments() -> None:
    session = (
        Session()
        .call("mcp__fs__view_file", path="a.py")
        .call("save", filename="b.py", contents="x = 1")
        .call("change", filePath="a.py", oldString="x", newString="y")
        .call("delete_file", target_file="c.py")
        .call("fetch", url="https://example.org/a.py", path="https://example.org/a.py")
        .call("replace_in_file", path="a.py", diff="<<<<<<< SEARCH\nlimit = 1\n=======\nlimit = 2\n>>>>>>> REPLACE")
    )
    assert session.ops() == [
        ("examined", "a.py"), ("created", "b.py"), ("modified", "a.py"), ("deleted", "c.py"), ("modified", "a.py"),
    ]  # fmt: skip


def test_a_written_file_that_was_read_before_is_modified() -> None:
    session = (
        Session().call("Read", file_path="conf.toml").call("Write", file_path=f"{ROOT}/conf.toml", content="a = 1")
    )
    assert session.ops()[-1] == ("modified", "conf.toml")


@pytest.mark.parametrize(
    "listing",
    ["./src/tax.py\n./src/cart.py", "src/tax.py:12:def vat():", " M src/tax.py", "shop/src/tax.py\n",
     " src/tax.py | 4 ++--"],
)  # fmt: skip
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
        ('[redis]\npool_size = 10\n', "[redis]\npool_size = 2\n", "c.toml", ("pool_size",)),
        ("def f():\n    return 2", "def f():\n    return 1", "a.py", ("f",)),
        ("# Setup\n\ntext\n```\n# not a heading\n```\n## Use", "", "README.md", ("Setup", "Use")),
        ("from app.pool import RedisPool\n", "", "a.py", ("RedisPool",)),
    ],
)  # fmt: skip
def test_names_are_found_in_the_changed_lines(new: str, old: str, path: str, names: tuple[str, ...]) -> None:
    assert changed_names(new, old, path) == names


def test_same_file_compares_whole_path_parts() -> None:
    assert same_file("src/a.py", "/repo/src/a.py")
    assert same_file("./a.py", "a.py")
    assert not same_file("src/a.py", "/repo/osrc/a.py")
    assert not same_file("a.py", "b.py")


def op(verb: str, path: str, seq: int = 0, *details: str, to: str | None = None) -> FileOp:
    return FileOp(path, verb, seq, details, to)  # type: ignore[arg-type]


def test_the_ledger_folds_operations_to_what_holds() -> None:
    ledger = Ledger().extend([
        op("examined", "a.py"), op("modified", "a.py", 1, "f"), op("examined", "a.py", 2), op("modified", "a.py", 3,
         "g"),
        op("created", "b.py", 4, "h"), op("modified", "b.py", 5, "i"), op("created", "tmp.py", 6), op("deleted",
         "tmp.py", 7),
        op("deleted", "old.py", 8), op("examined", "c.py", 9),
    ])  # fmt: skip
    assert {p: o.details for p, o in ledger.modified.items()} == {"a.py": ("g", "f")}
    assert {p: o.details for p, o in ledger.created.items()} == {"b.py": ("i", "h")}
    assert (list(ledger.examined), list(ledger.deleted)) == (["c.py"], ["old.py"])


def test_a_file_that_is_deleted_and_written_again_was_modified() -> None:
    ledger = Ledger().extend([op("deleted", "a.py"), op("created", "a.py", 1)])
    assert (list(ledger.modified), list(ledger.created), list(ledger.deleted)) == (["a.py"], [], [])


def test_a_moved_file_goes_by_its_new_name() -> None:
    ledger = Ledger().extend([
        op("modified", "a.py", 0, "f"), op("moved", "a.py", 1, to="b.py"), op("created", "n.py", 2), op("moved",
         "n.py", 3, to="m.py"),
    ])  # fmt: skip
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
    results = Results(session.messages)
    roots = find_roots(session.messages, ROOT)
    (written,) = message_ops(session.messages[2], results.is_error, results.text, roots)
    assert (written.verb, written.path, written.seq) == ("created", "a.py", 2)
    assert message_ops(session.messages[2], lambda _: True, roots=roots) == []


@given(
    st.sampled_from(["Bash", "edit", "apply_patch", "Read", "task"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "file_path", "command", "cmd", "input", "content", "old_string", "new_string",
             "edits", "diff", "paths"]),
            inner,
            max_size=4,
        ),
        max_leaves=8,
    ),
    st.text(max_size=40),
)  # fmt: skip
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
