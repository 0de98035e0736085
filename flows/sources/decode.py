"""From bytes on disk to JSON values, whatever a crash, a redaction or an old encoder left in them."""

from __future__ import annotations

import itertools
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import zstandard

_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20
_LONE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")
_BLANK = re.compile(rb"[ \t\r\n\f\v]*")
_TRIED_LINES = 100
_LONGEST_INT = 4000  # digits; Python itself refuses to convert more than 4300


@dataclass(frozen=True)
class Problem:
    """Why a file is not one JSON value."""

    line: int
    reason: str
    excerpt: str


def read_bytes(path: Path) -> tuple[bytes, str | None]:
    """The bytes of a file, decompressed by its first bytes and not by its name, as UTF-8 without a mark.

    Returns:
        What could be read, and a sentence when a compressed stream is cut or damaged.

    Raises:
        OSError: The file cannot be opened.
    """
    data, broken = path.read_bytes(), None
    if data.startswith(_GZIP):
        data, broken = _inflate(data, lambda: zlib.decompressobj(wbits=31), zlib.error, "gzip")
    elif data.startswith(_ZSTD):
        data, broken = _inflate(data, zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError, "zstd")
    if data.startswith(_UTF16):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    return data.removeprefix(_BOM), broken


def _inflate(data: bytes, stream: Callable[[], Any], error: type[Exception], name: str) -> tuple[bytes, str | None]:
    out: list[bytes] = []
    at = stream()
    position = 0
    try:
        while position < len(data):
            out.append(at.decompress(data[position : position + _CHUNK]))
            position = min(position + _CHUNK, len(data))
            if at.eof:
                # A file may hold several streams one after the other; zero bytes behind the last are padding.
                position -= len(at.unused_data)
                if not data[position : position + 1].strip(b"\0"):
                    break
                at = stream()
    except error as problem:
        return b"".join(out), f"the {name} stream is damaged ({problem}); what came before is read"
    if not at.eof:
        return b"".join(out), f"the {name} stream is cut; what came before is read"
    return b"".join(out), None


def loads_whole(data: bytes) -> tuple[Any, Problem | None]:
    """The value when the file is one JSON value.

    Args:
        data: The whole file, not blank.

    Returns:
        The value; or None and no problem when the file is JSON lines; or the problem when it is neither.
    """
    start = _blank_until(data, 0)
    end = data.find(b"\n", start)
    end = len(data) if end < 0 else end
    try:
        value = orjson.loads(data[start:end])
    except orjson.JSONDecodeError:
        return _loads_spread(data, start)
    is_whole = _blank_until(data, end) == len(data) and value is not None
    return (value if is_whole else None), None


def _blank_until(data: bytes, position: int) -> int:
    found = _BLANK.match(data, position)
    return found.end() if found else position


def _loads_spread(data: bytes, start: int) -> tuple[Any, Problem | None]:
    reason: str | None = "not JSON"
    if data[start : start + 1] in (b"{", b"["):
        try:
            return orjson.loads(data), None
        except orjson.JSONDecodeError:
            values, reason, _ = loads_line(data, at_most=1)
            if len(values) == 1 and not reason:
                return values[0], None
    lines = data.split(b"\n")
    filled = (line for line in lines if line.strip())
    for line in itertools.islice(filled, _TRIED_LINES):
        if any(isinstance(value, dict) and value for value in loads_line(line)[0]):
            return None, None
    named = re.search(r"line (\d+)", reason or "")
    where = int(named.group(1)) if named else data.count(b"\n", 0, start) + 1
    excerpt = lines[min(where, len(lines)) - 1][:200].decode("utf-8", "replace")
    return None, Problem(where, f"no known format: {reason or 'two values, not on lines of their own'}", excerpt)


def loads_line(line: bytes, at_most: int = 1 << 30) -> tuple[list[Any], str | None, str]:
    """Every JSON value on a line, in what strict parsers refuse too: lone surrogates, NaN, several values.

    Args:
        line: The bytes of the line.
        at_most: Stop after so many values; what follows must then be blank.

    Returns:
        The values, why the rest could not be read (None when all was), and the rest.
    """
    try:
        return [orjson.loads(line)], None, ""
    except orjson.JSONDecodeError:
        text = line.decode("utf-8", "replace")
    values: list[Any] = []
    position = _skip_space(text, 0)
    try:
        while position < len(text):
            if len(values) == at_most:
                return values, "more than one value", text[position:]
            value, position = _DECODER.raw_decode(text, position)
            values.append(scrub(value))
            position = _skip_space(text, position)
    except json.JSONDecodeError as error:
        return values, f"not valid JSON: {error.msg} at line {error.lineno} column {error.colno}", text[position:]
    except RecursionError:
        return values, "not read: nested too deeply", text[position:]
    return values, None, ""


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float("inf")


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)


def scrub(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate: UTF-8, and so Arrow, cannot store one."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [scrub(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub(item) for key, item in value.items()}
    return value


def dumps(value: Any) -> str:
    """Compact JSON text of a decoded value."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, orjson.JSONEncodeError):
        pass
    try:  # orjson refuses integers beyond 64 bits and more than 254 levels
        return _LONE.sub("\ufffd", json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
    except RecursionError:
        return '{"input":"[nested too deeply]"}'


def kind_of(value: Any) -> str:
    """The JSON name of a value's type, with its article, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}.get(
        type(value), type(value).__name__
    )
