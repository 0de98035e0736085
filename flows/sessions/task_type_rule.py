"""Finds the kind of work in a session, by a rule of weighted cues.

``CUES`` and ``DID`` are the whole rule; ``classify`` adds up their points. The words are English: a session in another
language is told by what was done in it. To change a cue, change its line; docs/task-types.md says how. Labels that come
before the rule are in ``task_labels``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, Protocol, get_args

from compaction import Transcript
from compaction.reading.file_effects import OpReader, ToolResults
from compaction.reading.file_paths import find_roots
from compaction.reading.prose import shorten
from compaction.reading.run_reports import test_totals
from compaction.reading.tool_calls import shell_command, tool_name
from compaction.reading.tool_output import error_lines
from compaction.transcript import ToolCall

TaskType = Literal["debugging", "review", "feature", "refactoring", "test", "data", "research", "other"]
TASK_TYPES: Final[tuple[TaskType, ...]] = get_args(TaskType)

PRIORITY: Final[tuple[TaskType, ...]] = (
    "review",
    "test",
    "data",
    "refactoring",
    "debugging",
    "research",
    "feature",
    "other",
)
"""Who wins a tie: the narrower kind of work, since the wider one's words (add, fix) are said in all of them."""

VERSION = 1
"""Raise it when a session gets another type: all logs are read again then."""

MIN_POINTS = 2.0
"""A session whose best type has fewer is ``other``."""


class TaskTyper(Protocol):
    """A function that names a session's type with a short reason; ``classify`` is one, a model may be another."""

    def __call__(self, transcript: Transcript, /) -> tuple[TaskType, str]:
        """The type of the session, and what decided."""


class TypeCue(NamedTuple):
    """Words of a person that speak for a type."""

    type: TaskType
    points: int
    pattern: re.Pattern[str]


def _cue(type: TaskType, points: int, pattern: str) -> TypeCue:
    return TypeCue(type, points, re.compile(pattern, re.IGNORECASE | re.MULTILINE))


DO = (
    r"(?:^[^\w\n]{0,8}|[.!?;:,]\s{1,3}|\b(?:please|to|and|then|also|just|now|let'?s|let me|help me|can (?:you|we|i)"
    r"|could (?:you|we)|would you|should|must|i want)\s{1,3})(?:(?:also|just|now|please|totally) )?"
)
"""What stands before a verb that asks for something: the start of a sentence, or a word such as please, to, and."""
GAP = r"(?:\W{1,3}\w+){0,4}?\W{1,3}"
"""Up to four words between two."""
CODE = r"(?:changes?|code|codebase|diff|prs?|pull requests?|branch|commits?|patch|implementation|repo\w*|files?)\b"
TABLES = r"(?:data|data ?sets?|data ?frames?|csvs?|parquet|spreadsheets?|tables?|records)\b"

