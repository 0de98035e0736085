"""Single facts of a session that can be asked for at a point; each question has one true answer there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compaction.points import LOOKAHEAD
from compaction.reading.message_facts import project_ops, read_message
from compaction.reading.prose import sentences, shorten, terms
from compaction.reading.run_reports import without_colours
from judge.embedded.facts import BEFORE, Candidate, Run, SessionFacts
from judge.embedded.net_files import net_files, undone_files
from judge.embedded.own_words import FILLING, agrees, orders, requests
from judge.statement import Statement, StatementKind

MAX_LINE = 200
"""Characters of a line that is asked for."""

RECENT = 50
"""Messages in which a failure that was never looked at again still counts."""

MIN_OWN = 3
"""Content words of a request that are not the cue's."""

WORKED = 12
"""Messages of a turn in which more was done than a few looks."""

SOON = 8
"""Messages within which a file is changed for the cause that the agent has stated."""

MIN_CAUSE = 6
"""Content words of a sentence that tells a cause."""

MAX_DONE = 16
"""Items that are done, or files that were put back, of which a true answer tells all."""

MAX_HOLDERS = 20
_LOOKS = re.compile(r" (?:--help|-h|--version|--collect-only|--co)\b")
_OWN_SLIP = re.compile(r"(?:E\s+)?(?:Syntax|Indentation|Tab)Error")
_PIPED_AWAY = re.compile(r"(?:\s*\d?>(?:&\d|\s*/dev/null))*(?:\s*\|[^|;&]*)*$")
_ASKED_BACK = re.compile(r"\?$|\b(?:please|let me know)\b", re.IGNORECASE)
_IDLE = re.compile(r"\b(?:thanks?|merci|(?:i|you) hope|get back to you)\b|[❯➜]", re.IGNORECASE)
"""How an agent asks the person for something, and replies that tell nothing: thanks, small talk, pasted prompts."""

PURPOSES = {
    "tested": None,
    "linted or type-checked": re.compile(r"\b(?:lint|check|clippy|vet|ruff|eslint|biome|mypy|tsc|tsgo)\b"),
    "built": re.compile(r"\b(?:build|compile)\b"),
}
"""What a run is for, and the words by which it is known; tests are known by their names and reports."""

_BRANCH = re.compile(r"\bgit (?:checkout -[bB]|switch -[cC]) +[\"']?([\w./#-]+)")
_COMMITTED = re.compile(r"^\[([\w./#-]+) (?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)", re.MULTILINE)
_PULL = re.compile(r"https://\S+/pull/\d+")
_CAUSE = re.compile(
    r"\broot cause\b|\b(?:the|this) (?:\w+ )?(?:issue|problem|bug|culprit) "
    r"(?:is|was|lies|comes|occurs|happens|seems|might|could|may)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:that|because|since|when|where|due to|caused by|instead of|should|without|not|only|both|never|always)\b|n't\b"
)
"""Words of a sentence that says why, and not only where."""

_HEDGED = re.compile(
    r"[?:]$|\b(?:likely|maybe|perhaps|probably|might|may|could|seems?|appears?|think|believe|possibl[ey]|what if|still|"
    r"if|wait|as described|suggests|fixed|confirmed|original|verify|with root cause)\b",
    re.IGNORECASE,
)
_CAUSE_AGAIN = re.compile(
    r"\b(?:caus(?:e[sd]?|ing)|reasons?|why|culprit|turns out|due to|because|explains|the (?:real|actual|underlying|"
    r"issue|problem|bug|fix) )\b",
    re.IGNORECASE,
)
"""Words with which a cause may be named in another way."""

GIT_QUESTIONS = {
    "branch": "On which branch was work committed or begun the last time?",
    "message": "With which message was the last commit of the session made?",
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
        *_git(session, cut),
        *_findings(session, cut),
    ]


