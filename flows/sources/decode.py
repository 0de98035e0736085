"""From bytes on disk to JSON values, whatever a crash, a redaction or an old encoder left in them."""

from __future__ import annotations

import itertools
import json
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Literal, cast

import orjson

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP, _ZSTD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20
LONGEST_VALUE = 512 << 20
"""Bytes of the longest JSON value (a line, or a file that is one value) that is read: five times that in memory."""
MOST_UNPACKED = 4 << 30
"""Bytes that a packed file may unpack to."""
_BOMB_FROM, _BOMB_RATIO = 256 << 20, 250
_IN_MEMORY = 32 << 20
ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
"""128 MB of memory for a Zstandard stream."""
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


@dataclass(frozen=True)
class Shape:
    """What a file is: one JSON value (``document``), JSON lines (nothing set), or text."""

    document: Any = None
    is_text: bool = False
    is_empty: bool = False
    problem: Problem | None = None
    """Why a file that is taken for text is not JSON."""


def open_bytes(path: Path) -> tuple[BinaryIO, str | None]:
    """The bytes of a file, unpacked by its first bytes and not by its name, as UTF-8.

    What is packed is unpacked into a temporary file, in memory while it is small.

    Returns:
        A file to read and seek in, and a sentence when not all could be unpacked.

    Raises:
        OSError: The file cannot be opened.
    """
    file: BinaryIO = path.open("rb", buffering=_CHUNK)
    magic = file.read(4)
    file.seek(0)
    broken = None
    if magic.startswith(_GZIP):
        file, broken = _unpacked(file, "gzip")
    elif magic.startswith(_ZSTD):
        file, broken = _unpacked(file, "zstd")
    elif magic.startswith(_UTF16):
        with file:
            text = file.read(LONGEST_VALUE).decode("utf-16", "replace")
        file = BytesIO(text.encode("utf-8", "replace"))
    return file, broken


def _unpacked(packed: BinaryIO, name: Literal["gzip", "zstd"]) -> tuple[BinaryIO, str | None]:
    out = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 (closed with the source)
    with packed:
        broken = _inflate(packed, out, name)
    out.seek(0)
    return out, broken


_MAKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "zstd": lambda: zstd.ZstdDecompressor(options=ZSTD_OPTIONS),
}


def _inflate(packed: BinaryIO, out: BinaryIO, name: Literal["gzip", "zstd"]) -> str | None:
    """Unpacks stream after stream; a sentence when it has to stop early."""
    # A zstd block of 128 kB can come from four bytes: small steps keep a bomb's steps small.
    step = 1 << 14 if name == "gzip" else 1 << 11
    make = _MAKERS[name]
    taken = made = 0
    at = make()
    try:
        while chunk := packed.read(step):
            taken += len(chunk)
            while chunk:
                made += out.write(at.decompress(chunk))
                chunk = at.unused_data if at.eof else b""
                if at.eof and chunk.strip(b"\0"):
                    at = make()  # a file may hold several streams one after the other
                else:
                    chunk = b""  # zero bytes behind the last one are padding
            if made > MOST_UNPACKED or is_bomb(taken, made):
                return (
                    f"the {name} stream unpacks to more than {made >> 20:,} MB from {taken:,} bytes: not read further"
                )
    except (zlib.error, zstd.ZstdError, EOFError) as problem:
        return f"the {name} stream is damaged ({problem}); what came before is read"
    return None if at.eof else f"the {name} stream is cut; what came before is read"


def is_bomb(taken: int, made: int) -> bool:
    """Whether so many packed bytes should not have become so many."""
    return made > _BOMB_FROM and made > _BOMB_RATIO * taken


def without_mark(data: bytes) -> bytes:
    """The bytes without the mark that some programs put before UTF-8."""
    return data.removeprefix(_BOM)


def find_shape(file: BinaryIO) -> Shape:
    """Whether a file is one JSON value, JSON lines, or text."""
    file.seek(0)
    first = b""
    while (line := file.readline(LONGEST_VALUE)) and not (first := without_mark(line)).strip():
        pass
    if not first.strip():
        return Shape(is_empty=True)
    try:
        value = orjson.loads(first)
    except orjson.JSONDecodeError:
        del first
        file.seek(0)
        data = without_mark(file.read(LONGEST_VALUE + 1))
        if len(data) > LONGEST_VALUE:
            return Shape()
        found, problem = _loads_spread(data, _blank_until(data, 0))
        return Shape(found, is_text=problem is not None, problem=problem)
    while chunk := file.read(_CHUNK):
        if not chunk.isspace():
            return Shape()
    return Shape(value)


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
    return None, Problem(where, reason or "two values, not on lines of their own", excerpt)


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
