"""Which files the tools of each agent create, modify and examine."""

from compaction.transcript import Message
from tests.compaction.reading.session_calls import ROOT, Session


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
        ("examined", "src/cart.py"),
        ("created", "src/tax.py"),
        ("modified", "src/cart.py"),
        ("modified", "src/tax.py"),
        ("modified", "nb.ipynb"),
        ("deleted", "src/old.py"),
    ]


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
        ("examined", "src/cart.py"),
        ("examined", "README.md"),
        ("created", "docs/tax.md"),
        ("modified", "src/cart.py"),
        ("deleted", "src/old.py"),
        ("moved", "a.py"),
    ]


def test_a_patch_that_was_refused_did_nothing() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    assert Session().call("apply_patch", input=patch, result="apply_patch verification failed: no match").ops() == []


def test_openhands_editor_commands() -> None:
    root = "/tmp/tmpq1/shop"
    session = Session()
    session.messages.append(Message("user", f"The repository is in {root}, fix the bug.", seq=0))
    (
        session.call("execute_bash", command=f"cd {root} && ls")
        .call(
            "str_replace_editor", command="view", path=f"{root}/cart.py", result="Here's the result of running `cat -n`"
        )
        .call("str_replace_editor", command="view", path=root, result="Here's the files and directories up to 2 levels")
        .call(
            "str_replace_editor",
            command="create",
            path=f"{root}/repro.py",
            file_text="x",
            result="File created successfully",
        )
        .call("str_replace_editor", command="str_replace", path=f"{root}/cart.py", old_str="a", new_str="b")
        .call("file_editor", command="insert", path=f"{root}/cart.py", insert_line=3, new_str="c")
        .call(
            "str_replace_editor",
            command="str_replace",
            path=f"{root}/tax.py",
            old_str="a",
            new_str="b",
            result="ERROR:\nNo replacement was performed",
            is_error=True,
        )
    )
    assert session.ops(None) == [
        ("examined", "cart.py"),
        ("created", "repro.py"),
        ("modified", "cart.py"),
        ("modified", "cart.py"),
    ]


def test_pi_tools() -> None:
    session = (
        Session()
        .call("read", path="src/cart.ts")
        .call("edit", path="src/cart.ts", oldText="let a = 1", newText="let a = 2")
        .call("write", path="src/new.ts", content="x", result="Successfully wrote 1 bytes to src/new.ts")
        .call("bash", command="cd src && mv new.ts pool.ts")
    )
    assert session.ops() == [
        ("examined", "src/cart.ts"),
        ("modified", "src/cart.ts"),
        ("created", "src/new.ts"),
        ("moved", "src/new.ts"),
    ]
    assert list(session.ledger().created) == ["src/pool.ts"]


SHOWN = "[File: /shop/{0} (40 lines total)]\n1:x\n(Open file: /shop/{0})\n(Current directory: /shop)\nbash-$"


def test_swe_agent_edits_the_file_that_is_open() -> None:
    session = (
        Session()
        .call("bash", command="open src/cart.py 20", result=SHOWN.format("src/cart.py"))
        .call("bash", command="goto 33", result=SHOWN.format("src/cart.py"))
        .call("bash", command="edit 3:4\ndef total(x):\n    return x\nend_of_edit", result=SHOWN.format("src/cart.py"))
        .call("bash", command="create repro.py", result=SHOWN.format("repro.py"))
        .call(
            "bash",
            command="edit 1:1\nprint(1)\nend_of_edit",
            result="Your proposed edit has introduced new syntax error(s).\n(Open file: /shop/repro.py)",
        )
        .call("bash", command='search_dir "total" src', result="Found 3 matches")
    )
    assert session.ops(None) == [
        ("examined", "src/cart.py"),
        ("examined", "src/cart.py"),
        ("modified", "src/cart.py"),
        ("created", "repro.py"),
    ]


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
        ("examined", "a.py"),
        ("created", "b.py"),
        ("modified", "a.py"),
        ("deleted", "c.py"),
        ("modified", "a.py"),
    ]
