"""Which statements the prober asks for, and which it leaves alone."""

from __future__ import annotations

import pytest

from compaction import CompactionPoint, Message
from judge.embedded.constraints import is_rule
from judge.embedded.facts import Candidate, SessionFacts
from judge.embedded.net_files import MAX_FILES
from judge.embedded.prober import EmbeddedProber, _Asked, _SessionProbes
from judge.embedded.recall_facts import later_requests, recall_facts, what_was_done
from judge.probe import NotAsked, Probe
from tests.judge.embedded.prober_sessions import Steps, asked, called, edited, ran, said, session, told, truth, wrote

REQUEST = "Make the ledger import read the new column order."
"""All that recall can ask for where nothing else is known."""

TASK = said(REQUEST)
SOURCE = "def read_rows(path, order):\n    return list(path)\n"


def test_one_entry_is_given_for_each_type_and_the_same_again() -> None:
    transcript = session(TASK, edited("ledger/rows.py", "order = 1", "order = 2"), told("Next."))
    point = CompactionPoint("s", 1, 3, 0)
    first, second = (EmbeddedProber().probes(transcript, point) for _ in range(2))
    assert [entry.probe_type for entry in first] == ["recall", "artifact", "continuation", "decision", "constraint"]
    assert first == second


def test_files_are_told_by_their_net_effect() -> None:
    before = [
        TASK,
        wrote("ledger/new.py", "limit = 4"),
        wrote("ledger/gone.py", "limit = 5"),
        edited("ledger/rows.py", "order = 1", "order = 2"),
        ran("rm ledger/gone.py ledger/old.py"),
    ]
    assert truth("artifact", before) == "Created: ledger/new.py\nModified: ledger/rows.py\nDeleted: ledger/old.py"


def test_of_a_changed_file_what_its_changes_define_is_told() -> None:
    """Neither locals nor what is only called; a function that was added and taken out again is none."""
    old = "def read_rows(path):\n    order = 1\n"
    new = "def read_rows(path, order):\n    limit = count(order)\n\n\ndef check_order(order):\n    return order\n"
    insert = {"command": "insert", "path": "/srv/app/ledger/rows.py", "new_str": "def try_order():\n    pass\n"}
    added = called("str_replace_editor", insert, "edited")
    gone = edited("ledger/rows.py", "def try_order():\n    pass\n", "\n")
    change = edited("ledger/rows.py", old, new)
    told_of = "Modified: ledger/rows.py (read_rows, check_order)"
    assert told_of in truth("artifact", [TASK, change])
    assert told_of in truth("artifact", [TASK, added, change, gone])
    dropped = edited("ledger/rows.py", new, "def check_order(order):\n    return order\n")
    assert told_of in truth("artifact", [TASK, change, dropped]), "read_rows was there before the session"
    assert "rows.py (" not in truth("artifact", [TASK, change, ran("sed -i 's/order/rank/' ledger/rows.py")])
    assert "rows.py (" not in truth("artifact", [TASK, edited("ledger/rows.py", "order = 1", "order = 2")])
    notes = edited("notes.md", "## Order\nfirst\n", "## Order of columns\nfirst\n")
    assert "notes.md (Order of columns, Order)" in truth("artifact", [TASK, change, notes])


@pytest.mark.parametrize(
    "undoing",
    [
        ran("git checkout -- ledger/rows.py"),
        ran("git reset --hard"),
        edited("ledger/rows.py", "order = 2", "order = 1"),
    ],
)
def test_a_change_that_a_later_call_undid_is_none(undoing: list[Message]) -> None:
    before = [TASK, wrote("ledger/new.py", "limit = 4"), edited("ledger/rows.py", "order = 1", "order = 2"), undoing]
    assert truth("artifact", before) == "Created: ledger/new.py\nModified: none\nDeleted: none"


def test_a_file_that_is_put_back_from_its_copy_is_as_it_was() -> None:
    change = edited("ledger/rows.py", "order = 1", "order = 2")
    back = [ran("cp ledger/rows.py ledger/rows.py.bak"), change, ran("cp ledger/rows.py.bak ledger/rows.py")]
    assert "Modified: none" in truth("artifact", [TASK, wrote("ledger/new.py", "a = 1"), *back])
    assert "Modified: ledger/rows.py" in truth("artifact", [TASK, change, *back])


def test_a_patch_that_failed_has_changed_nothing() -> None:
    hunk = "--- a/ledger/rows.py\n+++ b/ledger/rows.py\n@@ -1 +1 @@\n-order = 1\n+order = 2"
    patch = f"cat > fix.patch <<'EOF'\n{hunk}\nEOF\npatch -p1 < fix.patch"
    for is_error in (True, False):
        told_of = truth("artifact", [TASK, ran(patch, "patching file ledger/rows.py", is_error=is_error)])
        assert ("Modified: ledger/rows.py" in told_of) is not is_error


def test_files_that_a_pattern_removes_are_gone() -> None:
    scratch = [wrote("test_one.py", "a = 1"), wrote("ledger/test_two.py", "a = 2"), ran("rm -f test_*.py")]
    assert truth("artifact", [TASK, *scratch]) == "Created: ledger/test_two.py\nModified: none\nDeleted: none"


def test_a_file_whose_first_creation_was_not_carried_out_is_created_by_the_next() -> None:
    copy = ran("cp ledger/rows.py ledger/sums.py")
    assert "Created: ledger/sums.py" in truth("artifact", [TASK, wrote("ledger/sums.py", "a = 1")[:1], copy])


