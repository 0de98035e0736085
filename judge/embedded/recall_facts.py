"""Single facts of a session that can be asked for at a point; each question has one true answer there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compaction.measures.needs import Need
from compaction.measures.said import is_code_name
from compaction.points import LOOKAHEAD
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences, specific_terms, terms
from compaction.reading.run_reports import without_colours
from compaction.reading.shell.effects import only_reads
from judge.embedded.facts import MIN_TERMS, Candidate, Run, SessionFacts, cue_of, is_test
from judge.embedded.own_words import issue_title, own_words
from judge.probe import Statement, StatementKind

MAX_LINE = 200
"""Characters of a line that is asked for."""

RECENT = 50
"""Messages in which a failure that was never looked at again still counts."""

MAX_TYPED = 1500
"""Characters of a message that somebody may have typed."""

SLIP = 6
"""Messages within which a failure is mended that nobody has to know of."""

GAP = "____"

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|static|async|abstract|pub(?:\(\w+\))?|final|override|inline|virtual)"
    r"\s+)*"
)
_DEFINES = (
    r"(?:def|class|func(?:\s+\([^)]*\))?|function|fn|interface|type|struct|enum|trait|const|let|var|val)\s+{name}(?!\w)"
)
_PLACE = re.compile(r"^(?:([\w@./-]+?\.\w{1,8}):)?(?:\s*\d+\s*(?:[:→|\t-]|\s(?=\s*\S)))?\s*")
"""What stands before a line in a listing with line numbers, or in the hits of a search."""

_FOUND = re.compile(
    r"^(\S+?\.\w{1,8})[:-]\d+[:-]\s*" + _MODIFIERS + r"(?:def|class|func(?:\s+\([^)]*\))?|function|fn|interface|struct|enum|trait)\s+(\w+)",
    re.MULTILINE,
)
"""A definition among the hits of a search."""

_REPORTED = re.compile(
    r"(?:^|[;&|\n]\s*)(?:\S*/)?[\w.-]+ +(?:--version|-V|version)\b|\bpip3? +(?:install|show)\b|__version__|"
    r"\bnpm +(?:install|i|view)\b|\b(?:uv|poetry|yarn|pnpm|cargo|go|gem|bun) +(?:add|get|install)\b"
)
"""Commands that install something or report what is installed."""

_BRANCH = re.compile(r"\bgit (?:checkout -[bB]|switch -[cC]) +[\"']?([\w./#-]+)")
_COMMITTED = re.compile(r"^\[([\w./#-]+) (?:\(root-commit\) )?([0-9a-f]{7,40})\] ", re.MULTILINE)
_PULL = re.compile(r"https://\S+/pull/\d+")
GIT_QUESTIONS = {
    "branch": ("the work is on the branch", "On which branch was work committed or begun the last time?"),
    "commit": ("the last commit is", "Which hash did the last `git commit` of the session report?"),
    "pull": ("the pull request is", "Under which address was the last pull request opened?"),
}
_ASKS_ONLY = re.compile(r" (?:--help|-h|--version|--collect-only|--co)\b")
_RANGE = re.compile(r"[\^~<>=*x]")
_CAUSE = re.compile(
    r"\b(?:root cause|the (?:problem|issue|bug|cause|culprit|failure) (?:is|was)|turns out|caused by|"
    r"(?:fails|failed|happens|breaks) because)\b",
    re.IGNORECASE,
)
_GUESS = re.compile(r"\b(?:maybe|perhaps|might|may be|could be|probably|seems?|appears?|i think|not sure|likely|let me|whether)\b|\?", re.I)
_VALUE = re.compile(r"https?://[^\s)>\]\"'`]+\w|#\d{2,6}\b|\b\d[\d.,]*\d?\s?(?:%|ms|[KMG]i?B|px|tokens?|seconds?|minutes?|hours?|days?)(?!\w)|`[^`\n]{3,60}`|\bv?\d+\.\d+\.\d+\b")


def recall_facts(session: SessionFacts, cut: int) -> list[Candidate]:
    """All that can be asked for at a point."""
    runs = [run for run in session.runs if (run.result.seq or 0) < cut]
    later = [run for run in session.runs if cut <= run.seq < cut + LOOKAHEAD]
    return [
        *_needed(session, cut),
        *_errors(session, runs, cut),
        *_totals(session, runs, cut),
        *_commands(session, runs, later, cut),
        *_versions(session, cut),
        *_git(session, cut),
        *_values(session, cut),
        *_findings(session, runs, cut),
    ]


def _exact(
    session: SessionFacts, kind: StatementKind, text: str, exact: tuple[str, ...], cut: int, **more: object
) -> Statement:
    """A statement whose words have to stand to the letter, proved by every message that has them."""
    return Statement(kind, text, session.holders(exact, cut)[-20:], (), exact, **more)  # type: ignore[arg-type]


def _needed(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Definitions and ids that the session had seen and uses again, without having looked at them once more."""
    for need in session.needs.at(cut):
        if need.needed_at >= cut + LOOKAHEAD:
            continue
        if need.kind == "quote":
            yield from _line(session, need, cut)
        elif need.kind == "identifier" and "/" in need.value and not need.value.startswith("http"):
            yield from _location(session, need, cut)
        elif need.kind != "identifier" or not _works_with(session, need):
            continue
        elif is_code_name(need.value):
            yield from _definition(session, need, cut)
        else:
            yield from _id(session, need, cut)


