"""Single facts of a session that can be asked for: errors, commands, versions, results, requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from compaction.reading.call_outcomes import exit_code
from compaction.reading.message_facts import read_message
from compaction.reading.prose import sentences, shorten
from compaction.reading.shell.effects import only_reads, program_runs
from compaction.reading.tool_output import ErrorLine
from compaction.transcript import Message
from judge.embedded.cues import topic
from judge.embedded.facts import FactCandidate, SessionFacts, cue_of, make_fact
from judge.embedded.own_words import asked_for, own_words, requests
from judge.statement import Statement

MIN_REQUEST_TERMS = 3
"""Terms of a request that its question must not hold."""

MAX_REQUEST = 400
"""Characters; a longer sentence is a pasted text."""

_REPORTED = re.compile(
    r"(?:^|[;&|\n]\s*)(?:\S*/)?[\w.-]+ +(?:--version|-V|-v|version)\b|\bpip3? +(?:install|show|list|freeze)\b|"
    r"\bnpm +(?:ls|list|install|i|view)\b|\b(?:uv|poetry|yarn|pnpm|cargo|go|gem|bun) +(?:add|get|install|pip|list|"
    r"show)\b|"
    r"pytest|tox|nox|\bgo test\b|__version__"
)
"""Commands that install something or report what is installed."""

_RANGE = re.compile(r"[\^~<>=*x]")


def recall_facts(session: SessionFacts) -> list[FactCandidate]:
    """All of them in the order of the session; each is asked about at its first occurrence."""
    found = [*_errors(session), *_commands(session), *_versions(session), *_results(session), *_requests(session)]
    return sorted(found, key=lambda candidate: candidate.seq)


def _errors(session: SessionFacts) -> Iterator[FactCandidate]:
    """The error of each command that failed, at its first failure."""
    seen: set[str] = set()
    for _, command, result in session.calls():
        cue = cue_of(command)
        if result is None or cue in seen or len(cue) < 6 or only_reads(command) or _is_cut_off(cue, command):
            continue
        error = error_of(result)
        if error is None:
            continue
        seen.add(cue)
        if make_fact("error", error.line, result, without=cue) is not None:
            line = shorten(error.line, 400)
            fact = Statement("error", line, (result.seq or 0,), exact=(line,))
            yield FactCandidate("error", result.seq or 0, cue, (fact,), error.line)


def error_of(result: Message) -> ErrorLine | None:
    """The error with which a command failed; None when it did not fail, or printed somebody else's errors.

    A command failed when the log or its exit status says so, when its test run counts failures, or, where the harness
    reports no status, when its output ends with the error.
    """
    reading = read_message(result)
    if not reading.errors:
        return None
    code = exit_code(result.text)
    failed = result.is_error or code not in (0, None) or (reading.totals is not None and reading.totals[1] > 0)
    if not failed and code is None:
        lines = [line.strip() for line in result.text.rstrip().splitlines()[-2:]]
        failed = any(line.startswith(error.line[:200]) for line in lines for error in reading.errors[-1:])
    if not failed:
        return None
    # Of a chain of errors the last of a kind that names a cause: the first may be a warning on the way.
    whole = [error for error in reading.errors if not error.line.endswith(("...", "…"))] or reading.errors
    own = [error for error in whole if error.kind != "test" or error.line.startswith("E ")] or whole
    return own[-1] if own[-1].kind == "exception" else own[0]


def _is_cut_off(cue: str, command: str) -> bool:
    """Whether a command goes on after its first line inside of a quote or a here-document."""
    return "\n" in command and ("<<" in cue or cue.count('"') % 2 == 1 or cue.count("'") % 2 == 1)


def _commands(session: SessionFacts) -> Iterator[FactCandidate]:
    """The first command line of each program that tests, builds or runs something."""
    seen: set[str] = set()
    for message, command, _ in session.calls():
        for run in program_runs(command):
            program = run.split()[0].rsplit("/", 1)[-1]
            if program in seen:
                continue
            seen.add(program)
            if make_fact("command", run, message, without=program) is not None and run in command:
                fact = Statement("command", run, (message.seq or 0,), exact=(run,))
                yield FactCandidate("command", message.seq or 0, program, (fact,), run)


def _versions(session: SessionFacts) -> Iterator[FactCandidate]:
    """Versions that were installed or reported; a range that a manifest asks for is none."""
    seen: set[str] = set()
    for _, command, result in session.calls():
        if result is None or not _REPORTED.search(command):
            continue
        for name, version in read_message(result).versions[:40]:
            low = name.lower()
            if low in seen or "." not in version or len(name) < 3 or _RANGE.search(version):
                continue
            seen.add(low)
            fact = Statement("version", f"{name} {version}", (result.seq or 0,), exact=(name, version))
            yield FactCandidate("version", result.seq or 0, name, (fact,), version)


def _results(session: SessionFacts) -> Iterator[FactCandidate]:
    """What the first test run of each command line counted."""
    seen: set[str] = set()
    for _, command, result in session.calls():
        cue = cue_of(command)
        totals = read_message(result).totals if result is not None else None
        if result is None or totals is None or cue in seen or sum(totals) < 2 or _is_cut_off(cue, command):
            continue
        seen.add(cue)
        passed, failed = totals
        line = next(
            (
                line.strip()
                for line in reversed(result.text.splitlines())
                if re.search(rf"\b{passed}\b", line) and (not failed or re.search(rf"\b{failed}\b", line))
            ),
            "",
        )
        if line:
            value = f"{passed} passed, {failed} failed"
            counts = (f"{passed} passed", f"{failed} failed") if failed else (f"{passed} passed",)
            fact = Statement("total", value, (result.seq or 0,), (line,), counts)
            yield FactCandidate("value", result.seq or 0, cue, (fact,), line)


def _requests(session: SessionFacts) -> Iterator[FactCandidate]:
    """What the person asked for first, and every later request that a name in it singles out."""
    asked = [(m, s) for m in session.person for s in requests(m.text) if len(s) <= MAX_REQUEST]
    pool = {sentence.lower() for m in session.person for sentence in sentences(own_words(m.text))}
    for message, sentences_of in groupby(asked, key=lambda pair: pair[0]):
        said = [sentence for _, sentence in sentences_of]
        if message is asked[0][0]:
            sentence = asked_for(message.text)
            fact = make_fact("request", sentence, message, least=MIN_REQUEST_TERMS + 1)
            if fact is not None:
                yield FactCandidate("request", message.seq or 0, "", (fact,), sentence)
            continue
        for sentence in said:
            named = topic(sentence, pool)
            cue = " ".join(named)
            fact = make_fact("request", sentence, message, cue, MIN_REQUEST_TERMS) if named else None
            if fact is not None and not session.is_repeated(sentence):
                yield FactCandidate("request", message.seq or 0, "` and `".join(named), (fact,), sentence)