def test_a_file_that_a_commit_reports_as_deleted_is_gone() -> None:
    commit = ran("git commit -qam order", "[order 1dc1c5f] order\n 1 file changed\n delete mode 100644 ledger/old.py")
    before = [TASK, wrote("ledger/new.py", "a = 1"), edited("ledger/old.py", "order = 1", "order = 2"), commit]
    assert truth("artifact", before) == "Created: ledger/new.py\nModified: none\nDeleted: ledger/old.py"
    own = wrote("ledger/old.py", "a = 2")
    assert "Deleted: none" in truth("artifact", [TASK, own, *before[1:2], commit, ran("rm -f ledger/old.py")])


def test_lock_files_do_not_count() -> None:
    locked = edited("uv.lock", "version = 1", "version = 2")
    assert truth("artifact", [TASK, locked]) == ""


def test_a_script_beside_the_projects_folders_counts_but_makes_no_question_alone() -> None:
    look = called("Read", {"file_path": "/srv/app/ledger/rows.py"}, SOURCE)
    scratch = [TASK, look, wrote("order.py", "a = 1")]
    assert truth("artifact", scratch) == ""
    assert truth("artifact", scratch, [ran("python order.py")]).startswith("Created: order.py"), "it is used again"
    change = edited("ledger/rows.py", "order = 1", "order = 2")
    assert truth("artifact", [*scratch, change]) == "Created: order.py\nModified: ledger/rows.py\nDeleted: none"
    assert "Created: none" in truth("artifact", [*scratch, change, ran("rm -f order.py")])


def test_a_project_that_begins_has_its_files_at_the_top() -> None:
    assert "order.py" in truth("artifact", [TASK, wrote("order.py", "a = 1"), wrote("ledger/rows.py", "a = 2")])


def test_git_puts_no_file_back_that_it_does_not_know() -> None:
    before = [TASK, wrote("ledger/rows.py", "a = 1"), ran("git checkout ledger/rows.py || echo none")]
    again = called("Write", {"file_path": "/srv/app/ledger/rows.py", "content": "a = 2"}, "The file has been updated")
    assert "Created: ledger/rows.py" in truth("artifact", [*before, again])


def test_what_was_committed_stays_when_the_rest_is_undone() -> None:
    change = edited("ledger/rows.py", "order = 1", "order = 2")
    before = [TASK, change, ran("git commit -am order"), ran("git checkout -- ledger/rows.py")]
    assert "Modified: ledger/rows.py" in truth("artifact", before)


def test_files_outside_of_the_projects_roots_and_calls_without_a_result_are_left_out() -> None:
    outside = called("Write", {"file_path": "/home/x/other/a.py", "content": "a = 1"}, "File created successfully")
    before = [TASK, outside, edited("ledger/rows.py", "order = 1", "order = 2")[:1]]
    assert truth("artifact", before) == ""


@pytest.mark.parametrize(("n_files", "n_told"), [(1, 2), (MAX_FILES, 1)])
def test_a_later_point_asks_for_all_files_or_for_those_touched_since_the_last_one(n_files: int, n_told: int) -> None:
    first = [part for n in range(n_files) for part in edited(f"ledger/rows{n}.py", "order = 1", "order = 2")]
    transcript = session(TASK, first, edited("ledger/sums.py", "total = 1", "total = 2"), told("Next."))
    point = CompactionPoint("s", 2, len(first) + 3, 0, (len(first) + 1,))
    artifact = next(p for p in EmbeddedProber().probes(transcript, point) if p.probe_type == "artifact")
    assert isinstance(artifact, Probe)
    assert len(artifact.statements) == n_told
    assert artifact.statements[-1].text == "ledger/sums.py"


def test_what_one_look_at_a_file_would_tell_is_not_asked_for() -> None:
    look = called("Read", {"file_path": "/srv/app/ledger/rows.py"}, SOURCE)
    assert (
        truth("recall", [TASK, look], [edited("ledger/main.py", "rows = []", "rows = read_rows(path, order)")])
        == REQUEST
    )


FAILURE = "ValueError: could not parse the ledger line"


def failing(line: str) -> list[Message]:
    return ran(
        "python load.py", f"Traceback (most recent call last):\n  File 'load.py'\n{line}\nExit code 1", is_error=True
    )


def test_what_no_answer_has_room_for_is_not_asked_for() -> None:
    columns = ", ".join(f"`column_{n}`" for n in range(40))
    assert REQUEST in truth("recall", [said(REQUEST)])
    assert asked("recall", [said(f"Make the ledger import read the columns {columns}.")]) == NotAsked(
        "recall", "the true answer is longer than an answer may be"
    )


def test_an_error_that_a_change_of_the_project_is_made_for_is_asked_for() -> None:
    probe = asked("recall", [TASK, failing(FAILURE), edited("ledger/rows.py", "order = 1", "order = 2")])
    assert isinstance(probe, Probe)
    assert (probe.ground_truth, probe.statements[0].exact) == (FAILURE, (FAILURE,))


@pytest.mark.parametrize(
    "line",
    ["IndentationError: unexpected indent", "error: script lint exited with code 1", "E: while reading the file:"],
)
def test_slips_wrapping_lines_and_half_lines_are_no_errors(line: str) -> None:
    assert truth("recall", [TASK, failing(line), edited("ledger/rows.py", "order = 1", "order = 2")]) == REQUEST


def test_a_failure_that_was_mended_is_not_asked_for_nor_one_that_is_mended_soon_behind_the_point() -> None:
    before, mended = (
        [TASK, failing(FAILURE), edited("ledger/rows.py", "a = 1", "a = 2")],
        ran("python load.py", "42 rows"),
    )
    assert truth("recall", before) == FAILURE
    assert truth("recall", [*before, mended]) == REQUEST
    assert truth("recall", before, [mended]) == REQUEST


