"""A person's own words: without the harness's text, quoted data, templates and boilerplate.

A log's user messages also hold what the agent's harness adds (reminders, environment, format complaints), pasted data
(logs, tables, issue texts) and the text of skills and templates. A question about any of that asks for nothing that the
person wanted.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compaction.reading.prose import sentences, terms
from compaction.transcript import Message

_REQUEST_TAGS = frozenset("task user_query user_request user_message request feedback answer user_input".split())
"""Tags in which harnesses put what the person typed; every other tag holds data."""

_BLOCK = re.compile(r"<([A-Za-z][\w:-]{0,40})(?:\s[^<>]{0,300})?>(.*?)</\1\s*>", re.DOTALL)
_OPEN_TAG = re.compile(r"</?[A-Za-z][\w:-]{0,40}(?:\s[^<>]{0,300})?/?>")
_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
"""Code, and comments that a template has for those who fill it in."""

_HARNESS = re.compile(
    r"\s*(?:# ?AGENTS\.md|# ?CLAUDE\.md|Caveat: The messages below|\[Request interrupted|\[Image|This session is being "
    r"continued|Base directory for this skill|ARGUMENTS:|Continue the conversation from|Here is (?:a|the) summary|"
    r"The user (?:opened|has approved|selected)|The following skills|Stop hook|PreToolUse|PostToolUse|"
    r"\w* ?parameter\b|errors?\b|failed\b|invalid\b|missing\b|unknown\b|OBSERVATION:|Observation:|EXECUTION RESULT|"
    r"Tool (?:ran|result|output)|\[Tool|API Error|"
    r"Your (?:last |previous )?(?:response|output|message|command|reply|solution|answer) (?:did|was|is|has|had|must|"
    r"timed)|"
    r"(?:Please )?(?:continue|proceed) (?:working )?(?:on the task |with the (?:last|conversation))|"
    r"(?:Please )?always provide exactly one|You (?:are|were) (?:an? |the |now |running|given)|Environment reminder|"
    r"Current runtime context|"
    r"/[\w:-]*\s*\Z)",
    re.IGNORECASE,
)
"""Beginnings of messages that a harness, not a person, writes in the person's place."""

_DATA_LINE = re.compile(
    r"\s*(?:[|{}\[\]()<>$%#@+=]|-{3,}|\*{3,}|>>>|\.\.\.|at \S+ ?\(|File \"|Traceback |diff --git|index [0-9a-f]{6}|"
    r"\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|\[?\d{1,2}/\w{3}/\d{4}|[\w.-]+@[\w.-]+[:~]|\"[^\"]{1,60}\"\s*:|"
    r"https?://\S+\s*$|"
    r"(?:[A-Za-z]:)?[\w.~-]*(?:[/\\][\w.@ -]+){2,}\s*$|\s{8,}\S|[A-Z_]{3,}=|E {1,4}\w|"
    r"\S+:\d+:\d+:|(?:FAILED|PASSED|ERROR)\b)"
)
"""Lines that are pasted: tables, JSON, prompts, traces, linters, diffs, logs, bare paths and addresses, headings."""

_SCREEN = re.compile(r"[ \t]{8,}[^\n]*[┃│└][^\n]*")
"""The rest of a line that was copied from a terminal with its empty columns and frames."""

_TEMPLATE_LINES = 12
"""List items and headings in one message from which on it is a document (an issue, a skill, a template)."""

_LIST_LINE = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+\S")
_BROKEN_OFF = re.compile(r"[:,(]$|[┃│└]|\b(?:following|below|as follows|e\.g\.)$", re.IGNORECASE)
_LISTED = re.compile(r":(?=\**\s*\n\s*(?:[-*•]|\d{1,2}[.)])\s)")
"""A colon before a list."""

_RHETORICAL = re.compile(r"^(?:isn't|aren't|wasn't|don't you|like,)|\bright\?$", re.IGNORECASE)
_ISSUE = re.compile(
    r"(?:<(?:issue_description|pr_description|issue|problem_statement|task_description)>|^(?:ISSUE|Issue):)\s*"
    r"(?:Consider the following[^\n]*:\s*)?"
    r"(?:#+ *|\*\*|[Tt]itle: *)?([^\n<]{10,200})",
    re.MULTILINE,
)
"""The title of an issue that a message quotes."""

_AGREEING = frozenset(
    """y yes yep yeah ok okay sure fine great perfect correct right exactly agreed agree confirm confirmed approve
    approved lgtm please proceed continue go do sounds good thanks thank that works""".split()
)
"""Words that an agreement begins with."""

FILLING = _AGREEING | frozenset(
    """ahead for it this so then with the plan change changes i you we all and me now both as is looks make on be would
    will like to a my your very much of course""".split()
)
"""Words that an agreement goes on with."""

MAX_OTHER = 1
"""Other words that an agreement may have: "proceed with the cancellation"."""

MAX_AGREEMENT = 300
"""Characters."""

MIN_ASKED_TERMS = 3
MAX_ASKED = 20
"""Sentences of a request; what says more is a document, and no list of what it asks for is complete."""

