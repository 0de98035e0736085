"""Masking a text, JSON, and a session as a whole: a secret that was found once is masked wherever it stands."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import orjson

from compaction.transcript import Message, RecordedCompaction, ToolCall, Transcript
from flows.redaction import pem
from flows.redaction.detector import DETECTOR, VERSION, SecretFinding, find, kind_of, merge_findings
from flows.redaction.marks import KEY_VARIABLE, MARK, SecretMarker
from flows.redaction.printed import find_printed
from flows.redaction.rules import CREDENTIAL
from flows.redaction.values import is_spread

EXCERPT = 200
"""Characters of an excerpt in the quarantine."""
_SHORTEST_PREFIX = 6
_SHORTEST = 4
"""Characters below which nothing is a secret: no rule takes a shorter value."""
_ROUNDS = 4
# A string without its end reaches to the end of the text, so that no character is looked at for two strings.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?P<end>")?', re.DOTALL)
_NOT_ITS_END = re.compile(r"[\"\\]")
"""What the view of a value that stands under a key must not take for the value's end."""
_KEY_END = re.compile(r"\s*:")
_SENSITIVE_KEY = re.compile(r"pass|secret|token|key|auth|cred|pwd|cookie|session", re.IGNORECASE)
_LAST_RUN = re.compile(r"[^\s\"'<>{}()\[\],;]{8,}$")

Known = Mapping[str, str]
"""Secret → mark."""