def facts(kind: str, before: Steps, after: Steps = ()) -> list[Candidate]:
    """The recall questions of a kind that can be asked between two parts of a session."""
    cut = len(session(*before).messages)
    return [c for c in recall_facts(SessionFacts(session(*before, *after)), cut) if c.kind == kind]


def test_of_several_totals_the_last_holds_and_the_earlier_are_foils() -> None:
    one, two = (ran("pytest tests", f"== {n} failed, 3 passed in 0.10s ==") for n in (2, 1))
    (total,) = facts("total", [TASK, one, two])
    assert (total.truth, total.statements[0].foils) == ("3 passed, 1 failed", ("3 passed, 2 failed",))


def test_a_command_is_asked_for_where_the_session_uses_it_again() -> None:
    lint = ran("cd /srv/app && mise run lint 2>&1 | tail -5", "0 issues.")
    (command,) = facts("command", [TASK, lint], [ran("mise run lint", "0 issues.")])
    assert (command.truth, command.statements[0].needed_at) == ("mise run lint", 3)
    assert facts("command", [TASK, lint]) == []


def test_a_command_is_told_as_it_was_typed() -> None:
    tests = ran("cd /srv/app && python -m unittest tests.test_rows", "Ran 4 tests in 0.1s\n\nOK")
    assert [c.truth for c in facts("command", [TASK, tests, tests])] == ["python -m unittest tests.test_rows"]


def test_a_version_is_not_asked_for() -> None:
    reported = ran("pip show attrs && python -m attrs --version", "attrs==23.1.0")
    assert truth("recall", [TASK, reported, told("attrs 23.1.0 has the converters that we need.")]) == REQUEST


def test_a_commit_is_told_by_its_message_unless_its_hash_is_used() -> None:
    commit = ran(
        'git commit -m "Read the new column order"', "[order 1dc1c5f] Read the new column order\n 1 file changed"
    )
    reply = ran('gh pr comment 7 --body "Fixed in 1dc1c5f"', "https://example.org/7")
    assert [c.truth for c in facts("message", [TASK, commit])] == ["Read the new column order"]
    assert facts("commit", [TASK, commit]) == []
    assert [c.truth for c in facts("commit", [TASK, commit], [reply])] == ["1dc1c5f"]


COMMIT = ran('git commit -am "Read the order"', "[order 1dc1c5f] Read the order\n 1 file changed, 1 insertion(+)")


def uncommitted(*steps: list[Message], after: Steps = (COMMIT,)) -> str:
    """The line about uncommitted files; empty where there is none."""
    lines = truth("continuation", [TASK, ran("ls"), *steps], after).splitlines()
    return next((line for line in lines if line.startswith("Uncommitted")), "")


CHANGE = edited("ledger/rows.py", "order = 1", "order = 2")
OPEN = "Uncommitted: ledger/rows.py is modified and not committed"


@pytest.mark.parametrize(
    ("command", "commits"),
    [
        ("git commit -qam order", True),
        ("git add -A && git -C /srv/app commit -m order", True),
        ("git rebase --continue", True),
        ("git cherry-pick 1dc1c5f", True),
        ("git rebase --abort", False),
        ("git commit --dry-run", False),
        ("git log --grep 'git commit'", False),
    ],
)
def test_what_a_commit_holds_is_not_open(command: str, commits: bool) -> None:
    assert uncommitted(CHANGE, ran(command)) == ("" if commits else OPEN)


def test_a_commit_that_failed_holds_nothing() -> None:
    assert uncommitted(CHANGE, ran("git commit -am order", "hook failed", is_error=True)) == OPEN


def test_a_file_that_a_commit_holds_already_is_modified_since() -> None:
    made = [wrote("ledger/rows.py", "order = 1"), ran("git add . && git commit -m order"), CHANGE]
    assert uncommitted(*made) == OPEN
    assert "Created: ledger/rows.py" in truth("artifact", [TASK, *made])


def test_files_are_not_open_where_a_commit_held_fewer_than_were_changed() -> None:
    other = edited("ledger/totals.py", "total = 1", "total = 2")
    assert uncommitted(CHANGE, other, COMMIT) == "", "nobody tells which of them it held"
    rest = ran("git add -A && git commit -m rest", "[order 2dc1c5f] rest\n 2 files changed, 2 insertions(+)")
    third = edited("ledger/limits.py", "limit = 1", "limit = 2")
    assert (
        uncommitted(CHANGE, other, COMMIT, rest, third) == "Uncommitted: ledger/limits.py is modified and not committed"
    )
    assert uncommitted(CHANGE, COMMIT, other) == "Uncommitted: ledger/totals.py is modified and not committed"


def test_files_that_git_looks_away_from_are_not_open() -> None:
    assert uncommitted(CHANGE, wrote(".claude/plan.md", "order")) == "", "whether it is ignored can be disputed"
    note = wrote("notes.md", "order")
    both = "Uncommitted: ledger/rows.py is modified and not committed; notes.md is created and not committed"
    assert uncommitted(CHANGE, note) == both
    for command, output, told_of in [
        ("git status --short", " M ledger/rows.py", OPEN),
        ("git status", "On branch order\n\tmodified:   ledger/rows.py", OPEN),
        ("git status --short", " M ledger/rows.py\n?? notes.md", both),
        ("git status --short", " M ledger/", OPEN),
        ("git status --short | head -1", " M ledger/rows.py", both),
        ("git status ledger", " M ledger/rows.py", both),
        ("git status -uno", " M ledger/rows.py", both),
    ]:
        assert uncommitted(CHANGE, note, ran(command, output)) == told_of
    assert uncommitted(ran("git status --short", ""), CHANGE) == OPEN


