"""Single facts of a session that can be asked for at a point; each question has one true answer there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compaction.points import LOOKAHEAD
from compaction.reading.message_facts import read_message
from compaction.reading.prose import terms
from compaction.reading.run_reports import without_colours
from judge.embedded.facts import MIN_TERMS, Candidate, Run, SessionFacts
from judge.statement import Statement, StatementKind

MAX_LINE = 200
"""Characters of a line that is asked for."""

RECENT = 50
"""Messages in which a failure that was never looked at again still counts."""

SLIP = 6
"""Messages within which a failure is mended that nobody has to know of."""

MAX_HOLDERS = 20
_REPORTED = re.compile(
    r"(?:^|[;&|\n]\s*)(?:\S*/)?[\w.-]+ +(?:--version|-V|version)\b|\bpip3? +(?:install|show)\b|__version__|"
    r"\bnpm +(?:install|i|view)\b|\b(?:uv|poetry|yarn|pnpm|cargo|go|gem|bun) +(?:add|get|install)\b"
)
"""Commands that install something or report what is installed."""

_RANGE = re.compile(r"[\^~<>=*x]")
_LOOKS = re.compile(r" (?:--help|-h|--version|--collect-only|--co)\b")
_OWN_SLIP = re.compile(r"(?:E\s+)?(?:Syntax|Indentation|Tab)Error")
_BRANCH = re.compile(r"\bgit (?:checkout -[bB]|switch -[cC]) +[\"']?([\w./#-]+)")
_COMMITTED = re.compile(r"^\[([\w./#-]+) (?:\(root-commit\) )?([0-9a-f]{7,40})\] ", re.MULTILINE)
_PULL = re.compile(r"https://\S+/pull/\d+")
GIT_QUESTIONS = {
    "branch": "On which branch was work committed or begun the last time?",
    "commit": "Which hash did the last `git commit` of the session report?",
    "pull request": "Under which address was the last pull request opened?",
}


def recall_facts(session: SessionFacts, cut: int) -> list[Candidate]:
    """All that can be asked for at a point."""
    runs = [run for run in session.runs if run.ended < cut]
    return [
        *_errors(session, runs, cut),
        *_totals(session, runs, cut),
        *_commands(session, runs, cut),
        *_versions(session, cut),
        *_git(session, cut),
    ]


def _exact(
    session: SessionFacts,
    kind: StatementKind,
    text: str,
    exact: tuple[str, ...],
    cut: int,
    foils: tuple[str, ...] = (),
    needed_at: int | None = None,
) -> tuple[Statement]:
    """A statement whose words have to stand to the letter, proved by every message that has them."""
    proof = session.holders(exact, cut)[-MAX_HOLDERS:]
    return (Statement(kind, text, proof, exact=exact, foils=foils, needed_at=needed_at),)


def _errors(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """The error of a run that failed last, where it was no slip of the agent's own."""
    last = {run.cue: n for n, run in enumerate(runs) if run.failed}
    for cue, n in last.items():
        errors = runs[n].errors
        if len(cue) < 6 or len(errors) != 1 or len(terms(errors[0])) < 3 or not _matters(session, runs, n, cut):
            continue
        line = errors[0]
        earlier = dict.fromkeys(r.errors[0] for r in runs[:n] if r.cue == cue and r.errors)
        foils = tuple(other for other in earlier if other != line)[-3:]
        statements = _exact(session, "error", f"`{cue}` failed with: {line}", (line,), cut, foils)
        yield Candidate("error", f"Which error did `{cue}` give when it failed the last time?", line, statements)


def _matters(session: SessionFacts, runs: list[Run], n: int, cut: int) -> bool:
    """Whether a failure came again, or the project was changed for it: until it passed, or since, if it is new."""
    run = runs[n]
    again = next((r for r in runs[n + 1 :] if r.cue == run.cue), None)
    until = again.seq if again else cut
    if _OWN_SLIP.match(run.errors[0]) or (again and again.errors != run.errors and until - run.seq <= SLIP):
        return False
    if sum(session.messages[seq].role == "tool" for seq in session.holders(run.errors, cut)) > 1:
        return True
    passed = any(r.name.split()[0] == run.name.split()[0] and not r.failed for r in runs[n + 1 :])
    if not again and (run.seq < cut - RECENT or passed):
        return False
    made = session.ledger(cut).created
    edited = (op for seq in range(run.seq + 1, until) for op in session.ops.get(seq, ()) if op.verb == "modified")
    return any(op.path not in made and not op.scratch for op in edited)


