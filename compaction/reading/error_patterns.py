"""Patterns of error lines, and of lines that only look like errors: the tables behind ``tool_output.error_lines``.

Every pattern is matched at the start of a line without its indentation, and never more than 2,000 characters of it.
"""

from __future__ import annotations

import re
from typing import Literal

ErrorKind = Literal["exception", "compiler", "test", "shell", "git", "package", "http", "program"]

TRACEBACK = "Traceback (most recent call last)"

HINTS = (
    "rror",
    "ERR",
    "FAIL",
    "fatal:",
    "xception",
    "panic",
    "not found",
    "No such",
    "denied",
    "No module",
    "CONFLICT",
    "not ok ",
    "HTTP/",
    "T /",
    "DELETE /",
    "PATCH /",
    "nauthorized",
    "orbidden",
    "Not Found",
    "Bad Gateway",
    ".go:",
    "zsh:",
    "(eval)",
    "Segmentation",
    "Interrupt",
    "a directory",
    "FATAL",
    "*** ",
    ": F",
    ": E",
)
"""One of these is in every line that a pattern can match."""

NUMBERED = re.compile(r"\s{0,8}\d{1,7}\s*(?:→|\t|\||:(?!\d)|-(?!\d))|\s{0,8}\d{1,7} {2,}(?!error\b)")
"""A line of a file shown with line numbers."""

CODE_END = re.compile(r"(?:[{;,(\[]|=>|\\n['\"`]?\)?;?)\s*$")
CODE_WORD = re.compile(
    r"^(?:\*|//|#(?!\d)|\+|raise |throw |except |catch|return |if |assert |const |let |var |func |def |class |import "
    r"|from |print\(|console\.|✓|✔|√|ok \d|PASS\b)"
)
SEARCH_HIT = re.compile(
    r"[\w./@+-]+\.\w{1,8}[:-]\d+[:-](?!\d+(?:[:)]| +(?:- )?error))(?!\s*(?:fatal )?(?:error|Error|\w+Error)\b)"
)
"""``file:line:text`` as grep prints it; the line of a compiler continues with a column or the word error."""

INDENTED = re.compile(r"--- FAIL: \S+|not ok \d+|\d+:\d+\s+error\s+\S")
STACK_EXCEPTION = re.compile(r"\s+(?:Uncaught )?[A-Za-z_$][\w$.]*(?:Error|Exception)(?: \[\w+\])?: \S")
END_OF_TRACEBACK = re.compile(r"[A-Za-z_][\w.]*(?::\s|$)")
LOG_HTTP = re.compile(r"\"(?:GET|POST|PUT|PATCH|DELETE) \S{1,300} HTTP/[\d.]+\" [45]\d\d\b")

_GO_MESSAGES = (
    r"undefined: |cannot use |(?:\S+ )?declared and not used|(?:\S+ )?imported and not used|syntax error|expected "
    r"|missing return|not enough arguments|too many arguments|invalid operation|assignment mismatch|unknown field"
    r"|undeclared name|\S+ redeclared|\S+ undefined|no required module|could not import"
)
_SHELL_PROGRAMS = (
    r"cat|ls|cp|mv|rm|sed|grep|head|tail|find|mkdir|cd|tee|touch|awk|wc|nl|tar|curl|make(?:\[\d+\])?|gmake|timeout"
    r"|xargs|bash|sh|zsh"
)
_REASONS = (
    r"Unauthorized|Forbidden|Not Found|Bad Request|Internal Server Error|Bad Gateway|Service Unavailable"
    r"|Too Many Requests|Unprocessable Entity"
)

_TABLE: tuple[tuple[ErrorKind, tuple[str, ...]], ...] = (
    (
        "package",
        (
            r"npm (?:ERR!|error) (?!(?:path|location|workspace|A complete log)\b)\S",
            r"error Command failed|yarn error",
            r"ERROR: (?:Could not|No matching|Cannot|Failed|pip|Ignored|Package|Exception)",
        ),
    ),
    (
        "git",
        (r"fatal: \S", r"CONFLICT \(", r"error: (?:pathspec|failed to push|Your local|patch failed|cannot|could not)"),
    ),
    (
        "test",
        (
            r"(?:FAILED|ERROR) \S+(?:::| - )\S",
            r"--- FAIL: \S+|(?:FAIL|ERROR): [\w.]+ \([\w.]+\)|not ok \d+|FAIL\s+\S+[/.]\S+",
            r"test \S+ \.\.\. FAILED$",
            r"E   +[A-Za-z_][\w.]*(?:Error|Exception|Failed|Exit|Warning)\b(?::|$)|E   +assert ",
        ),
    ),
    (
        "compiler",
        (
            r"(?:\S+?\(\d+,\d+\)|\S+?:\d+:\d+)?(?:\s+-|:)?\s*error TS\d{3,6}: ",
            r"error\[E\d{4}\]: \S",
            r"\S+?\.\w{1,8}:\d+(?::\d+)?:\s+(?:fatal )?error:?\s\S",
            r"\S+?\.\w{1,8}:\d+:\d+:? (?:error |[A-Z]{1,4}\d{3,4}\b)",
            r"\d+:\d+\s+error\s+\S",
            r"(?:vet: )?\S+?\.go:\d+:\d+: (?:" + _GO_MESSAGES + ")",
        ),
    ),
    (
        "exception",
        (
            r"(?:Uncaught |Unhandled |Caused by: |Exception in thread \S+ )?"
            r"[A-Za-z_$][\w$.]*(?:Error|Exception)(?: \[\w+\])?: \S",
            r"thread '[^']*'(?: \(\d+\))? panicked at |panic: |Segmentation fault|KeyboardInterrupt$",
        ),
    ),
    (
        "shell",
        (
            r"(?:\S+: ){1,4}(?:line \d+: )?(?:\S+: )?"
            r"(?:command not found|not found|No such file or directory|Permission denied|Is a directory)$",
            r"(?:" + _SHELL_PROGRAMS + r"): "
            r"(?:\S.*(?:rror|cannot|can't|No such|denied|not found|unknown|invalid|missing)|\*\*\* )",
            r"\S*python[\d.]*: (?:can't open file|No module named|Error while)|zsh:\d+: |\(eval\):\d+: ",
        ),
    ),
    (
        "program",
        (
            r"(?:Error|ERROR|error|FATAL|Fatal error|fatal error|Build failed|Failed)(?:\s*\[[\w.-]+\])?: "
            r"(?![{}\[\]<$%]|Traceback)\S.{3,}",
            r"\[(?:ERROR|error|FATAL)\] \S|ERROR in \S",
            r"\d{4}-\d\d-\d\d[T ][\d:.,Z+-]+ \[?(?:ERROR|FATAL|CRITICAL)\b",
        ),
    ),
    (
        "http",
        (
            r"HTTP/\d(?:\.\d)? [45]\d\d\b",
            r"(?:GET|POST|PUT|PATCH|DELETE) /\S*\s(?:HTTP/[\d.]+\"?\s)?(?:->|→|-|:|=>)?\s*\"?[45]\d\d\b",
            r"(?:.{0,120}?[^\w'\"`(])?(?<![\d.])[45]\d\d (?:" + _REASONS + r")\b",
        ),
    ),
)
PATTERNS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile("|".join(f"(?:{pattern})" for pattern in patterns))) for kind, patterns in _TABLE
)
"""Kind and pattern; the first that matches decides."""