CUES = (
    _cue("test", 8, rf"{DO}(?:add|write|create|make|extend|improve|update|implement)\b{GAP}tests?\b(?![-./\w])"),
    _cue("test", 3, r"\b(?:unit|integration|e2e|end-to-end|regression) tests?\b|\btest (?:coverage|case)s?\b"),
    _cue(
        "review",
        6,
        rf"\breview(?:s|ing)?\b{GAP}{CODE}|\b(?:code|pr|pull request|peer)[ -]review"
        rf"|\b(?:look|go) (?:at|over|through) (?:the|this|my|our|these) {CODE}",
    ),
    _cue(
        "review",
        5,
        r"\b(?:pr|review|reviewer'?s?) (?:feedback|comments?)\b|\bcode reviewer\b"
        r"|\baudit (?:the|our)\b",
    ),
    _cue("refactoring", 5, r"\brefactor\w*|\brestructur\w+|\buntangl\w+|\bde-?duplicat\w+|\bcode duplication\b"),
    _cue(
        "refactoring",
        4,
        rf"{DO}(?:rename|clean ?up|tidy|simplify|modulari[sz]e|extract|inline|move|split"
        r"|reorgani[sz]e|consolidate|standardi[sz]e|moderni[sz]e)\b",
    ),
    _cue("refactoring", 3, r"\b(?:dead|unused|duplicated?|legacy) (?:code|helpers?|functions?|imports?)\b"),
    _cue("debugging", 5, rf"{DO}(?:fix|debug|diagnose|troubleshoot|resolve)\b|\broot cause\b|\bwhat went wrong\b"),
    _cue(
        "debugging",
        4,
        r"\bbugs?\b|\bcrash\w*|\bbroken\b|\bregress(?:ed|ion)\b|\btraceback\b"
        r"|\bsegfault\w*|\bno longer (?:seems? to )?works?\b|\b(?:does|do|did|is|was)(?:n'?t| not)"
        r" (?:seem to )?work",
    ),
    _cue(
        "debugging",
        3,
        r"\b(?:errors?|exceptions?|fail(?:s|ed|ing|ures?)?|incorrect\w*|wrong\w*|misleading"
        r"|unexpected\w*|inconsisten\w+|breaks?|hangs?|ignores?|missing)\b",
    ),
    _cue("debugging", 3, r"\bto reproduce\b|\b(?:actual|expected|observed) (?:behaviou?r|results?|outputs?)\b"),
    _cue("debugging", 3, r"^<issue>$"),
    _cue("debugging", 2, r"\b(?:does|do|did|can|could|is|are|was|has)(?:n'?t| not)\b|\bcannot\b"),
    _cue("data", 6, rf"\b(?:analy[sz]e|plot|visuali[sz]e|clean|load|query|aggregate|chart)\b{GAP}{TABLES}"),
    _cue("data", 4, r"\b(?:pandas|polars|data ?frames?|jupyter|notebooks?|sql quer(?:y|ies)|data pipeline|etl)\b"),
    _cue("research", 5, rf"{DO}(?:research|compare|survey)\b|\bpros and cons\b|\bstate of the art\b"),
    _cue(
        "research",
        4,
        rf"{DO}(?:investigate whether|explore|explain|find out|look up|summari[sz]e|learn|study"
        r"|understand|analy[sz]e)\b",
    ),
    _cue("research", 8, r"^/(?:web|search|help)\b"),
    _cue(
        "research",
        3,
        r"(?:^(?:/ask )?|[.!?,]\s)(?:what|how|why|where|which|who|is there|are there|does|do)"
        r" [^?\n]{3,200}\?",
    ),
    _cue(
        "feature",
        4,
        rf"{DO}(?:add|implement|create|build|introduce|develop|port|integrate|design|initiali[sz]e"
        r"|scaffold|support|write|set ?up)\b",
    ),
    _cue(
        "feature",
        4,
        r"\bfeature requests?\b|\bnew features?\b|\bplease support\b|\bsupport for\b"
        r"|\b(?:would|it'?d) be (?:nice|great|useful|helpful)\b",
    ),
    _cue("feature", 2, rf"{DO}(?:make|change|use|update|enable|allow|let|show|print|pass|put|call|remove|set|do)\b"),
    _cue("other", 4, rf"{DO}(?:commit|push|merge|rebase|check ?out|deploy|publish|release)\b"),
)
"""Words in what a person asked. Each line counts once in the headline (title and first sentence) at full points, and
once in what follows (the rest of the first prompt, and the next three) at half."""


class Work(NamedTuple):
    """The work in a session, counted from its messages."""

    changed: frozenset[str] = frozenset()
    """Files created, edited, moved or deleted, but for those written only to reproduce or to check something."""
    created: frozenset[str] = frozenset()
    read: bool = False
    """A file was looked at, or a search or the web was used."""
    n_commands: int = 0
    n_foreign: int = 0
    """Calls that no shell, file, search, nor note of the agent explains: a service's tools."""
    n_queries: int = 0
    """SQL or data-frame code that ran."""
    tried: bool = False
    """A script was written only to reproduce, to debug or to check something."""
    failed_first: bool = False
    """A test run failed before the first edit, or a person pasted an error."""
    answers: bool = False
    shows_code: bool = False
    """An answer holds a code block."""
    shows_edits: bool = False
    """An answer holds an edit: a search-and-replace block or a diff."""

    def share(self, kind: re.Pattern[str]) -> float:
        """Share, 0 to 1, of the changed files whose path matches."""
        return sum(1 for path in self.changed if kind.search(path)) / max(len(self.changed), 1)

    @property
    def acted(self) -> bool:
        """A file, a command, a search or the web was used."""
        return bool(self.changed or self.read or self.n_commands)


TEST = re.compile(r"(?:^|/)(?:tests?|__tests__|specs?)/|(?:^|/)(?:test_[^/]*|conftest)\.py$|[._-](?:test|spec)s?\.\w+$")
DATA = re.compile(r"\.(?:ipynb|sql|csv|tsv|parquet|arrow|feather|xlsx)$", re.IGNORECASE)
PROSE = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$", re.IGNORECASE)