CAUSE = "The problem is that `read_rows` drops the header before the column order is known."


@pytest.mark.parametrize(
    ("said_last", "is_asked"),
    [
        (CAUSE, True),
        ("The problem might be that `read_rows` drops the header before the column order is known.", False),
        ("The problem is in the `read_rows` function of the ledger rows module file.", False),
        (f"{CAUSE} So the problem could be in the cache as well.", False),
    ],
)
def test_a_cause_is_asked_for_where_it_is_the_last_one_named_and_no_guess(said_last: str, is_asked: bool) -> None:
    change = edited("ledger/rows.py", "order = 1", "order = 2")
    found = facts("finding", [TASK, told(said_last), change])
    assert [c.truth for c in found] == ([CAUSE] if is_asked else [])
    assert all("`ledger/rows.py`" in c.question for c in found)


def test_a_cause_that_is_named_again_in_other_words_is_not_asked_for() -> None:
    before = [TASK, told(CAUSE), edited("ledger/rows.py", "order = 1", "order = 2")]
    assert facts("finding", [*before, told("It was dropped because the cache is read first.")]) == []
    assert facts("finding", [*before, told("The rows are read now.")]) != []


def todo(*items: tuple[str, str]) -> list[Message]:
    return called("TodoWrite", {"todos": [{"content": text, "status": status} for text, status in items]}, "ok")


def test_open_items_are_those_of_the_list_that_the_next_call_does_not_tick_off() -> None:
    before = [TASK, todo(("Read the column order", "in_progress"), ("Write the migration notes", "pending"))]
    after = [todo(("Read the column order", "completed"), ("Write the migration notes", "in_progress"))]
    assert truth("continuation", before, after).splitlines()[0] == "Open: Write the migration notes"
    assert "Read the column order; Write the migration notes" in truth("continuation", before)


WISH = "Sort the totals of each ledger by month."
BEGUN = [TASK, ran("ls"), told("The columns are read in their new order."), said(WISH)]


def test_a_new_request_is_open_alone_and_the_first_one_only_where_recall_does_not_ask_for_it() -> None:
    edit = edited("ledger/rows.py", "order = 1", "order = 2")
    assert truth("continuation", [TASK, ran("ls")]) == ""
    assert truth("continuation", [TASK, ran("ls"), edit]) == (
        "Untested: ledger/rows.py was modified and no tests were run since"
    )
    assert truth("continuation", [*BEGUN, ran("ls")]) == f"Asked: {WISH}"
    assert truth("continuation", [*BEGUN, ran("ls"), edit]).splitlines()[1:] == [f"Asked: {WISH}"]
    assert truth("continuation", [*BEGUN[:-1], said("The months of the ledger are wrong."), ran("ls")]) == ""
    assert truth("continuation", [*BEGUN, *[ran("ls")] * 25]) == f"Asked: {WISH}", "no point was since"
    pasted = said("```\nSort the totals by day.\n```")
    assert truth("continuation", [*BEGUN, ran("ls"), pasted, ran("ls")]) == "", "who knows what that asks for"
    assert truth("continuation", [*BEGUN, told("They are sorted.")], [said("/mode")]) == ""


def test_a_request_is_open_for_some_messages_behind_the_last_point() -> None:
    for n_steps, is_open in ((10, True), (25, False)):
        before = [*BEGUN, *[ran("ls")] * n_steps]
        transcript = session(*before, ran("ls"))
        point = CompactionPoint("s", 2, len(session(*before).messages), 0, (6,))
        session_probes = _SessionProbes(transcript)
        found = session_probes.candidates("continuation", 6, point.cut_seq, _Asked())
        assert bool(found) is is_open


def test_a_request_is_not_the_open_one_that_the_agent_has_reported_on() -> None:
    edit = edited("ledger/rows.py", "order = 1", "order = 2") + ran("ls")
    assert truth("continuation", [TASK, edit[:2]]) == "", "an agent that runs nothing leaves testing to the person"
    reported = [told("They are sorted. Shall I go on?"), said("yes, go ahead"), edit]
    assert "Asked" not in truth("continuation", [*BEGUN, *reported])


def test_what_was_thrown_in_while_the_agent_was_at_work_is_open_for_a_moment() -> None:
    thrown = [TASK, ran("ls"), said("please fix the address of the remote"), ran("ls")]
    assert truth("continuation", thrown) == "Thrown in: please fix the address of the remote"
    assert truth("continuation", [*thrown, *[ran("ls")] * 5]) == ""


def test_recall_asks_for_a_later_request_that_was_worked_on_where_the_first_is_known() -> None:
    change = edited("ledger/rows.py", "order = 1", "order = 2")
    work = [change, told("The totals are sorted by month now.")]
    transcript = session(*BEGUN, *work, said("Name the file by day."), told("Ok."))
    recall = [EmbeddedProber().probes(transcript, CompactionPoint("s", 2, cut, 0, (3,)))[0] for cut in (5, 9)]
    assert isinstance(recall[0], NotAsked), "it is open"
    assert isinstance(recall[1], Probe)
    assert recall[1].ground_truth == WISH
    assert "ended with “The columns are read in their new order.”" in recall[1].question
    looked = session(*BEGUN, ran("ls"), told("They are sorted."), said("Name the file by day."), told("Ok."))
    assert isinstance(EmbeddedProber().probes(looked, CompactionPoint("s", 2, 9, 0, (3,)))[0], NotAsked)