def _works_with(session: SessionFacts, need: Need) -> bool:
    """Whether the message that needs a name writes it or runs something with it; a search or a look fetches it anew."""
    if any(need.value in edit.new or need.value in edit.old for edit in session.edits(need.needed_at)):
        return True
    commands = [command for _, command, _ in session.commands_at(need.needed_at) if need.value in command]
    return any(not only_reads(command) for command in commands)


def _definition(session: SessionFacts, need: Need, cut: int) -> Iterator[Candidate]:
    name = need.value
    defines = re.compile(_MODIFIERS + _DEFINES.format(name=re.escape(name)))
    found: dict[str, set[str]] = {}
    for seq in sorted(need.holders):
        message = session.messages[seq]
        if message.role != "tool":
            continue
        for raw in message.text.split("\n"):
            if name not in raw or len(raw) > MAX_LINE:
                continue
            place = _PLACE.match(raw)
            line = raw[place.end() if place else 0 :].strip()
            if defines.match(line):
                path = place[1] if place and place[1] else _shown_file(session, message.tool_call_id)
                found.setdefault(line, set()).add(session.roots.name(path)[0] if path else "")
    if len(found) != 1:
        return
    (line, paths), = found.items()
    paths -= {""}
    if len(paths) != 1 or line.endswith(("(", ",", "[", "\\")) or len(set(terms(line)) - {name.lower()}) < MIN_TERMS:
        return
    path = paths.pop()
    statement = _exact(session, "value", f"`{name}` is defined in {path} as `{line}`", (line,), cut, needed_at=need.needed_at)
    yield Candidate("definition", f"How does the line of {path} read in which `{name}` is defined?", line, (statement,))


def _location(session: SessionFacts, need: Need, cut: int) -> Iterator[Candidate]:
    """The file in which a search had found a definition, and which the session opens or changes next."""
    places: dict[str, set[str]] = {}
    for seq in sorted(need.holders):
        if session.messages[seq].role == "tool":
            for path, name in _FOUND.findall(session.messages[seq].text):
                places.setdefault(name, set()).add(session.roots.name(path)[0])
    for name, paths in places.items():
        told = any(session.messages[seq].role == "assistant" for seq in session.holders((name,), cut))
        if paths == {need.value} and is_code_name(name) and told:
            statement = _exact(
                session, "value", f"`{name}` is defined in {need.value}", (need.value,), cut, needed_at=need.needed_at
            )
            yield Candidate("location", f"In which file is `{name}` defined?", need.value, (statement,))
            return