_QUESTION = re.compile(r"(?<!i think)\?$|^(?:where|what|why|how|which|is|are|do|does|did)\b", re.IGNORECASE)
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif)\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:can|could|would) (?:you|we|u)\b|\bplease\b|\blet'?s\b|\b(?:i|we) (?:\w+ )?(?:want|need|should)\b|"
    r"\b(?:should be|don'?t (?:chang|modif|touch|us)\w*)\b|"
    r"^(?:(?:ok(?:ay)?|alright|and|so|now|then|also|just|actually|no|yes|yeah|well|go ahead and)\b[, ]*)*"
    r"(?:add|apply|bring|build|change|check|clean|commit|compare|consider|convert|copy|create|delete|document|don'?t|"
    r"drop|explain|extract|find|fix|get|give|group|implement|improve|investigate|keep|list|look|make|merge|modify|move|"
    r"name|open|port|print|push|put|read|rebase|refactor|remove|rename|replace|reset|respond|revert|review|rewrite|run|"
    r"set|show|sort|split|start|stop|store|summari[sz]e|switch|tell|test|try|undo|update|use|verify|wire|write)\b",
    re.IGNORECASE,
)
"""A sentence that tells somebody to do something."""

_RULES_FILE = re.compile(r"\s*(?:<[\w-]+>\s*)*(?:# ?|Contents of \S*?)((?:AGENTS|CLAUDE|GEMINI)\.md)\b", re.IGNORECASE)


@lru_cache(maxsize=8_192)
def own_words(text: str) -> str:
    """The lines of a user message that the person wrote, else the title of the issue that it quotes.

    Empty for a message of the harness or another pasted document.
    """
    title = _title(text)
    if _HARNESS.match(text):
        return ""
    typed = [block[2] for block in _BLOCK.finditer(text) if block[1].lower() in _REQUEST_TAGS]
    if typed:
        text = "\n".join(typed)
    text = _without_data(text)
    text = _SCREEN.sub("", text)
    lines = [line for line in text.splitlines() if not _DATA_LINE.match(line) and not _OPEN_TAG.match(line.strip())]
    if _HARNESS.match("\n".join(lines).lstrip()):
        return ""
    if brief_of(text):
        lines = [line for line in lines if not _LIST_LINE.match(line)]
    return "\n".join(lines).strip() or title


@lru_cache(maxsize=8_192)
def brief_of(text: str) -> str:
    """The typed text of a document, which has many list items and headings; empty for any other text."""
    text = _without_data(text)
    n_items = sum(_LIST_LINE.match(line) is not None for line in text.splitlines())
    return text if n_items >= _TEMPLATE_LINES else ""


def without_code(text: str) -> str:
    """A text without its fenced code and comments."""
    return _FENCE.sub("\n", text)


def _without_data(text: str) -> str:
    for _ in range(3):  # blocks inside of blocks
        text = _BLOCK.sub("\n", text)
    return without_code(text)


def rules_of(message: Message) -> tuple[str, str] | None:
    """(name, text) of a rules file that a harness puts in the person's place, or of a task's marked instructions."""
    match = _RULES_FILE.search(message.text[:200]) if message.author == "rules" else _RULES_FILE.match(message.text)
    if match or message.author == "rules":
        return match[1] if match else "the file of rules", message.text
    blocks = _BLOCK.finditer(message.text)
    marked = "\n".join(block[2] for block in blocks if block[1].lower() in ("instructions", "rules"))
    return ("the task", marked) if marked else None


@lru_cache(maxsize=8_192)
def requests(text: str) -> tuple[str, ...]:
    """All that a person's message asks for: its sentences if they are few, or the title of the issue that it quotes."""
    if title := _title(text):
        return (title,)
    said = tuple(sentences(own_words(text)))
    whole = sentences(_LISTED.sub(".", own_words(text)))
    clear = not any(_BROKEN_OFF.search(sentence) or _RHETORICAL.search(sentence) for sentence in whole)
    telling = [term for term in terms(" ".join(said)) if not term.isdigit()]
    return said if clear and len(said) <= MAX_ASKED and len(telling) >= MIN_ASKED_TERMS else ()


def orders(text: str, *, or_asks: bool = False) -> tuple[str, ...]:
    """All sentences of a message that tells to do something, or asks a question; no remark, report or agreement."""
    said = () if agrees(text) or _IMAGE.search(text) else requests(text)
    return said if any(_ORDER.search(one) or (or_asks and _QUESTION.search(one)) for one in said) else ()


def _title(text: str) -> str:
    issue = _ISSUE.search(text)
    return issue[1].strip() if issue and len(terms(issue[1])) >= MIN_ASKED_TERMS else ""


def agrees(text: str) -> bool:
    """Whether a message only agrees to a proposal."""
    said = own_words(text)
    parts = [part for part in re.split(r"[.!\n]+\s*", said) if part]
    return len(said) <= MAX_AGREEMENT and all(map(_is_agreement, parts))


def _is_agreement(sentence: str) -> bool:
    words = re.findall(r"[a-z']+|\d+", sentence.lower())
    if len(words) == 1 and len(words[0]) == 1:
        return True  # one of the options that were numbered or lettered
    return bool(words) and words[0] in _AGREEING and sum(word not in FILLING for word in words) <= MAX_OTHER