@pytest.mark.parametrize(
    ("cue", "words", "is_asked"),
    [
        ("Where did the old ledger keep its months?", "In the column behind the yearly totals of each region.", True),
        ("Please tell me where the months are kept.", "In the column behind the yearly totals of each region.", True),
        ("The months are kept in their own column now.", "They were behind the yearly totals of each region.", False),
        ("Where did the old ledger keep its months?", "Is there no column behind the yearly totals?", False),
        ("Where did the old ledger keep its months?", "I hope the column behind the totals has them.", False),
    ],
)
def test_what_the_person_replies_to_a_question_of_the_agent_is_asked_for(cue: str, words: str, is_asked: bool) -> None:
    found = later_requests(SessionFacts(session(TASK, ran("ls"), told(cue), said(words), told("Ok."))), 0, 5)
    assert [candidate.truth for candidate in found] == [words] * is_asked
    assert all("What did the person say when" in candidate.question for candidate in found)


def test_where_nothing_else_is_known_recall_asks_for_what_the_to_do_list_ticks_off() -> None:
    items = ("Read the column order", "completed"), ("Write the migration notes", "pending")
    transcript = session(TASK, ran("ls"), todo(*items), ran("ls"))
    recall = [EmbeddedProber().probes(transcript, CompactionPoint("s", 2, cut, 0, (3,)))[0] for cut in (5, 7)]
    assert isinstance(recall[0], Probe)
    assert recall[0].ground_truth == "Read the column order"
    assert recall[0].statements[0].kind == "done_task"
    other = session(TASK, ran("ls"), ran("ls"), ran("ls"))
    assert isinstance(EmbeddedProber().probes(other, CompactionPoint("s", 2, 5, 0, (3,)))[0], NotAsked)


def test_files_that_were_changed_and_put_back_are_asked_for() -> None:
    change, back = edited("ledger/rows.py", "order = 1", "order = 2"), ran("git checkout -- ledger/rows.py")
    kept = edited("ledger/totals.py", "order = 1", "order = 2")
    made = [wrote("ledger/new.py", "limit = 4"), ran("rm ledger/new.py"), ran("git checkout -- ledger/months.py")]
    found = what_was_done(SessionFacts(session(TASK, change, back, kept, *made)), 13)
    assert [candidate.truth for candidate in found] == ["ledger/rows.py"]
    script = ran("cat > fix.py <<'E'\nopen('ledger/rows.py', 'w').write(text)\nE\npython fix.py")
    for again in (change, script):
        assert list(what_was_done(SessionFacts(session(TASK, change, back, again)), 7)) == []


def test_a_request_that_the_next_words_take_up_again_is_not_settled() -> None:
    again = said("No, sort the totals of the year by day instead of each month.")
    steps = [*BEGUN, edited("ledger/rows.py", "order = 1", "order = 2"), told("The totals are sorted."), again]
    facts_read = SessionFacts(session(*steps, ran("ls")))
    assert [c.truth for c in later_requests(facts_read, 0, 8)] == [WISH]
    assert later_requests(facts_read, 0, 9) == []


def test_a_command_of_the_harness_is_not_what_was_asked_for_first() -> None:
    assert truth("recall", [said("/mode"), TASK, ran("ls")]) == REQUEST


def test_nothing_is_open_when_the_turn_had_ended() -> None:
    before = [TASK, edited("ledger/rows.py", "order = 1", "order = 2"), told("All of it is done.")]
    assert truth("continuation", before, [said("Now write the notes for the release.")]) == ""


def test_an_edit_is_tested_by_a_later_run_of_tests_alone() -> None:
    edit = edited("ledger/rows.py", "order = 1", "order = 2")
    assert "Untested" in truth("continuation", [TASK, edit, ran("python try_it.py")])
    assert "Untested" not in truth("continuation", [TASK, edit, ran("pytest tests", "== 3 passed in 0.10s ==")])
    assert "Untested" not in truth("continuation", [TASK, edit, ran("python ledger/rows.py")]), "it was tried itself"
    assert "Untested" in truth("continuation", [TASK, edit, ran("python try_rows.py")]), "another file was"
    assert "Untested" in truth("continuation", [TASK, edit, ran("mypy . | grep rows.py", "rows.py:4: error")])


def test_a_run_that_was_aborted_has_tested_nothing() -> None:
    aborted = ran("pytest tests", "E   ModuleNotFoundError: No module named 'hypothesis'\nExit code 4", is_error=True)
    edit = edited("ledger/rows.py", "order = 1", "order = 2")
    assert "Untested" not in truth("continuation", [TASK, edit, aborted]), "whether it was tested can be disputed"
    assert "Untested" in truth("continuation", [TASK, aborted, ran("pytest tests", "== 3 passed in 0.10s =="), edit])
    assert "Untested" in truth("continuation", [TASK, aborted, edit]), "whether it counts or not"
    failed = ran("go test ./...", "--- FAIL: TestRows (0.00s)\nFAIL\nExit code 1", is_error=True)
    assert "Untested" not in truth("continuation", [TASK, edit, failed])


def test_a_change_is_open_that_was_announced_and_is_made_next() -> None:
    announced = [TASK, told("Next I will add a check of the column order to the rows module."), ran("ls")]
    change = edited("ledger/rows.py", "order = 1", "check(order)")
    step = "Next: Next I will add a check of the column order to the rows module."
    assert truth("continuation", announced, [change]).splitlines()[0] == step
    assert truth("continuation", announced) == ""
    assert step not in truth("continuation", [*announced, change], [change])
    assert truth("continuation", [*announced, said("Why is a check needed?")], [change]) == "", "the person spoke since"


