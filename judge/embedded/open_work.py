"""What is open at a point: to-do items, edits without a test, what the last run left failing, the step announced."""

from __future__ import annotations

import re
from collections.abc import Sequence

from compaction.points import LOOKAHEAD
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences, shorten, terms
from compaction.reading.todos import Todo, latest_todos
from compaction.transcript import Message
from judge.embedded.facts import SessionFacts, cue_of, is_test
from judge.embedded.net_files import COMMIT, net_files
from judge.embedded.own_words import ASKS, agrees, requests
from judge.probe import Statement

MAX_AGE = 10
"""Messages after which an announcement no longer says what comes next."""

RUN_AGE = 50
"""Messages after which a run no longer tells what fails."""

MAX_ITEMS = 8
MAX_ERRORS = 4
"""Errors of one run that are all told; of more, nobody tells all."""

MAX_ASKED = 6
"""Sentences of a request; one that says more is a document, of which no list is complete."""

_LIST_TOOL = re.compile(r"todo|plan|task|checklist", re.IGNORECASE)
_CODE = re.compile(
    r"\.(?:py|pyx|jsx?|tsx?|mjs|cjs|go|rs|rb|java|kt|swift|c|cc|cpp|h|hpp|cs|sh|sql|php|scala|vue|svelte|lua|jl|ex|exs)$"
)
_SCRATCH = re.compile(r"(?:^|[/_-])(?:tests?|repro\w*|debug|verify|check|demo|tmp|temp|example|edge_?cases?)[^/]*$", re.IGNORECASE)
"""Files that an agent makes to try something out."""

_COMMITTED = re.compile(r"\b(?:committed|pushed|merged)\b", re.IGNORECASE)
_STEP = re.compile(
    r"\b(?:next,? (?:i|we|let|step)|now,? (?:i|let|we)|i'll|i will|i need to|we need to|i'm going to|let's|let me|"
    r"then i|i still|we still|remaining (?:is|are|steps?|tasks?|work))\b",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:next(?:,| i| we| step| up)|(?:and |, )then (?:i|we|run|add|update|test|fix|write)|after (?:that|this)|"
    r"afterwards?|remaining|still (?:need|to do|have to|missing)|left to do|(?:i|we)(?:'ll| will) then)\b",
    re.IGNORECASE,
)
"""Announcements of more than the call that stands beside them."""

_NO_STEP = re.compile(
    r"\blet me know\b|\bif you\b|\bwould you\b|\bfeel free\b|\bplease confirm\b|^(?:so,? |but )?if\b|\b(?:only )?after "
    r"(?:that|this) (?:was|is)|\b(?:let's|let me|i'll|i will|i need to) (?:also |now |first |just |quickly |double-)*"
    r"(?:check|look|see|verify|find|view|examine|read|search|try)\b",
    re.IGNORECASE,
)
"""Offers, conditions, and looks at something, which say nothing of what is left to do."""


def open_work(session: SessionFacts, cut: int) -> dict[str, list[Statement]]:
    """Each part of what is open, by the words with which it is asked for; nothing where the turn had ended."""
    if turn_has_ended(session.messages, cut):
        return {}
    found = {
        "todo": _todo_items(session, cut),
        "untested": _untested(session, cut),
        "uncommitted": _uncommitted(session, cut),
        "failing": _failing(session, cut),
        "step": _announced(session, cut),
    }
    found = {part: statements for part, statements in found.items() if statements}
    if found and (asked := _request(session, cut)):
        found["asked"] = asked
    return found


def turn_has_ended(messages: Sequence[Message], cut: int) -> bool:
    """Whether the agent had said its last word before the cut, and a person has to speak."""
    before, after = messages[cut - 1], messages[cut] if cut < len(messages) else None
    ended = before.role == "assistant" and not before.tool_calls and bool(before.text.strip())
    return (ended and after is None) or (after is not None and after.role == "user" and not agrees(after.text))


def _todo_items(session: SessionFacts, cut: int) -> list[Statement]:
    todo = session.todos(cut)
    if todo is None or not any(_LIST_TOOL.search(call.name) for call in session.messages[todo.seq].tool_calls):
        return []
    if any(todo.seq < (m.seq or 0) < cut and not agrees(m.text) for m in session.person):
        return []  # the person has asked for something else since
    coming = _ticked_next(session, todo.seq, cut)
    items = [item for item in todo.items if item.status != "done" and item.text not in coming]
    return [Statement("open_task", item.text, (todo.seq,), (item.text,)) for item in items[: 2 * MAX_ITEMS]]