class Redactor:
    """Finds credentials and puts marks in their place; the same value has the same mark everywhere.

    It holds no order: what comes out depends on what goes in and on the key alone. It can be pickled.

    Args:
        key: A text of the operator's choice that goes into every mark. None: the environment variable
            ``COMPACTION_EVAL_REDACTION_KEY``, or none where that is not set.
    """

    def __init__(self, key: str | None = None) -> None:
        self._marker = SecretMarker(os.environ.get(KEY_VARIABLE, "") if key is None else key)
        self._kinds: dict[str, str | None] = {}

    def __getstate__(self) -> dict[str, object]:
        """Leave out the values seen so far: they are secrets."""
        return {"_marker": self._marker, "_kinds": {}}

    @property
    def version(self) -> str:
        """The version of the redaction: its own, the detector's, and the key (as a check value)."""
        return f"redaction@{VERSION}, {DETECTOR}, key {self._marker.check_value()}"

    def redact(self, text: str, tally: Counter[str] | None = None) -> str:
        """The text with a mark for every secret; the same object when there is none.

        Args:
            text: Anything; JSON with ``redact_json``.
            tally: Is added to: kind → number of places that were masked.
        """
        return self._text(text, {}, tally, find)

    def redact_json(self, text: str, tally: Counter[str] | None = None) -> str:
        """Mask the secrets in JSON text: it stays valid, and only strings that hold a secret are written anew."""
        return self._json(text, {}, tally, find)

    def redact_excerpt(self, text: str, limit: int = EXCERPT) -> str:
        """Mask a broken input and cut it to ``limit`` characters, in this order.

        Give it as much of the input as there is: a secret that was cut before can't be known any more. Of a text that
        ends exactly at the limit, and so is cut already, the last unbroken run is therefore left out.
        """
        is_cut = len(text) == limit
        text = self.redact_json(text)
        if is_cut and not (text.endswith("]") and MARK.search(text[-60:])):
            text = _LAST_RUN.sub("…", text)
        if len(text) <= limit:
            return text
        inside = next((one for one in MARK.finditer(text) if one.start() < limit < one.end()), None)
        return text[: inside.start() if inside else limit]

    def redact_transcript(self, transcript: Transcript) -> tuple[Transcript, dict[str, int]]:
        """A session with its secrets masked, and how many places of each kind there were.

        Message texts, reasoning, call arguments, title, exit status and what recorded compactions put in place of
        messages are masked; ids and paths stay. What one text gives away (``API_KEY=…``) is masked in all the others
        as well when it is long and mixed enough (``is_spread``). In the name of a tool only what it gives away by
        itself is masked.

        Returns:
            The session, the same object when nothing was found. A changed message has ``tokens`` None.
        """
        finder = _CachedFinder()
        known: dict[str, str] = {}
        for text, is_json in _texts(transcript):
            for value in _values(text, is_json, finder):
                self._learn(value, known)
        printed = set(_find_printed(transcript))
        for value in printed:
            self._learn(value, known)
        if not known:
            return transcript, {}
        tally: Counter[str] = Counter()
        spread = {value: mark for value, mark in known.items() if value in printed or is_spread(value)}

        def plain(text: str) -> str:
            return self._text(text, spread, tally, finder)

        messages = tuple(self._message(message, plain, spread, tally, finder) for message in transcript.messages)
        compactions = tuple(_compaction(recorded, plain) for recorded in transcript.compactions)
        title = transcript.title and _drop_cut_secret(plain(transcript.title), known)
        ended = transcript.exit_status and _drop_cut_secret(plain(transcript.exit_status), known)
        is_same = (title, ended) == (transcript.title, transcript.exit_status) and all(
            new is old
            for new, old in zip((*messages, *compactions), (*transcript.messages, *transcript.compactions), strict=True)
        )
        if is_same:
            return transcript, {}
        masked = replace(transcript, messages=messages, compactions=compactions, title=title, exit_status=ended)
        return masked, dict(sorted(tally.items()))

    def _message(
        self, message: Message, plain: Callable[[str], str], known: Known, tally: Counter[str], finder: _CachedFinder
    ) -> Message:
        text, reasoning = plain(message.text), plain(message.reasoning)
        calls = tuple(self._call(call, known, tally, finder) for call in message.tool_calls)
        name = message.tool_name and self._text(message.tool_name, {}, tally, finder)
        is_same = text is message.text and reasoning is message.reasoning and name is message.tool_name
        if is_same and all(new is old for new, old in zip(calls, message.tool_calls, strict=True)):
            return message
        return replace(message, text=text, reasoning=reasoning, tool_calls=calls, tool_name=name, tokens=None)

    def _call(self, call: ToolCall, known: Known, tally: Counter[str], finder: _CachedFinder) -> ToolCall:
        arguments = self._json(call.arguments, known, tally, finder)
        name = self._text(call.name, {}, tally, finder)
        is_same = arguments is call.arguments and name is call.name
        return call if is_same else replace(call, name=name, arguments=arguments)

    def _text(
        self, text: str, known: Known, tally: Counter[str] | None, finder: Callable[[str], list[SecretFinding]]
    ) -> str:
        if len(text) < _SHORTEST:
            return text
        for _ in range(_ROUNDS):  # a mark changes what stands around the next value
            found = finder(text) + list(_occurrences(text, known))
            if not found:
                return text
            text = self._replaced(text, merge_findings(found), known, tally)
        return text

    def _json(
        self, text: str, known: Known, tally: Counter[str] | None, finder: Callable[[str], list[SecretFinding]]
    ) -> str:
        out: list[str] = []
        done = 0
        for start, end, key, value in _strings(text):
            new = self._text(value, known, tally, finder)
            if key:
                new = self._replaced(new, _find_beside_key(key, new, finder), known, tally)
            if new != value:
                out += [text[done:start], _encode_string(new)]
                done = end
        text = "".join([*out, text[done:]]) if done else text
        return text if _is_json(text) else self._text(text, known, tally, finder)

    def _replaced(self, text: str, found: list[SecretFinding], known: Known, tally: Counter[str] | None) -> str:
        if not found:
            return text
        out, done = [], 0
        for one in found:
            value = text[one.start : one.end]
            mark = known.get(value) or self._mark(value)[1]
            if tally is not None:
                tally[mark.split(":")[1]] += 1
            out += [text[done : one.start], mark]
            done = one.end
        return "".join([*out, text[done:]])

    def _mark(self, value: str) -> tuple[str, str]:
        if value not in self._kinds:
            self._kinds[value] = kind_of(value)
        kind = self._kinds[value]
        return kind or CREDENTIAL, self._marker.mark(kind or CREDENTIAL, value, is_guessable=kind is None)

    def _learn(self, value: str, known: dict[str, str]) -> None:
        if value in known:
            return
        kind, known[value] = self._mark(value)
        escaped = json.dumps(value)[1:-1]
        if escaped != value:
            known[escaped] = known[value]
        if kind == pem.KIND:
            for line in pem.body_lines(value):
                known[line] = self._marker.mark(pem.KIND, line, is_guessable=False)