def test_nothing_is_open_for_certain_where_a_call_has_no_result() -> None:
    edit = edited("ledger/rows.py", "order = 1", "order = 2")
    lost = edited("ledger/totals.py", "total = 1", "total = 2")[:1]
    assert "Untested" in truth("continuation", [TASK, ran("ls"), edit])
    assert "Untested" not in truth("continuation", [TASK, ran("ls"), edit, lost, ran("ls")])
    again = edited("ledger/rows.py", "order = 2", "order = 3")[:1]
    assert "Untested" in truth("continuation", [TASK, ran("ls"), edit, again, ran("ls")]), "it is untested anyway"
    assert uncommitted(edit, lost, ran("ls")) == ""


def test_scratch_scripts_and_tests_are_not_waiting_for_a_test() -> None:
    scratch = [
        wrote("reproduce_it.py", "a = 1"),
        wrote("tests/test_rows.py", "a = 2"),
        wrote("ledger/debug_rows.py", "a = 3"),
    ]
    assert truth("continuation", [TASK, *scratch]) == ""


@pytest.mark.parametrize(
    ("wish", "name", "command", "is_scratch"),
    [
        (REQUEST, "reproduce_order.py", "ls", True),
        (REQUEST, "test_order.py", "python test_order.py", True),
        (REQUEST, "test_order.py", "pytest test_order.py", False),
        (REQUEST, "order.py", "python order.py", False),
        ("Please write reproduce_order.py for the ledger.", "reproduce_order.py", "ls", False),
    ],
)
def test_what_only_tries_something_out_is_told_unless_it_may_be_meant_to_stay(
    wish: str, name: str, command: str, is_scratch: bool
) -> None:
    look = called("Read", {"file_path": "/srv/app/ledger/rows.py"}, SOURCE)
    before = [said(wish), look, wrote(name, "a = 1"), ran(command)]
    assert ("Scratch: " in truth("continuation", before)) is is_scratch
    assert "Scratch" not in truth("continuation", [*before, ran(f"rm {name}")])


def test_what_the_last_run_left_failing_is_open_until_another_is_run() -> None:
    report = "FAILED tests/test_rows.py::test_order - AssertionError: 1 != 2\n== 1 failed, 3 passed in 0.10s =="
    assert "Failing: tests/test_rows.py::test_order fails" in truth("continuation", [TASK, ran("pytest tests", report)])
    mended = ran("pytest tests", "== 4 passed in 0.10s ==")
    assert "Failing" not in truth("continuation", [TASK, ran("pytest tests", report), mended])


def test_failures_are_open_only_where_all_of_them_are_read_else_the_command_that_was_run_last() -> None:
    line = "FAILED tests/test_rows.py::test_order - AssertionError: 1 != 2\n"
    unread = ran("pytest tests", f"{line}== 2 failed, 3 passed in 0.10s ==")
    command = "Failing: `pytest tests` failed when it was run last"
    assert command in truth("continuation", [TASK, unread])
    assert command not in truth("continuation", [TASK, unread, edited("ledger/rows.py", "a = 1", "a = 2")])
    assert truth("continuation", [TASK, ran("python reproduce.py", "rows: 2 problems", is_error=True)]) == ""
    unknown = ran("make rows", "rows: 2 problems", is_error=True)
    one = ran("pytest tests", f"{line}== 1 failed, 3 passed in 0.10s ==")
    assert "Failing" not in truth("continuation", [TASK, one, unknown])
    assert "test_order fails" in truth("continuation", [TASK, one])


def test_of_a_run_with_several_errors_all_are_open_unless_one_follows_from_another() -> None:
    errors = "TypeError: no order is known here\n{}\nValueError: the header was dropped before\n"
    several = truth("continuation", [TASK, ran("python rows.py", errors.format("rows 4"), is_error=True)])
    assert "TypeError" in several
    assert "ValueError" in several
    chain = errors.format("During handling of the above exception, another exception occurred:")
    chained = truth("continuation", [TASK, ran("python rows.py", chain, is_error=True)])
    assert "TypeError" not in chained
    assert "ValueError" in chained


def test_an_answer_to_a_question_tool_has_the_other_options_as_foils() -> None:
    question = "Where are the totals kept?"
    options = [{"label": "In the database"}, {"label": "In a flat file"}]
    answer = f'User has answered your questions: "{question}"="In a flat file".'
    tool = called("AskUserQuestion", {"questions": [{"question": question, "options": options}]}, answer)
    probe = asked("decision", [TASK, tool])
    assert isinstance(probe, Probe)
    assert (probe.ground_truth, probe.statements[0].foils) == ("In a flat file", ("In the database",))


def test_a_plan_is_told_with_its_steps_and_with_what_the_person_said_to_it() -> None:
    plan = {"plan": "# Move the ledger\n## Context\n## 1. Read the columns\n## 2. Write the rows"}
    approved = called("ExitPlanMode", plan, "User has approved your plan.")
    probe = asked("decision", [TASK, approved])
    assert isinstance(probe, Probe)
    assert "approve" in probe.question
    assert probe.ground_truth == "Move the ledger; 1. Read the columns; 2. Write the rows"


def test_the_steps_of_a_plan_are_asked_for_only_where_all_headings_are_steps() -> None:
    plan = {"plan": "# Move the ledger\n## 1. Read the columns\n## How it will be tried\n## Files"}
    assert truth("decision", [TASK, called("ExitPlanMode", plan, "User has approved your plan.")]) == "Move the ledger"


