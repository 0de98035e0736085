"""Secrets that stand near the word for them: "the password you gave me (…) works", ``def live_token(): return "…"``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from flows.redaction.fields import OTHER_LANGUAGES, is_about_tail
from flows.redaction.values import is_code, is_random, is_strong

_WORD = re.compile(
    r"(?P<password>pass(?:word|wd|phrase|wort|code|e\b|(?=[ ](?:is|was)\b))|(?<=user)pwd?|pwd?\b|contrase(?:ñ|n)a|senha"
    rf"|clave\b|credentials?\b|creds\b|{OTHER_LANGUAGES})"
    r"|(?:secret|token)(?!s)|bearer|jeton|schlüssel|clé\b|ключ|密钥"
    r"|(?:(?<=api.)|(?<=access.)|(?<=private.)|(?<=master.)|(?<=the.)|(?<=fi.))key",
    re.IGNORECASE,
)
_OWN_SIGN = re.compile(r"[\w.-]{0,40}\\{0,8}[\"'`*_]{0,3}\]?[ \t]{0,4}(?:[:=]{1,2}|=>|←|→)?")
_NEXT_NAME = re.compile(r"[\w\])]\\{0,8}[\"'`]?[ \t]{0,4}(?:=|:[ \t]{0,4}\\{0,8}[\"'\[{])|\\+[nr]|[\r\n]")
"""Where another field begins."""
_NEXT_LINE = re.compile(
    r"[^\n\"'=]{0,20}\n\s{0,20}(?:return[ ])?[\"'`]?(?P<v>[^\s\"'`]{8,512})[\"'`]?;?[ \t]*(?:#|//|\n|$)"
)
"""The value alone in the line below."""
_BREAK = r"\s\"'`,;(){}\[\]<>|«»“”„→…\x1b\\"
_CANDIDATE = re.compile(
    rf"(?<![^{_BREAK}:=*])\*{{0,3}}(?:[\w.@-]{{1,40}}:(?=[^:/@\s]{{8}}))?(?P<v>[^{_BREAK}]{{8,512}})"
)
"""A word of the line; of ``user:password`` the password."""
_NO_SECRET = re.compile(
    r".*(?:://|::).*|[0-9a-f]{7,12}|.*\d{4}-\d\d-\d\d.*|[\w./-]+#\w+|[\w-]+@[\d.]+"
    r"|.*%[0-9a-f]{2}.*|#\w+|.*=[^=].*|[A-Z_\d]+=|[a-z]+:#.*|(?-i:\w+\.[A-Z\d]+_[A-Z_\d]+)|[0-9a-f]{8}-[0-9a-f-]{27}|[@$%&/~.+].*|.*\.[a-z]{1,5}(?::\d+)?",
    re.IGNORECASE,
)
"""A link, a short hash, a date, an issue, a version, an assignment, a path."""
_SAYS = re.compile(r"(?:\b(?:is|was|to|be|now|ist|lautet|est)|[éè是为:：=])[ \t]*[\"'`*]{0,3}$")
_SIGN = re.compile(r"\d.*[!@$%^&*+?]|[!@$%^&*+?].*\d")
_REACH = 80
"""Characters of the line behind the word."""


def find_nearby(text: str, stems: list[int]) -> Iterator[tuple[int, int]]:
    """Start and end of the first value near each word for a secret that reads like one."""
    done = {True: 0, False: 0}  # what was judged once is not judged again for every word before it
    for at in stems:
        word = _WORD.match(text, at)
        if word is None or text[at - 1 : at] == "/" or is_about_tail(text, word.end()):
            continue
        is_password = word["password"] is not None
        for start, end in _candidates(text, word.end(), done[is_password]):
            is_said = _SAYS.search(text[max(word.end(), start - 12) : start]) is not None
            if _reads_secret(text[start:end], is_password, is_said):
                yield start, end
                break
        done[is_password] = max(done[is_password], word.end() + _REACH)


def _candidates(text: str, at: int, done: int) -> Iterator[tuple[int, int]]:
    """Start and end of what may be the value of the word that ends at ``at``: behind it, in the next line, before."""
    start = _OWN_SIGN.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
    name = _NEXT_NAME.search(text, start, start + _REACH)
    yield from _words(text, max(start, done), name.start() + 1 if name else start + _REACH)
    if below := _NEXT_LINE.match(text, start):
        yield below.span("v")
    line = text.rfind("\n", max(0, at - _REACH), at) + 1
    yield from _words(text, max(line or at - _REACH + 1, done), at - 1)


def _words(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Start and end of every word that is long enough and begins in a part of the text."""
    for found in _CANDIDATE.finditer(text, start, stop):
        one = _CANDIDATE.match(text, found.start()) or found
        yield one.start("v"), one.start("v") + len(one["v"].rstrip(".,:!?*_"))


@lru_cache(maxsize=4096)
def _reads_secret(value: str, is_password: bool, is_said: bool) -> bool:
    if _NO_SECRET.fullmatch(value):
        return False
    if is_password:
        has_signs = sum(c.isdigit() for c in value) > 1 or _SIGN.search(value) is not None
        return (has_signs or is_said) and is_strong(value)
    return is_random(value) and not is_code(value)
