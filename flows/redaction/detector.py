"""Finds the credentials of a text.

The detector is ``redact-secret`` (Rust, in-process, no network): a hundred provider formats, private keys,
authorization headers, URLs and assignments. What it has no rule for is in ``rules`` and ``pem``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

import redact_secret

from flows.redaction import pem
from flows.redaction.fields import find_fields, find_stems, is_secret_cell
from flows.redaction.marks import LINE_START, MARK
from flows.redaction.nearby import find_nearby
from flows.redaction.rule_lookup import rules_for
from flows.redaction.rules import CREDENTIAL, RULES, is_url_password
from flows.redaction.tables import find_cells
from flows.redaction.values import is_chosen, is_code, is_random, is_sequence

VERSION = 7
"""Raise it when something else is masked, or the masks are others."""

DETECTOR = f"redact-secret {redact_secret.VERSION}"

LONGEST_RUN = 8192
"""Characters without a break beyond which a run is data (an image, an archive), and no credential's value."""

_URL = "connection_string_password"
_CONTEXT = "contextual_secret"
_BY_CONTEXT = frozenset({_URL, _CONTEXT, "vendor_prefixed_credential", "bearer_token", "authorization_credential"})
_LIMITS = redact_secret.WholeInputLimits(max_input_bytes=1 << 32, max_findings=1 << 24)
_RUN = re.compile(rf"(?<![\w+/=-])[A-Za-z0-9+/_=-]{{{LONGEST_RUN + 1},}}+")
_RUN_PART = re.compile(r"[A-Za-z0-9+/_=-]*+")
_STEP = LONGEST_RUN // 2
_ESCAPED = re.compile(r"\\+(?:[nr]|(?P<sign>u2[0-9a-f]{3}))")
_ENCODINGS = (
    # What says that it is used, what is encoded together, one sign.
    (
        re.compile(r"%(?:3[AaC-Ec-e]|2[02]|0[AaDd])"),
        re.compile(r"[^\s\"'<>`]++"),
        re.compile(r"://[^\s/@]*+@|%(?P<hex>[0-7][0-9A-Fa-f])|\+"),
    ),
    (re.compile(r"\\u00(?:2[27]|[4-7][0-9a-f])"), re.compile(r".++"), re.compile(r"\\+u00(?P<hex>[2-7][0-9a-f])")),
    (
        re.compile(r"&(?:quot|apos|#3[49]);"),
        re.compile(r".++"),
        re.compile(r"&(?:(?P<name>quot|apos|amp)|#(?P<point>\d\d));"),
    ),
)
_ENTITIES = {"quot": '"', "apos": "'", "amp": "&"}
_MADE_UP = re.compile(r"fake|dummy|example|placeholder|not_?real", re.IGNORECASE)
_HEX_PAIR = re.compile(r"\d+:[0-9a-f]+")  # of a test vector; the detector takes it for a bot's token
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret in a text."""

    start: int
    end: int
    by: str = ""
    """The rule that found it."""


def find(text: str) -> list[SecretFinding]:
    """The secrets of a text by position; they do not overlap.

    Marks of an earlier run are not looked at. The work grows with the text's length, whatever stands in it.
    """
    return merge_findings([*_find(text), *_find_encoded(text)])


def _find(text: str) -> list[SecretFinding]:
    shown = _blank_marks(text)
    broken = _ESCAPED.sub(_break, shown) if "\\" in shown else shown
    plain = LINE_START.sub(lambda found: " " * len(found.group()), broken)
    found = [
        SecretFinding(one.start, one.end, one.type)
        for one in redact_secret.scan(plain, limits=_LIMITS)
        if _is_true(one.type, shown, one.start, one.end)
    ]
    found += [
        SecretFinding(*span, pem.KIND)
        for span in (*pem.cut_keys(plain), *pem.headless_keys(plain), *pem.headless_keys(shown))
    ]
    stems = find_stems(shown)
    found += [
        SecretFinding(start, _end_of_token(plain, start, end), "field") for start, end in find_fields(plain, stems)
    ]
    found += [SecretFinding(start, end, "nearby") for start, end in find_nearby(plain, stems)]
    found += [
        SecretFinding(start, end, "table")
        for name, start, end in find_cells(broken, plain, stems)
        if is_secret_cell(name, shown[start:end])
    ]
    for rule in rules_for(shown):
        # The detector's view of a long run is blank; a JWT may be that long. ``host:5432:`` looks like ``file:4:``.
        found += [
            SecretFinding(*span, rule.keywords[0])
            for span in rule.find(text if rule.kind == "jwt" else shown if rule.is_line else plain)
        ]
    return merge_findings(found)


def _end_of_token(text: str, start: int, end: int) -> int:
    """Find the end of a value: a token of a known form ends before the full stop of its sentence."""
    value = text[start:end]
    token = value.rstrip(".,;:!?)")
    return start + len(token) if token != value and kind_of(token) is not None else end


def _find_encoded(text: str) -> Iterator[SecretFinding]:
    """The secrets in text that is encoded for a URL, in JSON or in HTML, found by decoding it once.

    Positions are those of the encoded text. The name and password of a URL stay as they are: ``user%3Aname@host`` has
    no password.
    """
    for is_used, together, sign in _ENCODINGS:
        if is_used.search(text) is None:
            continue
        for run in together.finditer(text):
            if is_used.search(run.group()) is None:
                continue
            has_plus = "%20" not in run.group()
            parts, starts, ends, done, size = [], [0], [run.start()], run.start(), 0
            for one in sign.finditer(text, *run.span()):
                new = _decoded(one, has_plus)
                parts += [text[done : one.start()], new]
                size += one.start() - done + len(new)
                starts.append(size)
                ends.append(one.end())
                done = one.end()
            plain = "".join([*parts, text[done : run.end()]])

            def place(at: int, starts: list[int] = starts, ends: list[int] = ends) -> int:
                before = bisect_right(starts, at) - 1
                return ends[before] + at - starts[before]

            yield from (replace(one, start=place(one.start), end=place(one.end)) for one in _find(plain))


def _decoded(sign: re.Match[str], has_plus: bool) -> str:
    parts = sign.groupdict()
    if parts.get("hex"):
        return chr(int(parts["hex"], 16) or 32)
    if parts.get("point"):
        return chr(int(parts["point"]))
    return _ENTITIES.get(parts.get("name") or "", " " if has_plus and sign.group() == "+" else sign.group())


def _is_true(type: str, text: str, start: int, end: int) -> bool:
    value = text[start:end]
    if type == pem.KIND:
        return pem.is_key(value)
    if type == _CONTEXT:  # ``fields`` knows more names, and where a value ends
        return False
    if type == _URL:
        return is_url_password(value)
    if type not in _BY_CONTEXT and kind_of(value) is not None:
        return not (is_sequence(value) or _MADE_UP.search(value) or _HEX_PAIR.fullmatch(value))
    return is_random(value) or (is_chosen(value) and not is_code(value))


def merge_findings(found: list[SecretFinding]) -> list[SecretFinding]:
    """Findings by position, those that overlap as one."""
    out: list[SecretFinding] = []
    for one in sorted(found, key=lambda finding: (finding.start, -finding.end)):
        if out and one.start < out[-1].end:
            if one.end > out[-1].end:
                out[-1] = replace(out[-1], end=one.end)
        elif one.end > one.start:
            out.append(one)
    return out


def kind_of(value: str) -> str | None:
    """The kind of secret that a value is by its form alone; None where only its context shows that it is secret."""
    if (0, len(value)) in (next(pem.cut_keys(value), None), next(pem.headless_keys(value), None)):
        return pem.KIND
    for one in redact_secret.scan(_blank_marks(value), limits=_LIMITS):
        if one.start == 0 and one.end == len(value) and one.type not in _BY_CONTEXT:
            return str(one.type)
    for rule in RULES:
        if rule.kind != CREDENTIAL and (0, len(value)) in rule.find(value):
            return rule.kind
    return None


def _blank_marks(text: str) -> str:
    """The text with marks and runs of data blanked out; all positions stay the same."""
    if "[SECRET:" in text:
        text = MARK.sub(_blank, text)
    if _has_long_run(text):
        text = _RUN.sub(_blank, text)
    if not text.isascii():
        text = _LONE.sub("\ufffd", text)
    return text


def _has_long_run(text: str) -> bool:
    """Whether ``_RUN`` may match. A long enough run covers two neighbouring multiples of half its length."""
    return any(
        (found := _RUN_PART.match(text, at)) is not None and found.end() >= at + _STEP
        for at in range(0, len(text) - LONGEST_RUN, _STEP)
    )


def _break(found: re.Match[str]) -> str:
    return ("\n" if found["sign"] is None else "│") + " " * (len(found.group()) - 1)  # or an arrow, the line of a box


def _blank(found: re.Match[str]) -> str:
    return "\n" + " " * (len(found.group()) - 2) + "\n"