REFUSAL = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"


def test_a_refused_call_is_told_by_what_the_person_said() -> None:
    words = "no, keep the old columns until the release"
    assert truth("decision", [TASK, ran("git push origin main", REFUSAL + words, is_error=True)]) == words
    assert truth("decision", [TASK, ran("git push origin main", REFUSAL + "why is that?", is_error=True)]) == ""


def test_calls_that_were_refused_twice_are_not_asked_for() -> None:
    pushes = [
        ran("git push origin main", REFUSAL + f"no, keep the {what} columns", is_error=True) for what in ("old", "new")
    ]
    assert truth("decision", [TASK, *pushes]) == ""


@pytest.mark.parametrize(
    ("reply", "is_decision"),
    [
        ("no, keep the totals in the flat file rather than the database", True),
        ("yes please", False),
        ("let's go with option 2", False),
        ("the import stops at line nine of the file", False),
    ],
)
def test_a_reply_is_a_decision_where_it_chooses_in_words_of_its_own(reply: str, is_decision: bool) -> None:
    assert (truth("decision", [TASK, told("Should the totals move?"), said(reply)]) == reply) is is_decision


@pytest.mark.parametrize(
    ("words", "is_decision"),
    [
        ("the totals should be sorted by month and day", True),
        ("no cached rows! each import should read the file anew", True),
        ("The import reads old rows. That should not stay so in the new release.", False),
        ("the old rows should be in the archive folder, tell me which are wrong", False),
        ("the import should have worked with the old files", False),
        ("can you ask me what the import must do with old files", False),
    ],
)
def test_what_the_work_has_to_be_like_is_a_decision(words: str, is_decision: bool) -> None:
    told_of = [told("The columns are read."), [Message("system", "Default mode.")], said(words)]
    assert (truth("decision", [TASK, *told_of]) == words) is is_decision
    again = said(f"Or no: {words}, as in the other file")
    assert truth("decision", [TASK, *told_of, told("Done."), again, told("Ok.")]) != words


def test_what_a_later_choice_is_made_against_is_a_foil() -> None:
    reply = "no, keep the totals in the flat file rather than the database"
    probe = asked("decision", [TASK, told("Should the totals move?"), said(reply)])
    assert isinstance(probe, Probe)
    assert probe.statements[0].foils == ("the database",)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Never touch the generated parser files.", True),
        ("You don't have to modify any of the tests.", True),
        ("Always run the formatter before you commit.", True),
        ("I don't know which file the parser is in.", False),
        ("We use a cache where readers don't touch the disk.", False),
        ("Can you make sure that the parser is fast?", False),
        ("Don't change the parser yet.", False),
        ("7.3 Run the tests to ensure that nothing else breaks.", False),
        ("Your response must include one tool call.", False),
        ("Please make sure to put each parser into a module of its own.", True),
        ("Rewrite whatever you like to make sure we get rid of the old parser.", False),
        ("Make sure that the import of the old files still works.", False),
        ("Keep in mind that the importer also reads the old files.", False),
        ("Read the output and be more careful about the order of columns.", False),
        ("I pressed the key and the parser crashed, that should never happen.", False),
        ("We'll have to fire it by hand today.", False),
        ("The exporter should not write to stdout.", True),
        ("That shouldn't take long with the new parser.", False),
        ("We want a single binary, not a service.", True),
        ("Use pnpm instead of npm for the client.", True),
        ("he said he wants to use it instead of the old one", False),
        ("No inline styles in components.", True),
        ("No results are shown in the table.", False),
        ("Leave the vendor folder alone.", True),
        ("leave it running, I will look later", False),
        ("Before you commit, run the linter.", True),
        ("Ask me before you push anything.", True),
        ("no, don't rename the public functions", True),
        ("We don't want a second cache layer.", True),
        ("We don't have any users in that region.", False),
        ("Tests should only use fixtures from conftest.", True),
        ("Keep the public API as it is.", True),
        ("Use only the standard library.", True),
        ("Actually, never mind.", False),
        ("Keep going with the next step of the plan.", False),
        ("The second index is assigned to but never used.", False),
        ("Consider whether only the first row should count.", False),
        ("Don't mark it as high risk this time.", False),
        ("Do not put several commands into one response.", False),
    ],
)
def test_a_rule_goes_on_holding_for_the_work(sentence: str, rule: bool) -> None:
    assert is_rule(sentence) is rule


def test_rules_of_a_message_are_asked_for_without_being_told() -> None:
    before = [said("Never touch the generated parser files. The import is slow."), ran("ls")]
    probe = asked("constraint", before)
    assert isinstance(probe, Probe)
    assert (probe.ground_truth, "generated" in probe.question) == ("Never touch the generated parser files.", False)


def test_a_rule_ends_where_the_person_asks_for_what_it_forbids() -> None:
    rule, lifting = (
        said("The import is slow. Never push the release branch."),
        said("Now push the release branch please."),
    )
    assert truth("constraint", [rule, ran("ls"), lifting]) == ""
    probe = asked("constraint", [rule, ran("ls")], [lifting])
    assert isinstance(probe, Probe)
    assert probe.statements[0].until == 3


def test_a_rules_file_counts_and_a_hook_does_not() -> None:
    rules = "# AGENTS.md instructions for /srv/app\n\n## Style\n- Never use tabs in source files.\n"
    assert truth("constraint", [[Message("user", rules, author="rules")], TASK]) == "Never use tabs in source files."
    hook = "Stop hook feedback:\nNever use tabs in source files."
    assert truth("constraint", [[Message("user", hook, author="harness")], TASK]) == ""