def _ticked_next(session: SessionFacts, seq: int, cut: int) -> set[str]:
    """Items that the first calls behind the cut tick off: they were done before it."""
    for position in range(cut, min(cut + LOOKAHEAD, len(session.messages))):
        calls = session.messages[position].tool_calls
        if any(_LIST_TOOL.search(call.name) for call in calls):
            after = latest_todos(session.messages[: position + 2])
            return {item.text for item in (after.items if after else ()) if _is_done(item)}
        if calls:
            break
    return set()


def _is_done(item: Todo) -> bool:
    return item.status == "done"


def _untested(session: SessionFacts, cut: int) -> list[Statement]:
    """Code of the project that was changed after its tests were run last."""
    ran = [run.seq for run in session.runs if (run.result.seq or 0) < cut and is_test(run)]
    files = [f for f in net_files(session, (ran[-1] if ran else -1) + 1, cut) if f.verb != "deleted"]
    return [
        Statement(
            "untested_edit",
            f"{file.path} was {file.verb} and no tests were run since",
            tuple(dict.fromkeys(op.seq for op in file.changes)),
            details=file.names,
        )
        for file in files
        if _CODE.search(file.path) and not (file.verb == "created" and _is_scratch(file.path))
    ][-MAX_ITEMS:]


def _is_scratch(path: str) -> bool:
    """Whether a file was made to try something out: it is a test or called so, or lies beside the project's folders."""
    return "/" not in path or _SCRATCH.search(path) is not None


def _uncommitted(session: SessionFacts, cut: int) -> list[Statement]:
    """Files that differ from the last commit, in a session that commits."""
    commits = [seq for seq, command, _ in session.commands if seq < cut + LOOKAHEAD and COMMIT.search(command)]
    since = max((seq for seq in commits if seq < cut), default=-1)
    told = any(_COMMITTED.search(m.text) for m in session.person if since < (m.seq or 0) < cut)
    files = [f for f in net_files(session, 0, cut) if len(f.changes) > f.committed] if commits and not told else []
    return [
        Statement("open_task", f"{f.path} is {f.verb} and not committed", tuple(dict.fromkeys(op.seq for op in f.changes)))
        for f in files
    ] if len(files) <= 2 * MAX_ITEMS else []


def _failing(session: SessionFacts, cut: int) -> list[Statement]:
    """The tests that failed, or the error, in the last run of each command that nothing was changed after."""
    last = {cue_of(run): run for run in session.runs if cut - RUN_AGE <= run.seq and (run.result.seq or 0) < cut}
    newest = max((run.seq for run in last.values()), default=0)
    found: dict[str, Statement] = {}
    for cue, run in last.items():
        ran = any(seq > run.seq and seq < cut and session.may_test(seq, command) for seq, command, _ in session.commands)
        changed = any(op.verb != "examined" for seq in range(run.seq + 1, cut) for op in session.ops.get(seq, ()))
        if not run.failed or (changed and run.seq < newest):
            continue
        seq, reading = run.result.seq or 0, read_message(run.result)
        tests = [test for test, _ in reading.failing]
        for test in tests[:MAX_ITEMS]:
            found[test] = Statement("failing_test", f"{test} fails", (seq,), (), (test.split("::")[-1],))
        for error in run.errors if cue and not tests and not ran and len(run.errors) <= MAX_ERRORS else ():
            found[error] = Statement("failing_test", f"`{cue}` fails with: {error}", (seq,), (), (error,))
    return list(found.values())[:MAX_ITEMS]


def _announced(session: SessionFacts, cut: int) -> list[Statement]:
    """What the agent last said it would do and has not begun, if nobody has asked for something else since."""
    calls = 0
    for message in reversed(session.messages[max(0, cut - MAX_AGE) : cut]):
        if message.role == "user" and not agrees(message.text):
            return []
        if message.role != "assistant":
            continue
        calls += bool(message.tool_calls)
        said = [
            sentence
            for sentence in sentences(message.text.replace("’", "'"))
            if _STEP.search(sentence)
            and not _NO_STEP.search(sentence)
            and (calls == 0 or (calls == 1 and _LATER.search(sentence)))
            and not sentence.endswith((":", "?"))
            and len(terms(sentence)) >= 3
        ]
        if said:
            return [Statement("next_step", said[-1], (message.seq or 0,), (said[-1],))]
    return []


def _request(session: SessionFacts, cut: int) -> list[Statement]:
    """Every sentence of the last request that asks for something."""
    last = next((m for m in reversed(session.person) if (m.seq or 0) < cut and not agrees(m.text)), None)
    asked = requests(last.text) if last is not None else ()
    if last is None or not 0 < len(asked) <= MAX_ASKED or any(s.endswith("?") and not ASKS.search(s) for s in asked):
        return []
    return [Statement("request", shorten(sentence, 400), (last.seq or 0,), (sentence,)) for sentence in asked]
