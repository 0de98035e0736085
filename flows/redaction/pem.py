"""Private keys whose end is not there, and those of PGP: the detector wants a whole PEM block."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flows.redaction.marks import LINE_START

KIND = "private_key"
_BEGIN = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,3}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----|Private-Lines: \d{1,3}"  # noqa: E501
)
_END = re.compile(
    r"(?:\\+[rn]|[\s\"',+>|]|\d{1,7}[→|:\t]){0,60}+(?:-----END [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----|---- END SSH2 ENCRYPTED PRIVATE KEY ----)"  # noqa: E501
)
# A line of base64, as it stands in the file, numbered by a viewer, in a diff, quoted, or with its break escaped.
_LINE = re.compile(
    r"(?:\\++[rn]|[\r\n])++(?:[ \t+>|\"'-]{0,40}+(?:\d{1,7}[\t→|:])?[ \t+>|\"'-]{0,8}+)"
    r"(?:(?P<core>[A-Za-z0-9+/]{4,8192}+={0,2}+)|=[A-Za-z0-9+/]{4}|(?:Proc-Type|DEK-Info|Version|Comment|Hash):[^\r\n\\]{0,200}"
    r"|(?=[\\\r\n]))[\"',]{0,3}+(?=[ \t]{0,4}(?:[\\\r\n]|$))"
)
_PUBLIC = re.compile(
    r"-----BEGIN (?:TRUSTED )?(?:CERTIFICATE|(?:PGP |RSA |EC )?PUBLIC KEY(?: BLOCK)?)-----[^-]*+(?:-(?!----)[^-]*+)*+"
)
_FULL = re.compile(r"\n[ \t]{0,80}[A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?[ \t]{0,80}\r?\n")
_RUN = re.compile(
    r"(?<![^\s])(?:(?:[A-Za-z0-9+/]{70}\s{1,60}){2,400}+|(?:[A-Za-z0-9+/]{64}\s{1,60}){2,400}+)[A-Za-z0-9+/]{1,70}={0,2}(?![^\s])"
)
"""Lines of the length of PEM or of OpenSSH, and what is left in a last one."""
_LAST = re.compile(r"(?<![^\s])(?:[A-Za-z0-9+/]{20,76}={0,2}\s{1,60}){1,2}+(?=-----END [A-Z ]{0,40}PRIVATE KEY-----)")
_PUBLIC_END = re.compile(r"\s{0,60}-----END (?![A-Z ]*PRIVATE)")
_FULL_LINE = 32
"""Characters of a line that is certainly no word; PEM breaks at 64 or 76."""


def cut_keys(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every private key block, with its end or without."""
    if not any(word in text for word in ("PRIVATE KEY", "Private-Lines", "Static key")):
        return
    done = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        at, kept, is_key = begin.end(), begin.end(), False
        while line := _LINE.match(text, at):
            core = line.group("core")
            at = line.end()
            if core is None or len(core) >= _FULL_LINE:
                is_key = is_key or core is not None
                kept = at if core else kept
            elif is_key:  # the last line of a block is short
                kept = at
                break
            else:
                break
        if is_key:
            end = _END.match(text, at)
            done = end.end() if end else kept
            yield begin.start(), done


def headless_keys(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every run of full base64 lines that no line names, as in a part of a key.

    Certificates and public keys are written in such lines too, so a run within their block is none.
    """
    if "PRIVATE KEY" in text:
        yield from (found.span() for found in _LAST.finditer(text) if is_key(found.group()))
    if _FULL.search(text) is None:
        return
    blocks = public_blocks(text)
    for found in _RUN.finditer(text):
        lines = found.group().split()
        is_public = any(start <= found.start() < end for start, end in blocks) or _PUBLIC_END.match(text, found.end())
        if not is_public and all(is_key(line) for line in lines[:3]):
            yield found.span()


def is_key(block: str) -> bool:
    """Whether a block holds base64, and is not code that names its first and last line."""
    return any(
        any(c.isdigit() for c in run) and any(c.islower() for c in run) and any(c.isupper() for c in run)
        for run in re.findall(r"[A-Za-z0-9+/]{20,}", block)
    )


def public_blocks(text: str) -> list[tuple[int, int]]:
    """Start and end of every public key block; some of its lines are also in the private key."""
    return [found.span() for found in _PUBLIC.finditer(text)] if "-----BEGIN " in text else []


def body_lines(block: str) -> Iterator[str]:
    """The full base64 lines of a key; each of them alone is treated as a secret."""
    yield from re.findall(r"[A-Za-z0-9+/]{48,}={0,2}", LINE_START.sub("", block))