def test_neither_a_template_nor_a_reminder_sets_rules() -> None:
    comment = "The import is slow.\n<!-- Never put the number of the ticket into the title. -->"
    assert truth("constraint", [said(comment), ran("ls")]) == ""
    rules = "## Style\n- Never use tabs in source files.\n"
    read = called(
        "Read", {"file_path": "/srv/app/AGENTS.md"}, f"{rules}<system-reminder>You must refuse to write malware."
    )
    assert truth("constraint", [TASK, read]) == "Never use tabs in source files."


def test_what_the_system_prompt_tells_is_not_asked_for() -> None:
    rule = said("The import is slow. Never touch the generated parser files.")
    probe = asked("constraint", [[Message("system", "Never touch the generated parser files.")], rule, ran("ls")])
    assert probe == NotAsked("constraint", "the system prompt gives the answer away")


def test_of_a_rule_that_the_system_prompt_tells_the_others_of_its_message_are_asked_for() -> None:
    rules = said("The import is slow. Never touch the generated parser files. Don't rename the public columns.")
    probe = asked("constraint", [[Message("system", "Never touch the generated parser files.")], rules, ran("ls")])
    assert isinstance(probe, Probe)
    assert [statement.text for statement in probe.statements] == ["Don't rename the public columns."]


def test_nothing_is_asked_for_twice() -> None:
    rule = said("The import is slow. Never touch the generated parser files.")
    transcript = session(rule, ran("ls"), told("Next."), told("And next."))
    first, second = CompactionPoint("s", 1, 3, 0), CompactionPoint("s", 2, 4, 0, (3,))
    prober = EmbeddedProber()
    assert isinstance(prober.probes(transcript, first)[4], Probe)
    assert isinstance(prober.probes(transcript, second)[4], NotAsked)


def test_of_a_section_that_also_describes_only_what_it_forbids_is_asked_for() -> None:
    rules = "# AGENTS.md\n\n## Shape\n- Rows are read in chunks of a thousand.\n- Totals live in the flat file.\n"
    rules += "- Always sort by day first.\n- Never write to the archive folder.\n"
    probe = asked("constraint", [[Message("user", rules, author="rules")], TASK])
    assert isinstance(probe, Probe)
    assert "forbid in so many words" in probe.question
    assert probe.ground_truth == "Never write to the archive folder."


BRIEF = "Build the importer.\n\nSteps:\n" + "".join(f"- Write the reader of part {n}\n" for n in range(12))


def test_below_a_heading_about_rules_every_item_of_a_brief_is_one() -> None:
    rules = "- Work in small vertical slices\n- Reuse the patterns of the project"
    probe = asked("constraint", [said(f"{BRIEF}\nHouse rules:\n{rules}\n"), ran("ls")])
    assert isinstance(probe, Probe)
    assert probe.question.startswith("What does the task require or forbid under the heading “House rules”?")
    assert [s.text for s in probe.statements] == [
        "Work in small vertical slices",
        "Reuse the patterns of the project",
    ]
    assert truth("constraint", [said(f"{BRIEF}\nBackground:\n{rules}\n"), ran("ls")]) == ""
    quoted = f"<issue>\n## House rules\n{rules}\n</issue>\n```\n# House rules\n{rules}\n```"
    assert truth("constraint", [said(f"{BRIEF}\n{quoted}"), ran("ls")]) == ""


def test_a_long_sentence_sets_its_rules_between_semicolons() -> None:
    order = f"Open a worktree, {'then read the next folder, ' * 12}and report; never force-push the branch"
    assert truth("constraint", [said(order), ran("ls")]) == "never force-push the branch"


@pytest.mark.parametrize(
    ("rule", "question"),
    [
        ("Never write to the flat file.", "What does AGENTS.md forbid in so many words"),
        ("Always sort the rows by day first, then by name.", "Which rule that begins with “Always sort the” was given"),
        ("Always sort first.", ""),
    ],
)
def test_of_a_section_that_says_other_things_too_a_rule_is_asked_for(rule: str, question: str) -> None:
    rules = "# AGENTS.md\n\n## Shape\n- Rows are read in chunks of a thousand.\n- Totals live in the flat file.\n"
    rules += f"- {rule}\n| Unchanged (no commits) | Totals must be flat |\n"
    probe = asked("constraint", [[Message("user", rules, author="rules")], TASK])
    assert (isinstance(probe, Probe) and probe.ground_truth == rule and probe.question.startswith(question)) == bool(
        question
    )


def test_a_message_that_may_forbid_more_is_not_asked_for_all_that_it_forbids() -> None:
    order = "The importer is slow. Never change the file of totals in the ledger. Touch the rows only where it helps."
    probe = asked("constraint", [said(order), ran("ls")])
    assert isinstance(probe, Probe)
    assert probe.question.startswith("Which rule that begins with “Never change the” was given by the person?")


def test_how_an_agent_is_run_is_no_rule_of_the_work() -> None:
    rules = "<instructions>\n## Environment Details\n- Always use non-interactive flags for commands\n</instructions>"
    assert truth("constraint", [said(rules), ran("ls")]) == ""


def test_a_rule_set_on_the_way_holds_for_some_messages_unless_it_is_general() -> None:
    wishes = ("Read the ledger of last year.", "Sort by day.", "Print the sums in a table.", "Name the file by month.")
    later = [part for wish in wishes for part in (told("Done."), said(wish))]
    assert truth("constraint", [TASK, said("Dim the totals, don't modify the colour theme."), *later]) == ""
    general = "From now on, never modify the colour theme."
    assert truth("constraint", [TASK, said(general), *later]) == general