def _line(session: SessionFacts, need: Need, cut: int) -> Iterator[Candidate]:
    """A line that the session had seen in a file and changes next without having looked at it again."""
    path = next((edit.path for edit in session.edits(need.needed_at) if need.value in edit.old), "")
    words = need.value.split(" ")
    beginning = " ".join(words[: max(1, len(words) * 2 // 5)])
    rest = set(terms(need.value[len(beginning) :])) - set(terms(beginning))
    own = session.messages[min(need.holders, default=0)].role != "tool"
    if own or not path or path.startswith("/") or len(need.value) > MAX_LINE or len(beginning) < 6 or len(rest) <= MIN_TERMS:
        return
    same = {
        line
        for seq in need.holders
        for line in re.findall(re.escape(beginning) + r"[^\n]*", session.needs.text(seq))
    }
    if len(same) == 1:
        statement = _exact(session, "value", f"{path}: {need.value}", (need.value,), cut, needed_at=need.needed_at)
        question = f"How does the line of {path} read that begins with `{beginning}`?"
        yield Candidate("line", question, need.value, (statement,))


def _shown_file(session: SessionFacts, call_id: str | None) -> str:
    """The file that a call looked at, if it was one."""
    for op in session.ops_of(call_id):
        if op.verb == "examined":
            return op.path
    return ""


def _id(session: SessionFacts, need: Need, cut: int) -> Iterator[Candidate]:
    """A number, hash or address, asked for by the line in which a call reported it."""
    result = session.messages[need.observation]
    call = session.command_of(result.tool_call_id)
    lines = [line.strip() for line in without_colours(result.text).split("\n") if need.value in line]
    if not call or "\n" in call or not lines or len(lines[0]) > MAX_LINE or lines[0].count(need.value) != 1:
        return
    around = lines[0].replace(need.value, GAP)
    if len(terms(around)) < 3 or lines[0].count(",") > 6:
        return
    statement = _exact(session, "value", lines[0], (need.value,), cut, needed_at=need.needed_at)
    question = f"The command `{call[:160]}` reported the line `{around}`. What stands in the place of {GAP}?"
    yield Candidate("id", question, need.value, (statement,))


def _errors(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """The error of a run that failed last, where it was no slip of the agent's own."""
    last: dict[str, int] = {cue_of(run): n for n, run in enumerate(runs) if run.failed}
    for cue, n in last.items():
        run = runs[n]
        line = run.error
        if len(cue) < 6 or len(terms(line)) < 3 or not _matters(session, runs, n, cut):
            continue
        foils = tuple(dict.fromkeys(r.error for r in runs[:n] if cue_of(r) == cue and r.error not in ("", line)))
        statement = _exact(session, "error", f"`{cue}` failed with: {line}", (line,), cut, foils=foils[-3:])
        question = f"Which error did `{cue}` give when it failed the last time?"
        yield Candidate("error", question, line, (statement,))


def _matters(session: SessionFacts, runs: list[Run], n: int, cut: int) -> bool:
    """Whether a failure came again, was mended by a change of the project, or is the newest and still stands."""
    run = runs[n]
    again = [r for r in runs[n + 1 :] if cue_of(r) == cue_of(run)]
    if re.match(r"(?:E\s+)?(?:Syntax|Indentation|Tab)Error", run.error):
        return False
    if sum(session.messages[seq].role == "tool" for seq in session.holders((run.error,), cut)) > 1:
        return True
    until = again[0].seq if again else cut
    if again and again[0].error != run.error and until - run.seq <= SLIP:
        return False
    if not again and (run.seq < cut - RECENT or any(_same_program(r, run) and not r.failed for r in runs[n + 1 :])):
        return False
    made = session.ledger(cut).created
    edited = [op for seq in range(run.seq + 1, until) for op in session.ops.get(seq, ()) if op.verb == "modified"]
    return any(op.path not in made and not op.scratch for op in edited)


def _same_program(run: Run, other: Run) -> bool:
    return run.name.split()[0] == other.name.split()[0]


def _totals(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """What the last run of a command counted."""
    by_cue: dict[str, list[Run]] = {}
    for run in runs:
        if read_message(run.result).totals and cue_of(run):
            by_cue.setdefault(cue_of(run), []).append(run)
    for cue, same in by_cue.items():
        passed, failed = read_message(same[-1].result).totals or (0, 0)
        exact = _total_words(same[-1], passed, failed)
        if passed + failed < 2 or not exact:
            continue
        earlier = dict.fromkeys(read_message(r.result).totals for r in same[:-1])
        foils = tuple(f"{t[0]} passed, {t[1]} failed" for t in earlier if t and t != (passed, failed))
        truth = f"{passed} passed, {failed} failed"
        statement = _exact(session, "total", f"`{cue}`: {truth}", exact, cut, foils=foils[-3:])
        question = f"How many tests passed and how many failed when `{cue}` was run the last time?"
        yield Candidate("total", question, truth, (statement,))


def _total_words(run: Run, passed: int, failed: int) -> tuple[str, ...]:
    """Words of the report that give the totals, on one line."""
    for line in reversed(without_colours(run.result.text).splitlines()):
        found = [re.search(rf"(?<![\w.]){n} (?:{word})\b|\b{word}:? {n}\b", line) for n, word in ((passed, "passed|pass"), (failed, "failed|fail")) if n]
        if found and all(found):
            return tuple(match[0] for match in found if match)
        if not failed and re.match(rf"Ran {passed} tests? in ", line):
            return (f"Ran {passed} test",) if passed == 1 else (f"Ran {passed} tests",)
    return ()


def _commands(session: SessionFacts, runs: list[Run], later: list[Run], cut: int) -> Iterator[Candidate]:
    """The command line that a program was last run with, where the session goes on to run it so again; and the one with
    which it ran at last after it had failed."""
    tests = [
        run
        for run in runs
        if is_test(run)
        and run.name in run.command
        and len(set(terms(run.name))) > MIN_TERMS
        and not _ASKS_ONLY.search(run.name)
        and (read_message(run.result).totals or not run.failed)
    ]
    if tests and len(tests[-1].name) <= MAX_LINE:
        name = tests[-1].name
        needed = next((run.seq for run in later if run.name == name), None)
        statement = _exact(session, "command", name, (name,), cut, needed_at=needed)
        yield Candidate("command", "With which exact command line were tests run the last time?", name, (statement,))
    coming: dict[str, int] = {}
    for run in later:
        coming.setdefault(run.name, run.seq)
    newest = {run.name.split()[0]: n for n, run in enumerate(runs)}
    for program, n in newest.items():
        run = runs[n]
        before = [r for r in runs[:n] if r.name.split()[0] == program]
        worked = len(before) > 0 and all(r.failed for r in before) and not run.failed and before[-1].name != run.name
        short = program.rsplit("/", 1)[-1]
        if not (worked or run.name in coming) or _ASKS_ONLY.search(run.name) or len(set(terms(run.name)) - {short.lower()}) <= MIN_TERMS:
            continue
        if run.name not in run.command or len(run.name) > MAX_LINE:
            continue
        statement = _exact(session, "command", run.name, (run.name,), cut, needed_at=coming.get(run.name))
        question = f"With which exact command line was `{short}` run the last time?"
        yield Candidate("command", question, run.name, (statement,))


def _versions(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Versions for which a command asked by name, or that it installed."""
    found: dict[str, list[str]] = {}
    for _, command, result in session.commands:
        if result is None or (result.seq or 0) >= cut or not _REPORTED.search(command):
            continue
        for name, version in read_message(result).versions[:40]:
            named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", command, re.IGNORECASE)
            if named and "." in version and len(name) > 2 and not _RANGE.search(version):
                found.setdefault(name, []).append(version)
    for name, versions in found.items():
        foils = tuple(dict.fromkeys(v for v in versions if v != versions[-1]))
        statement = _exact(session, "version", f"{name} {versions[-1]}", (versions[-1],), cut, foils=foils)
        yield Candidate("version", f"Which version of `{name}` is installed?", versions[-1], (statement,))


def _git(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """The last commit, the branch of the work, and the pull request, as calls reported them."""
    found: dict[str, list[str]] = {}
    for _, command, result in session.commands:
        if result is None or (result.seq or 0) >= cut or result.is_error or "git" not in command and "gh " not in command:
            continue
        for branch in _BRANCH.findall(command):
            found.setdefault("branch", []).append(branch)
        for branch, commit in _COMMITTED.findall(result.text) if "git commit" in command else ():
            found.setdefault("commit", []).append(commit)
            found.setdefault("branch", []).append(branch)
        for address in _PULL.findall(result.text) if "pr create" in command else ():
            found.setdefault("pull", []).append(address)
    for kind, values in found.items():
        foils = tuple(dict.fromkeys(value for value in values[:-1] if value != values[-1]))
        if len(values[-1]) > 4:
            text = f"{GIT_QUESTIONS[kind][0]} {values[-1]}"
            statement = _exact(session, "value", text, (values[-1],), cut, foils=foils[-3:])
            yield Candidate(kind, GIT_QUESTIONS[kind][1], values[-1], (statement,))


def _values(session: SessionFacts, cut: int) -> Iterator[Candidate]:
    """Numbers, addresses and names that the person gave and the agent went on to use."""
    for message in session.person:
        seq = message.seq or 0
        if seq >= cut:
            break
        said = own_words(message.text)
        if len(said) > MAX_TYPED or issue_title(message.text):
            continue
        for sentence in sentences(said):
            values = dict.fromkeys(match[0].strip("`") for match in _VALUE.finditer(sentence))
            for value in values:
                around = sentence.replace(value, GAP)
                after = range(cut, min(cut + LOOKAHEAD, len(session.messages)))
                needed = next((n for n in after if session.uses(n, value)), None)
                if needed is None or not specific_terms(value) or len(sentence) > 300 or sentence.count(value) != 1 or len(terms(around)) < 4:
                    continue
                statement = _exact(session, "value", sentence, (value,), cut, needed_at=needed)
                question = f"The person wrote: “{around}” What stands in the place of {GAP}?"
                yield Candidate("given", question, value, (statement,))


def _findings(session: SessionFacts, runs: list[Run], cut: int) -> Iterator[Candidate]:
    """The cause that the agent stated last before it changed a file with which a failing command passed."""
    for n, run in enumerate(runs):
        cue = cue_of(run)
        after = next((r for r in runs[n + 1 :] if cue_of(r) == cue), None)
        if not cue or not run.failed or after is None or after.failed:
            continue
        edits = [seq for seq in range(run.seq, after.seq) if any(op.verb == "modified" for op in session.ops.get(seq, ()))]
        said = [
            (seq, sentence)
            for seq in range(run.seq + 1, edits[-1] + 1 if edits else 0)
            if session.messages[seq].role == "assistant"
            for sentence in sentences(session.messages[seq].text)
            if _CAUSE.search(sentence) and not _GUESS.search(sentence) and specific_terms(sentence) and len(sentence) < 400
            and not sentence.endswith(":")
        ]
        if said:
            seq, sentence = said[-1]
            statement = Statement("finding", sentence, (seq,), (sentence,))
            question = f"What was found to be the cause of the failure of `{cue}` that was mended since?"
            yield Candidate("finding", question, sentence, (statement,))