DID: tuple[tuple[TaskType, int, str, Callable[[Work], bool]], ...] = (
    ("other", 20, "only a service's tools were used", lambda w: w.n_foreign > 0 and not w.acted and not w.n_queries),
    ("other", 9, "only talk", lambda w: w.answers and not (w.acted or w.n_foreign or w.shows_code)),
    ("other", 4, "only prose was changed", lambda w: w.share(PROSE) == 1),
    ("test", 5, "only tests were changed", lambda w: w.share(TEST) == 1),
    ("test", 2, "mostly tests were changed", lambda w: 0.5 < w.share(TEST) < 1),
    ("data", 6, "mostly notebooks, queries or tables were changed", lambda w: w.share(DATA) >= 0.5),
    ("data", 5, "data was queried, no code changed", lambda w: w.n_queries > 1 and not w.changed),
    ("debugging", 3, "a test or a pasted run failed before the first edit", lambda w: w.failed_first),
    ("debugging", 2, "a script was written to reproduce it", lambda w: w.tried),
    ("research", 4, "files or pages were read, none changed", lambda w: w.read and not (w.changed or w.tried)),
    ("feature", 1, "more files were created than edited", lambda w: len(w.created) * 2 > len(w.changed)),
    ("feature", 1, "five or more files were changed", lambda w: len(w.changed) >= 5),
    ("feature", 2, "code was changed", lambda w: w.shows_edits or w.share(PROSE) + w.share(DATA) < bool(w.changed)),
)
"""Type, points, reason and condition of what the session did. Weaker than words, but where it was no coding at all."""


def classify(transcript: Transcript) -> tuple[TaskType, str]:
    """The type of a session by the rule, and the cue that gave it the most points.

    Deterministic, in time linear in the session; knows English words only.
    """
    points: dict[TaskType, float] = dict.fromkeys(PRIORITY, 0.0)
    best: dict[TaskType, tuple[float, str]] = {}
    for type, count, reason in _evidence(transcript):
        points[type] += count
        if count > best.get(type, (0.0, ""))[0]:
            best[type] = count, reason
    winner = max(PRIORITY, key=points.__getitem__)
    if points[winner] < MIN_POINTS:
        return "other", "no cue"
    return winner, best[winner][1]


def _evidence(transcript: Transcript) -> Iterator[tuple[TaskType, float, str]]:
    requests = _requests(transcript)
    sentences = _SENTENCE_END.split(requests[0]) if requests else []
    at = next((i for i, sentence in enumerate(sentences) if len(sentence.split()) > 2), 0)
    title = _clean(transcript.title or "")
    marks = ["<issue>"] if "<issue>" in sentences else []
    headline = "\n".join(text[:HEADLINE] for text in [title, *sentences[: at + 1], *marks])
    rest = "\n".join([" ".join(sentences[at + 1 :]), *(request[:LATER] for request in requests[1:])])
    for cue in CUES:
        for text, share in ((headline, 1.0), (rest, 0.5)):
            found = cue.pattern.search(text)
            if found:
                yield cue.type, cue.points * share, f"asked: {shorten(found[0].strip(' .,:;!?'), 60)}"
    work = _work(transcript)
    for type, count, reason, holds in DID:
        if holds(work):
            yield type, count, f"did: {reason}"


MAX_REQUEST = 50_000
"""Characters of a prompt that are looked at at all."""
HEADLINE, FIRST, LATER = 300, 2000, 500
"""Characters that count of the first sentence, of the first prompt without what was injected, and of a later one."""
N_REQUESTS = 4