def what_was_done(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """The items of the agent's to-do list that are ticked off, and the files that were changed in vain."""
    todo = session.todos(cut)
    done = [item.text for item in todo.items if item.status == "done"] if todo else []
    if todo and 0 < len(done) <= MAX_DONE:
        statements = tuple(Statement("done_task", item, (todo.seq,), (item,)) for item in done)
        question = "Which items of the agent's to-do list are ticked off as done?"
        yield Candidate("done", question, "; ".join(done), statements)
    undone = undone_files(session, cut)
    if 0 < len(undone) <= MAX_DONE:
        told = [(f, f"{f.path} was changed and put back") for f in undone]
        statements = tuple(Statement("done_task", text, (*file.tried, file.touched)) for file, text in told)
        question = "Which files of the project were edited and are again what they had been at the beginning?"
        yield Candidate("undone", question, "; ".join(f.path for f in undone), statements)


def first_request(session: SessionFacts, cut: int) -> list[Candidate]:
    """The person's first request, in all its sentences: a question for points that offer no other."""
    first = next((m for m in session.person if (m.seq or 0) < cut), None)
    asked = requests(first.text) if first is not None else ()
    statements = tuple(Statement("request", one, (first.seq or 0,), (one,)) for one in asked) if first else ()
    question = "What did the person ask for at the beginning?"
    return [Candidate("request", question, " ".join(asked), statements)] if asked else []


def later_requests(session: SessionFacts, since: int, cut: int) -> list[Candidate]:
    """The person's later requests between two points to an idle agent, the one with most changes first.

    Of what it was asked for, an answer after a few looks is trivial; what the next words take up again is not settled.
    """
    found, end, has_calls = [], cut, any(m.tool_calls for m in session.messages[:cut])
    for message in reversed([m for m in session.person[1:] if since <= (m.seq or 0) < cut]):
        seq, told = message.seq or 0, session.told_before(message.seq or 0, cut)
        changes = sum(op.verb != "examined" for q in range(seq, end) for op in project_ops(session.ops.get(q, ())))
        matters = changes or end - seq > WORKED or not has_calls
        said = () if not terms(told) or agrees(message.text) else requests(message.text)
        asks = orders(message.text, or_asks=True)
        is_reply = _ASKED_BACK.search(told) and not _IDLE.search(message.text)
        asked = said if (matters and orders(message.text) if asks else is_reply) else ()
        words = set(terms(" ".join(asked)))
        end, settled = seq, "go ahead" not in " ".join(asked) and not session.is_taken_up(message, cut)
        if settled and len(words - set(terms(told)) - FILLING) >= MIN_OWN:
            what = "ask for" if asks else "say"
            question = f"What did the person {what} when the agent had ended with “{shorten(told, MAX_LINE)}”?"
            kind: StatementKind = "request" if asks else "value"
            statements = tuple(Statement(kind, one, (seq,), (one,)) for one in asked)
            found.append((changes, Candidate("request", question, " ".join(asked), statements)))
    return [candidate for _, candidate in sorted(found, key=lambda one: -one[0])]


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
    """Whether a failure that nobody mended came again, or the project was changed for it just before the point."""
    run = runs[n]
    later = [r for r in session.runs if run.seq < r.seq < cut + LOOKAHEAD]
    if _OWN_SLIP.match(run.errors[0]) or any(r.cue == run.cue and r.errors != run.errors for r in later):
        return False
    if _went_well_since(runs, run):
        return False
    holders = [session.messages[seq].role for seq in session.holders(run.errors, cut)]
    if "user" in holders or holders.count("tool") > 1:
        return "user" not in holders  # else it is the error that the person asks about
    if run.seq < cut - RECENT or any(r.seq < cut and not r.failed for r in later):
        return False
    made = session.ledger(cut).created
    edited = (op for seq in range(run.seq + 1, cut) for op in session.ops.get(seq, ()) if op.verb == "modified")
    return any(op.path not in made and not op.scratch for op in edited)


def _went_well_since(runs: list[Run], run: Run) -> bool:
    """Whether the same program, whatever it was given, has run well after a run."""
    return any(r.seq > run.seq and not r.failed and r.name.split()[:2] == run.name.split()[:2] for r in runs)


def _totals(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """The counts of a command's last run, if it failed and none passed since, or no file was changed."""
    by_cue: dict[str, list[Run]] = {}
    for run in runs:
        if read_message(run.result).totals and run.cue:
            by_cue.setdefault(run.cue, []).append(run)
    for cue, same in by_cue.items():
        told = [f"{t[0]} passed, {t[1]} failed" for run in same if (t := read_message(run.result).totals)]
        passed, failed = read_message(same[-1].result).totals or (0, 0)
        exact = _total_words(same[-1], passed, failed)
        changed = any(op.verb != "examined" for seq in range(same[-1].seq, cut) for op in session.ops.get(seq, ()))
        stands = not _went_well_since(runs, same[-1]) if failed else not changed
        if passed + failed >= 2 and exact and stands:
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
    """The last command line that tested, checked or built the project, where the session uses it again."""
    coming = {run.name: run.seq for run in reversed(session.runs) if cut <= run.seq < cut + LOOKAHEAD}
    for what, pattern in PURPOSES.items():
        fitting = [run for run in runs if (pattern.search(run.command) if pattern else run.is_test)]
        if not fitting or not (run := fitting[-1]).cue:
            continue
        line = _PIPED_AWAY.sub("", BEFORE.sub("", run.command)).strip()
        worked = not run.failed or read_message(run.result).totals is not None
        again = run.name in coming or (pattern is None and sum(r.name == run.name for r in fitting) > 1)
        if worked and again and line.endswith(run.name) and not re.search(r"[|\n;]", line) and not _LOOKS.search(line):
            statements = _exact(session, "command", line, (line,), cut, (), coming.get(run.name))
            question = f"With which exact command line was the project {what} the last time, without `cd` and pipes?"
            yield Candidate("command", question, line, statements)


def _used_next(session: SessionFacts, value: str, cut: int) -> int | None:
    """``seq`` of the first message soon behind the point whose calls have a value."""
    coming = session.messages[cut : cut + LOOKAHEAD]
    return next((m.seq for m in coming if any(value in call.arguments for call in m.tool_calls)), None)


def _git(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """The last commit, the branch of the work, and the pull request, as calls reported them."""
    found: dict[str, list[str]] = {kind: [] for kind in GIT_QUESTIONS}
    for _, command, result in session.commands:
        if result is None or (result.seq or 0) >= cut or result.is_error:
            continue
        found["branch"] += _BRANCH.findall(command)
        for branch, commit, message in _COMMITTED.findall(result.text) if "git commit" in command else ():
            found["commit"].append(commit)
            found["branch"].append(branch)
            found["message"].append(message.strip())
        found["pull request"] += _PULL.findall(result.text) if "pr create" in command else []
    for kind, values in found.items():
        needed = _used_next(session, values[-1], cut) if values else None
        # What `git log` tells is worth asking where it is used, or says what was done.
        telling = len(terms(values[-1])) > 2 if kind == "message" and values else needed or kind != "commit"
        if values and len(values[-1]) > 4 and telling:
            foils = tuple(dict.fromkeys(value for value in values[:-1] if value != values[-1]))[-3:]
            statements = _exact(session, "value", f"the last {kind} is {values[-1]}", (values[-1],), cut, foils, needed)
            yield Candidate(kind, GIT_QUESTIONS[kind], values[-1], statements)


def _findings(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """The cause that the agent named last, where it stands in a change that it made next, or was named just now.

    None where later words may name a cause again.
    """
    said = [(m, s) for m in session.messages[:cut] if m.role == "assistant" for s in sentences(m.text)]
    seq, cause = next(((m.seq or 0, s) for m, s in reversed(said) if _CAUSE.search(s)), (cut, ""))
    standing = [f for f in net_files(session, 0, cut) if f.verb == "modified"]
    changed = sorted((at, f.path) for f in standing for at in f.seqs if seq <= at < seq + SOON)
    clear = len(cause) <= 2 * MAX_LINE and len(terms(cause)) >= MIN_CAUSE and not _HEDGED.search(cause)
    answered = any(m.role == "user" for m in session.messages[seq:cut])
    again = any(_CAUSE_AGAIN.search(s) for m, s in said if (m.seq or 0) > seq)
    if clear and not again and _REASON.search(cause) and (changed or (seq >= cut - LOOKAHEAD and not answered)):
        before = f", before it changed `{changed[0][1]}`" if changed else ""
        question = f"What did the agent name last as the cause of the problem{before}?"
        yield Candidate("finding", question, cause, (Statement("finding", cause, (seq,), (cause,)),))
