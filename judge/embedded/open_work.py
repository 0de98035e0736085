"""Work that is open at a point: to-do items, edits without a test or a commit, failures of the last runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from compaction.points import LOOKAHEAD
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences, shorten, terms
from compaction.transcript import Message
from judge.embedded.facts import Run, SessionFacts
from judge.embedded.net_files import NetFile, is_passed_over, lies_beside, may_be_ignored, net_files
from judge.embedded.own_words import agrees, orders, requests
from judge.statement import Statement

RUN_AGE = 50
"""Messages after which a run no longer tells what fails."""

MAX_ITEMS = 8
"""Items of which a true answer tells all; of more, nobody does."""

MAX_ERRORS = 4
"""Errors of one run that are all told; of more, nobody tells all."""

ANNOUNCED = 10
"""Messages in which a step was announced that is still to be taken."""

NEW = 40
"""Messages in which a request is new."""

_STEP = re.compile(
    r"\b(?:i[’']ll|i will|i[’']m(?: going to)?|let me|let's|i need to|we need to) (?:now |also )?"
    r"(?:add|updat|fix|writ|creat|implement|chang|mak|replac|remov|refactor|renam|edit|patch|mov|extract|delet)\w*",
    re.IGNORECASE,
)
"""A sentence with which somebody announces a change."""

_TRIED_OUT = re.compile(r"\b(?:print|debug\w*|log(?:ging)?|scratch|temporary|reproduc\w+|scripts?)\b", re.IGNORECASE)
"""Words of a step that only tries something out."""

_LIST_TOOL = re.compile(r"todo|plan|task|checklist", re.IGNORECASE)
_CODE = re.compile(
    r"\.(?:py|pyx|jsx?|tsx?|mjs|cjs|go|rs|rb|java|kt|swift|c|cc|cpp|h|hpp|cs|sh|sql|php|scala|vue|svelte|lua|jl|ex|exs)$"
)
_TESTS = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._-](?:tests?|spec)\.\w+$", re.IGNORECASE)
_SCRATCH = re.compile(
    r"(?:^|[/_-])(?:repro\w*|debug\w*|verify|check|demo|tmp|temp|example|minimal|trace|try)(?=[\W_])", re.IGNORECASE
)
"""Names of files that only try something out."""

_SCRIPT = r"\b(?:python[\d.]*|node|bash|sh|ruby|php|tsx) (?:\S*/)?"
"""What a command has before the name of a script that it runs."""

_BUILDS = re.compile(r"\b(?:build|check|lint|clippy|vet|mypy|tsc|tsgo)\b")
_SEARCHED = re.compile(r"\|\s*grep\b[^|;&]*")
_COMMITTED = re.compile(r"\b(?:committed|pushed|merged)\b", re.IGNORECASE)


def open_work(session: SessionFacts, since: int, cut: int) -> dict[str, list[Statement]]:
    """Map each question's words to the open work of its kind; empty if the turn had ended.

    A request stands alone only if it is new: not the session's first, and given since the last point or just now.
    """
    if turn_has_ended(session.messages, cut):
        return {}
    found = {
        "todo": _todo_items(session, cut),
        "untested": _find_untested(session, cut),
        "uncommitted": _find_uncommitted(session, cut),
        "failing": _failing(session, cut),
        "next": _find_announced(session, cut),
    }
    found = {part: statements for part, statements in found.items() if statements}
    part, asked = _request(session, cut)
    newest = cut - ANNOUNCED if part == "thrown" else min(since, cut - NEW)
    is_new = asked and session.person[0].seq != asked[0].evidence[0] >= newest
    if is_new:  # other words since, though nobody reads them, may have asked for something
        since_then = session.messages[asked[0].evidence[0] + 1 : cut]
        is_new = not any(m.role == "user" and not m.author and m not in session.person for m in since_then)
    if asked and (is_new or (found and part == "asked")):
        found[part] = asked
    scratch = _scratch(session, cut)
    return {**found, "scratch": scratch} if scratch else found


def turn_has_ended(messages: Sequence[Message], cut: int) -> bool:
    """Whether the agent had said its last word before the cut, and a person has to speak."""
    before, after = messages[cut - 1], messages[cut] if cut < len(messages) else None
    ended = before.role == "assistant" and not before.tool_calls and bool(before.text.strip())
    if after is None or after.role != "user":
        return ended and after is None
    return not agrees(after.text) or (ended and after.text.startswith("/"))


def _todo_items(session: SessionFacts, cut: int) -> list[Statement]:
    todo = session.todos(cut)
    if todo is None or not any(_LIST_TOOL.search(call.name) for call in session.messages[todo.seq].tool_calls):
        return []
    if any(todo.seq < (m.seq or 0) < cut and not agrees(m.text) for m in session.person):
        return []  # the person has asked for something else since
    coming = _ticked_next(session, cut)
    items = [item for item in todo.items if item.status != "done" and item.text not in coming]
    if len(items) > 2 * MAX_ITEMS:
        return []
    return [Statement("open_task", item.text, (todo.seq,), (item.text,)) for item in items]


def _ticked_next(session: SessionFacts, cut: int) -> set[str]:
    """Items that the first call behind the cut ticks off: they were done before it."""
    following = session.messages[cut : cut + LOOKAHEAD]
    first = next((n for n, message in enumerate(following, cut) if message.tool_calls), cut)
    after = session.todos(first + 2)
    if first >= len(session.messages) or after is None or after.seq < cut:
        return set()
    return {item.text for item in after.items if item.status == "done"}


def _find_untested(session: SessionFacts, cut: int) -> list[Statement]:
    """Code of the project that was changed after its tests were run last; none where that can be disputed."""
    tests = [run for run in session.runs if run.ended < cut and run.is_test]
    tried = max((run.seq for run in tests), default=-1)
    files = _waiting(session, tried, cut)
    if not session.commands or not session.may_have_changed(tried + 1, cut) <= {f.path for f in files}:
        return []  # an agent that runs nothing leaves testing to the person
    # A run that got as far as no test may count or not: the files have to be the same.
    tested = max((run.seq for run in tests if _has_tested(run)), default=-1)
    if [f.path for f in files] != [f.path for f in _waiting(session, tested, cut)]:
        return []
    if len(files) > 2 * MAX_ITEMS or any(_was_run(session, f, cut) for f in files):
        return []
    return [Statement("untested_edit", f"{f.path} was {f.verb} and no tests were run since", f.seqs) for f in files]


def _waiting(session: SessionFacts, tested: int, cut: int) -> list[NetFile]:
    """Code that was changed after a run of tests, tests and scratch aside."""
    files = [f for f in net_files(session, tested + 1, cut) if f.verb != "deleted" and _CODE.search(f.path)]
    return [
        f
        for f in files
        if not _TESTS.search(f.path) and (f.verb == "modified" or ("/" in f.path and not _SCRATCH.search(f.path)))
    ]


def _has_tested(run: Run) -> bool:
    """Whether a run of tests got as far as a test."""
    reading = read_message(run.result)
    return not run.failed or reading.totals is not None or bool(reading.failing)


def _was_run(session: SessionFacts, file: NetFile, cut: int) -> bool:
    """Whether a command has run the file itself after its last change."""
    name = re.compile(rf"(?<![\w-]){re.escape(file.path.rsplit('/', 1)[-1])}")
    tries = ((seq, _SEARCHED.sub("", command)) for seq, command in _tries(session, cut))
    return any(file.seqs[-1] < seq and name.search(command) for seq, command in tries)


def _tries(session: SessionFacts, cut: int) -> Iterator[tuple[int, str]]:
    """(seq, command) of the calls that could have shown a fault."""
    return ((seq, command) for seq, command, _ in session.commands if seq < cut and session.may_test(seq, command))


def _find_uncommitted(session: SessionFacts, cut: int) -> list[Statement]:
    """Files that differ from the last commit, in a session that commits; none where one of them can be disputed."""
    commits = [seq for seq in session.commits if seq < cut + LOOKAHEAD]
    since = max((seq for seq in commits if seq < cut), default=-1)
    told = any(_COMMITTED.search(m.text) for m in session.person if since < (m.seq or 0) < cut)
    if told or not commits or session.may_have_changed(since + 1, cut):
        return []
    files = [f for f in net_files(session, 0, cut) if len(f.changes) > f.committed or f.is_left]
    files = [f for f in files if not is_passed_over(session, f, cut)]
    if len(files) > 2 * MAX_ITEMS or any(f.is_left or may_be_ignored(f) for f in files):
        return []
    verbs = {f.path: "modified" if f.committed and f.verb == "created" else f.verb for f in files}
    return [Statement("open_task", f"{f.path} is {verbs[f.path]} and not committed", f.seqs) for f in files]


def _failing(session: SessionFacts, cut: int) -> list[Statement]:
    """The failures of each command's last run, unless files were changed and other commands run since.

    Of tests, checks and builds whose report is not read whole only the command; of anything else nothing.
    """
    last = {run.cue: run for run in session.runs if cut - RUN_AGE <= run.seq and run.ended < cut}
    ran = max((seq for seq, _ in _tries(session, cut)), default=-1)
    found: dict[str, Statement] = {}
    for cue, run in last.items():
        changed = any(op.verb != "examined" for seq in range(run.seq + 1, cut) for op in session.ops.get(seq, ()))
        if not run.failed or (changed and run.seq < ran):
            continue
        reading = read_message(run.result)
        tests = [test for test, _ in reading.failing]
        errors = run.errors if cue and not tests and run.seq == ran else ()
        n_failed = reading.totals[1] if reading.totals else 0
        if not (tests or errors) or len(errors) > MAX_ERRORS or n_failed > len(set(tests) or errors):
            if not cue or changed or run.seq != ran or not (run.is_test or _BUILDS.search(run.name)):
                return []
            tests, errors = [], ()
            found[cue] = Statement("failing_test", f"`{cue}` failed when it was run last", (run.ended,), exact=(cue,))
        for test in tests:
            found[test] = Statement("failing_test", f"{test} fails", (run.ended,), exact=(test.split("::")[-1],))
        for error in errors:
            found[error] = Statement("failing_test", f"`{cue}` fails with: {error}", (run.ended,), exact=(error,))
    return list(found.values()) if len(found) <= MAX_ITEMS else []


def _find_announced(session: SessionFacts, cut: int) -> list[Statement]:
    """The change that the agent announced last, where it has changed no file since and does so next."""
    said = [m for m in session.messages[max(0, cut - ANNOUNCED) : cut] if m.role == "assistant"]
    steps = [(m.seq or 0, s) for m in said for s in sentences(m.text) if _STEP.search(s) and len(terms(s)) >= 4]
    seq, step = steps[-1] if steps else (cut, "")
    if sum(at == seq for at, _ in steps) > 1 or _TRIED_OUT.search(step):
        return []
    edits = [q for q in range(seq, cut + LOOKAHEAD) if any(op.verb != "examined" for op in session.ops.get(q, ()))]
    if not edits or edits[0] < cut or any(m.role == "user" for m in session.messages[seq : edits[0]]):
        return []
    done = " ".join(call.arguments for call in session.messages[edits[0]].tool_calls)
    fits = not set(terms(step)).isdisjoint(terms(done))
    return [Statement("next_step", shorten(step, 400), (seq,), (step,), needed_at=edits[0])] if fits else []


def _scratch(session: SessionFacts, cut: int) -> list[Statement]:
    """Scratch files at the project's top; none if one of the files may be meant to stay."""
    files = [file for file in net_files(session, 0, cut) if lies_beside(session, file, cut)]
    ran = "\n".join(command for seq, command, _ in session.commands if seq < cut)
    for file in files:
        is_test_script = _TESTS.search(file.path) and re.search(_SCRIPT + re.escape(file.path), ran)
        is_wanted = any(file.path in message.text for message in session.person)
        if is_wanted or not (is_test_script or _SCRATCH.search(file.path)):
            return []
    told = [Statement("open_task", f"{file.path} is a scratch file", file.seqs) for file in files]
    return told if len(told) <= 2 * MAX_ITEMS else []


def _request(session: SessionFacts, cut: int) -> tuple[str, list[Statement]]:
    """(part, every sentence) of the last request, which may have been thrown in while the agent was at work.

    None where the agent has reported since and the person agreed to go on: then it is not what the work is about.
    """
    said = [m for m in session.person if (m.seq or 0) < cut]
    last = next((m for m in reversed(said) if not agrees(m.text)), None)
    if last is None:
        return "asked", []
    agreed = (session.messages[(m.seq or 1) - 1] for m in said[said.index(last) + 1 :])
    if any(before.role == "assistant" and not before.tool_calls for before in agreed):
        return "asked", []
    before = session.messages[last.seq - 1] if last.seq else None
    part = "thrown" if before and (before.role == "tool" or before.tool_calls) else "asked"
    asked = orders(last.text, or_asks=True) if last is not session.person[0] else requests(last.text)
    return part, [Statement("request", shorten(one, 400), (last.seq or 0,), (one,)) for one in asked]