_INJECTED = (
    "# AGENTS.md",
    "Base directory for this skill",
    "Caveat: The messages below",
    "[Request interrupted",
    "Current runtime context",
    "This session is being continued",
    "Please always provide",
    "EXECUTION RESULT of",
    "System: ",
    "OBSERVATION:",
)
"""How prompts begin that a harness wrote."""
_ISSUE = re.compile(
    r"<(issue_description|pr_description|issue)>(.*?)(?:</\1>|\Z)|^ISSUE:(.*?)(?:^INSTRUCTIONS:|\Z)",
    re.DOTALL | re.MULTILINE,
)
_NOISE = re.compile(
    r"```.*?(?:```|\Z)|<!--.*?(?:-->|\Z)|START OF EXAMPLE.*?(?:END OF EXAMPLE|\Z)"
    r"|<(system-reminder|system_notification|environment_context|instructions|user_instructions|session_context"
    r"|state_snapshot|command-message|command-contents|local-command-\w+|task-notification|available_skills"
    r"|uploaded_files|response_example)\b[^<>]*>.*?(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_NOISE_LINES = re.compile(
    r"^(?:[+\-](?!\s)|@@ |[>|!]|diff --git|/(?:add|drop|diff|undo|clear|exit?|quit|tok\w*|mode\w*|ls|run|commit|git"
    r"|read-only)\b).*$|^Consider the following \w+ description:|</?command-name>",
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")


def _requests(transcript: Transcript) -> list[str]:
    """The first prompts that a person wrote, without what stands in them that no person wrote for this session."""
    found: list[str] = []
    prompts = (message.text for message in transcript.messages if message.role == "user")
    for text, _ in zip(prompts, range(20), strict=False):
        cleaned = _clean(text[:MAX_REQUEST])
        if cleaned and not cleaned.startswith(_INJECTED):
            found.append(cleaned)
        if len(found) == N_REQUESTS:
            break
    return found


def _clean(text: str) -> str:
    if text.startswith(_INJECTED):
        return ""
    issue = _ISSUE.search(text)
    plain = _NOISE.sub("\n", (issue[2] or issue[3] or "") if issue else text)
    plain = _NOISE_LINES.sub("", plain).strip()[:FIRST]
    return f"{plain}\n<issue>" if issue else plain


_LOOKUP = re.compile(
    r"web_?(?:search|fetch|browse\w*)|fetch|browse\w*|grep|glob|ls|list_(?:dir\w*|files)|find_files?"
    r"|search_(?:files?|dir|code)|\w*search|\w*wiki"
)
_NOTES = re.compile(
    r"todo|task|think|plan|finish|submit|skill|goal|ask|topic|agent|update_|exit|enter|tool|write_stdin"
)
_QUERY = re.compile(
    r"\bselect\b[^;]{1,300}?\bfrom\b|\bp[dl]\.read_\w+|\bimport (?:pandas|polars|duckdb|sqlite3)\b|\b(?:psql|duckdb) ",
    re.IGNORECASE,
)
_TRIAL = re.compile(r"(?:^|/)(?:repro\w*|debug\w*|check_\w+|verify_\w+|test_(?:fix|issue|simple)\w*)\.\w+$")
_EDIT = re.compile(r"^<{5,9} SEARCH|^```diff$|^diff --git ", re.MULTILINE)
MAX_OUTPUT = 20_000
"""Characters from the end of an output that are searched for a test run's totals."""


def _work(transcript: Transcript) -> Work:
    messages = transcript.messages
    results = ToolResults(messages)
    reader = OpReader(find_roots(messages, transcript.cwd), remembers=False)
    changed: set[str] = set()
    created: set[str] = set()
    read = failed = answers = code = edits = tried = False
    n_commands = n_foreign = n_queries = 0
    for message in messages:
        if message.role == "tool" and not changed and not failed:
            failed = (test_totals(message.text[-MAX_OUTPUT:]) or (0, 0))[1] > 0
        elif message.role == "assistant":
            answers = answers or bool(message.text.strip())
            code = code or "```" in message.text
            edits = edits or bool(_EDIT.search(message.text))
        for op in reader.read(message, results.is_error, results.text) if message.tool_calls else ():
            read = read or op.verb == "examined"
            if op.verb != "examined" and _TRIAL.search(op.path):
                tried = True
            elif op.verb != "examined" and not op.scratch:
                changed.add(op.path)
                created.update([op.path] if op.verb == "created" else ())
        for kind, is_query in map(_kind, message.tool_calls):
            n_commands += kind == "command"
            n_foreign += kind == "foreign"
            n_queries += is_query
            read = read or kind == "lookup"
    prompt = next((message.text for message in messages if message.role == "user"), "")
    return Work(
        changed=frozenset(changed),
        created=frozenset(created),
        read=read,
        n_commands=n_commands,
        n_foreign=n_foreign,
        n_queries=n_queries,
        tried=tried,
        failed_first=failed or bool(error_lines(prompt[:MAX_OUTPUT])),
        answers=answers,
        shows_code=code or edits,
        shows_edits=edits,
    )


def _kind(call: ToolCall) -> tuple[Literal["command", "lookup", "file", "note", "foreign"], bool]:
    """The kind of a call, and whether it queries data."""
    arguments = call.parsed()
    name = tool_name(call).lower()
    is_query = bool(_QUERY.search(call.arguments[:MAX_OUTPUT]))
    if _LOOKUP.fullmatch(name):
        return "lookup", is_query
    if any(key in arguments for key in ("path", "file_path", "filePath", "filename", "notebook_path", "absolute_path")):
        return "file", is_query
    if shell_command(call, arguments) is not None or "code" in arguments:
        return "command", is_query
    return ("note" if _NOTES.search(name) else "foreign"), is_query