class _CachedFinder:
    """``find``, each distinct text once: a session repeats whole files."""

    def __init__(self) -> None:
        self._found: dict[str, list[SecretFinding]] = {}

    def __call__(self, text: str) -> list[SecretFinding]:
        found = self._found.get(text)
        if found is None:
            found = self._found[text] = find(text)
        return found


def _texts(transcript: Transcript) -> Iterator[tuple[str, bool]]:
    for message in transcript.messages:
        yield message.text, False
        yield message.reasoning, False
        yield message.tool_name or "", False
        for call in message.tool_calls:
            yield call.name, False
            yield call.arguments, True
    for recorded in transcript.compactions:
        yield recorded.summary or "", False
        yield recorded.cleared_text, False
    yield transcript.title or "", False
    yield transcript.exit_status or "", False


def _find_printed(transcript: Transcript) -> Iterator[str]:
    """The secrets that calls were made to print: ``pass show …``, ``kubectl get secret … | base64 -d``."""
    commands = {call.id: call.arguments for message in transcript.messages for call in message.tool_calls}
    for message in transcript.messages:
        command = commands.get(message.tool_call_id or "")
        if command and (value := find_printed(command, message.text)):
            yield value


def _values(text: str, is_json: bool, finder: Callable[[str], list[SecretFinding]]) -> Iterator[str]:
    if not is_json:
        yield from (text[one.start : one.end] for one in finder(text) if text)
        return
    for _, _, key, value in _strings(text):
        if len(value) < _SHORTEST:
            continue
        found = finder(value) + (_find_beside_key(key, value, finder) if key else [])
        yield from (value[one.start : one.end] for one in found)
    if not _is_json(text):
        yield from (text[one.start : one.end] for one in finder(text))


def _strings(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Start, end, the key that it is the value of (empty for a key and in a list), and value of every JSON string."""
    key = ""
    for string in _STRING.finditer(text):
        if string["end"] is None:
            return
        value = _decode_string(string.group())
        is_key = _KEY_END.match(text, string.end()) is not None
        yield *string.span(), "" if is_key else key, value
        key = value if is_key else ""


def _find_beside_key(key: str, value: str, finder: Callable[[str], list[SecretFinding]]) -> list[SecretFinding]:
    """The secrets that a value shows together with its key; positions are those in the value."""
    if len(value) < _SHORTEST or not _SENSITIVE_KEY.search(key):
        return []
    before = f'{{"{key}": "'
    shown = _NOT_ITS_END.sub("!", value) if value[0] not in "{[" and len(value.split()) == 1 else value
    found = finder(f'{before}{shown}"}}')
    at, end = len(before), len(value)
    return [
        SecretFinding(one.start - at, min(one.end - at, end), one.by) for one in found if at <= one.start < at + end
    ]


def _occurrences(text: str, known: Known) -> Iterator[SecretFinding]:
    public: list[tuple[int, int]] | None = None
    for value in known:
        at = text.find(value)
        while at >= 0:
            public = pem.public_blocks(text) if public is None else public
            if not any(start < at < end for start, end in public):
                yield SecretFinding(at, at + len(value), "spread")
            at = text.find(value, at + len(value))


def _compaction(recorded: RecordedCompaction, plain: Callable[[str], str]) -> RecordedCompaction:
    summary = recorded.summary and plain(recorded.summary)
    cleared = plain(recorded.cleared_text)
    if summary is recorded.summary and cleared is recorded.cleared_text:
        return recorded
    return replace(recorded, summary=summary, cleared_text=cleared)


def _drop_cut_secret(title: str, known: Known) -> str:
    """The title, with a mark for the start of a known secret at its end: titles are cut at some length."""
    stem = title.rstrip("….")
    for value, mark in known.items():
        for size in range(min(len(value) - 1, len(stem)), _SHORTEST_PREFIX - 1, -1):
            if stem.endswith(value[:size]):
                return stem[: len(stem) - size] + mark
    return title


def _decode_string(raw: str) -> str:
    if "\\" not in raw:
        return raw[1:-1]
    try:
        return str(json.loads(raw, strict=False))
    except ValueError:
        return raw[1:-1]


def _encode_string(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:  # lone surrogates, large numbers, deep nesting: valid all the same
        try:
            json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return False
    return True