def _totals(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """What the last run of a command counted."""
    by_cue: dict[str, list[Run]] = {}
    for run in runs:
        if read_message(run.result).totals and run.cue:
            by_cue.setdefault(run.cue, []).append(run)
    for cue, same in by_cue.items():
        told = [f"{t[0]} passed, {t[1]} failed" for run in same if (t := read_message(run.result).totals)]
        passed, failed = read_message(same[-1].result).totals or (0, 0)
        exact = _total_words(same[-1], passed, failed)
        if passed + failed >= 2 and exact:
            foils = tuple(other for other in dict.fromkeys(told) if other != told[-1])[-3:]
            statements = _exact(session, "total", f"`{cue}`: {told[-1]}", exact, cut, foils)
            question = f"How many tests passed and how many failed when `{cue}` was run the last time?"
            yield Candidate("total", question, told[-1], statements)


def _total_words(run: Run, passed: int, failed: int) -> tuple[str, ...]:
    """Words of the report that give the totals, on one line."""
    wanted = [(n, word) for n, word in ((passed, "pass(?:ed)?"), (failed, "fail(?:ed)?")) if n]
    for line in reversed(without_colours(run.result.text).splitlines()):
        found = [re.search(rf"(?<![\w.]){n} {word}\b|\b{word}:? {n}\b", line) for n, word in wanted]
        if found and all(found):
            return tuple(match[0] for match in found if match)
        if not failed and re.match(rf"Ran {passed} tests? in ", line):
            return (line.split(" in ")[0],)
    return ()


def _commands(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """The command lines of the last tests, and of the last run of each program that the session repeats next.

    One that goes on behind a pipe, or is part of a longer line, is not asked for: what of it is the command?
    """
    coming = {run.name: run.seq for run in reversed(session.runs) if cut <= run.seq < cut + LOOKAHEAD}
    newest = {run.name.split()[0].rsplit("/", 1)[-1]: run for run in runs}
    asked = {f"`{p}` run": run for p, run in newest.items() if run.name in coming}
    tests = [run for run in runs if run.is_test and (read_message(run.result).totals or not run.failed)]
    asked |= {"tests run": tests[-1]} if tests else {}
    for what, run in asked.items():
        own = set(terms(run.name)) - set(terms(what))
        if (
            len(own) > MIN_TERMS
            and run.command.rstrip().endswith(run.name)
            and len(run.name) <= MAX_LINE
            and not _LOOKS.search(run.name)
        ):
            statements = _exact(session, "command", run.name, (run.name,), cut, (), coming.get(run.name))
            verb = "were" if what == "tests run" else "was"
            question = f"With which exact command line {verb} {what} the last time?"
            yield Candidate("command", question, run.name, statements)


def _versions(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Versions for which a command asked by name, or that it installed, and of which the agent spoke or made use."""
    found: dict[str, list[str]] = {}
    for _, command, result in session.commands:
        if result is None or (result.seq or 0) >= cut or not _REPORTED.search(command):
            continue
        for name, version in read_message(result).versions[:40]:
            named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", command, re.IGNORECASE)
            if named and "." in version and len(name) > 2 and not _RANGE.search(version):
                found.setdefault(name, []).append(version)
    for name, versions in found.items():
        holders = session.holders((versions[-1],), cut)
        if all(session.messages[seq].role != "assistant" for seq in holders):
            continue
        foils = tuple(dict.fromkeys(version for version in versions if version != versions[-1]))
        statements = _exact(session, "version", f"{name} {versions[-1]}", (versions[-1],), cut, foils)
        yield Candidate("version", f"Which version of `{name}` is installed?", versions[-1], statements)


def _git(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """The last commit, the branch of the work, and the pull request, as calls reported them."""
    found: dict[str, list[str]] = {"branch": [], "commit": [], "pull request": []}
    for _, command, result in session.commands:
        if result is None or (result.seq or 0) >= cut or result.is_error:
            continue
        found["branch"] += _BRANCH.findall(command)
        for branch, commit in _COMMITTED.findall(result.text) if "git commit" in command else ():
            found["commit"].append(commit)
            found["branch"].append(branch)
        found["pull request"] += _PULL.findall(result.text) if "pr create" in command else []
    for kind, values in found.items():
        if values and len(values[-1]) > 4:
            foils = tuple(dict.fromkeys(value for value in values[:-1] if value != values[-1]))[-3:]
            statements = _exact(session, "value", f"the last {kind} is {values[-1]}", (values[-1],), cut, foils)
            yield Candidate(kind, GIT_QUESTIONS[kind], values[-1], statements)
