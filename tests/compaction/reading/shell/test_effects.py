"""What a command line does to files is read off its text, with gaps rather than inventions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.reading.shell.effects import file_effects, only_reads, program_runs


def effects(command: str, cwd: str | None = None) -> list[tuple[str, str]]:
    return [(effect.verb, effect.path) for effect in file_effects(command, cwd)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("echo hi > notes.txt", [("create_or_overwrite", "notes.txt")]),
        ("echo hi >> .gitignore", [("append", ".gitignore")]),
        ("make build 2>&1 | tee -a build/out.log", [("append", "build/out.log")]),
        ("ls missing 2>/dev/null >/dev/null", []),
        ("./gen &> all.log", [("create_or_overwrite", "all.log")]),
        ("sed -i 's/a b/c/' src/x.py src/y.py", [("edit", "src/x.py"), ("edit", "src/y.py")]),
        ("sed -i '' -e 's/a/b/' x.ts", [("edit", "x.ts")]),
        ("sed -i.bak 's/a/b/' x.ts", [("edit", "x.ts")]),
        ("sed -n '10,20p' src/x.py | head -3", [("read", "src/x.py")]),
        ("perl -0pi -e 's/a/b/' lib/A.pm", [("edit", "lib/A.pm")]),
        ("mv old.py new.py", [("move_from", "old.py"), ("move_to", "new.py")]),
        (
            "git mv a.ts b.ts utils/",
            [("move_from", "a.ts"), ("move_to", "utils/a.ts"), ("move_from", "b.ts"), ("move_to", "utils/b.ts")],
        ),
        ("mv a.ts helpers", [("move_from", "a.ts"), ("move_to", "helpers/a.ts")]),
        ("cp config.example.toml config.toml", [("create_or_overwrite", "config.toml")]),
        ("rm -rf build dist/app.js", [("delete", "build/"), ("delete", "dist/app.js")]),
        ("git rm --cached secret.env", []),
        ("touch pkg/__init__.py", [("append", "pkg/__init__.py")]),
        ("git checkout -- src/x.py", [("edit", "src/x.py")]),
        ("git checkout feature/login", []),
        ("git checkout v2.9.0", []),
        ("git restore --staged src/x.py", []),
        ("cat a.py 'b c.py'", [("read", "a.py"), ("read", "b c.py")]),
        ("head -n 20 a.py; tail -5 b.py", [("read", "a.py"), ("read", "b.py")]),
        ("grep -n 'def run' src/app.py", [("read", "src/app.py")]),
        ("grep -rn token src tests", []),
        ("rg -n 'foo|bar' src/app.py src", [("read", "src/app.py")]),
        ("awk '{print $1 > \"x\"}' data.csv", [("read", "data.csv")]),
        ("while read -r l; do echo $l; done < list.txt", []),
        ("wc -l < list.txt", [("read", "list.txt")]),
        ("cat a.txt b.txt > c.txt", [("create_or_overwrite", "c.txt")]),
        ("diff <(sort a.txt) b.txt", [("read", "b.txt")]),
        ("python fix.py --now", [("run", "fix.py")]),
        ("cat src/*.py {a,b}.ts $HOME/x", []),
        ("F=src/x.py; sed -i 's/a/b/' \"$F\" $G", [("edit", "src/x.py")]),
        ("if [ -f a.txt ]; then rm a.txt; fi", [("delete", "a.txt")]),
        ("# rm everything.py\nls", []),
        ("git commit -m 'write > file.txt; rm x.py'", []),
    ],
)
def test_a_command_has_these_effects(command: str, expected: list[tuple[str, str]]) -> None:
    assert effects(command) == expected


def test_cd_counts_for_what_follows_and_a_subshell_keeps_it_to_itself() -> None:
    command = "cd /repo && cat README.md && (cd sub && touch a.txt); rm b.txt"
    assert effects(command) == [("read", "/repo/README.md"), ("append", "/repo/sub/a.txt"), ("delete", "/repo/b.txt")]


def test_after_cd_to_an_unknown_place_relative_paths_are_not_reported() -> None:
    assert effects('cd "$WORK" && cat a.py && cat /etc/hosts') == [("read", "/etc/hosts")]


def test_a_heredoc_is_content_and_none_of_it_is_a_command() -> None:
    command = "cat > run.sh <<'EOF'\nrm -rf src > gone.txt\nit's \"$(open\nEOF\nchmod +x run.sh && cat run.sh"
    found = file_effects(command)
    assert [(e.verb, e.path) for e in found] == [("create_or_overwrite", "run.sh"), ("read", "run.sh")]
    assert found[0].content == "rm -rf src > gone.txt\nit's \"$(open\n"


def test_two_heredocs_and_an_indented_delimiter_end_where_bash_ends_them() -> None:
    command = "cat > a.txt <<A\none\nA\ncat > b.txt <<-B\n\ttwo\n\tB\nrm c.txt"
    assert effects(command) == [("create_or_overwrite", "a.txt"), ("create_or_overwrite", "b.txt"), ("delete", "c.txt")]


def test_a_commit_message_in_a_heredoc_in_a_substitution_hides_nothing_behind_it() -> None:
    command = "git commit -m \"$(cat <<'EOF'\nFix (half of it isn't > done\nEOF\n)\" && rm -f scratch.txt"
    assert effects(command) == [("delete", "scratch.txt")]


def test_a_codex_patch_in_a_heredoc_tells_adds_updates_deletes_and_moves() -> None:
    command = (
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.py\n+x = 1\n*** Update File: old.py\n"
        "*** Move to: moved.py\n@@\n-a\n+b\n*** Delete File: gone.py\n*** End Patch\nEOF"
    )
    assert effects(command) == [
        ("create_or_overwrite", "new.py"),
        ("move_from", "old.py"),
        ("move_to", "moved.py"),
        ("delete", "gone.py"),
    ]


def test_a_unified_diff_given_to_patch_names_the_files_that_it_changes() -> None:
    command = "patch -p1 <<'EOF'\n--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\nEOF"
    (effect,) = file_effects(command)
    assert (effect.verb, effect.path, effect.content, effect.removed) == ("edit", "src/x.py", "a = 2", "a = 1")


def test_a_python_heredoc_edits_what_it_reads_and_writes_and_creates_what_it_only_writes() -> None:
    command = (
        "cd /repo && python3 - <<'PY'\nfrom pathlib import Path\np = Path('src/a.py')\ntext = p.read_text()\n"
        "p.write_text(text.replace('x', 'y'))\nwith open('out.json', 'w') as f:\n    f.write('{}')\n"
        "print(open('in.csv').read())\nPY"
    )
    assert sorted(effects(command)) == [
        ("create_or_overwrite", "/repo/out.json"),
        ("edit", "/repo/src/a.py"),
        ("read", "/repo/in.csv"),
    ]


def test_a_computed_path_in_a_python_script_is_not_reported() -> None:
    assert effects("python - <<'PY'\nopen(f'{d}/x.py', 'w')\nopen(os.path.join(d, 'y.py'), 'w')\nPY") == []


def test_what_follows_a_test_run_is_conditional_and_what_comes_before_is_not() -> None:
    found = file_effects("cat > t.py <<'EOF'\nx\nEOF\npython t.py && rm t.py")
    assert [(e.verb, e.conditional) for e in found] == [
        ("create_or_overwrite", False),
        ("run", False),
        ("delete", True),
    ]


def test_relative_paths_are_joined_to_the_directory_given() -> None:
    assert effects("cat ./a/../b.py", cwd="/repo") == [("read", "/repo/b.py")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd app && CI=1 timeout 60 python3 -m pytest -q tests/x.py 2>&1 | tail -5", ["pytest -q tests/x.py"]),
        ("uv run pytest -x", ["pytest -x"]),
        ("npm test; npm install left-pad", ["npm test"]),
        ("npx -y vitest run src", ["vitest run src"]),
        ("go test ./... && go vet ./...", ["go test ./...", "go vet ./..."]),
        ("/usr/bin/python3.11 tools/gen.py --all", ["python tools/gen.py --all"]),
        ("make -j4 test", ["make -j4 test"]),
        ("ruff check . && mypy src", ["ruff check .", "mypy src"]),
        ("cat pytest.ini && python -c 'print(1)'", []),
        ("cargo add serde && cargo build", ["cargo build"]),
        ("bash scripts/e2e.sh", ["bash scripts/e2e.sh"]),
    ],
)
def test_runs_are_named_without_what_only_wraps_them(command: str, expected: list[str]) -> None:
    assert program_runs(command) == expected


def test_only_reads_tells_showing_from_doing() -> None:
    assert only_reads("cd src && grep -n error app.py | head -3")
    assert only_reads("git show HEAD~1 && sed -n 1,5p a.py")
    assert not only_reads("cat a.py && python a.py")
    assert not only_reads("cd src")


@given(st.text(alphabet=st.sampled_from("ab \n'\"\\$`(){}<>|&;#*?[]=-~/.EOF\t"), max_size=200))
@settings(max_examples=300, deadline=None)
def test_no_text_makes_it_raise(command: str) -> None:
    assert isinstance(file_effects(command), list)
    assert isinstance(program_runs(command), list)


@pytest.mark.parametrize(
    "unit",
    [
        "$(",
        "`",
        "'",
        '"',
        "\\",
        "<<EOF\n",
        "<<EOF x ",
        "((",
        "${",
        "$((",
        "{a",
        "a=b ",
        "> ",
        "&& ",
        "\"$(cat <<'E'\n",
        "x;",
        "*",
        ")",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    """A square of this length would run into the timeout."""
    file_effects(unit * (400_000 // len(unit)))
