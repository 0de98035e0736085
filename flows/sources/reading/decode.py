"""From bytes to JSON values, whatever a crash, a redaction or an old encoder left in them."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from flows.sources.reading import unpacking

_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 20
_LONE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")
_BLANK = re.compile(rb"[ \t\r\n\f\v]*")
_STARTS = frozenset(bytes((byte,)) for byte in b'{["-0123456789tfnNI')
_TRIED_LINES, _TRIED_STARTS = 100, 1_000
_OBJECT = re.compile(r'\{[ \t\r\n]*"')
_GAP = " \t\r\n\0"
_LONGEST_INT = 4000  # digits; Python itself refuses to convert more than 4300


@dataclass(frozen=True)
class DecodeProblem:
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
    problem: DecodeProblem | None = None
    """Why a file that is taken for text is not JSON."""


def strip_bom(data: bytes) -> bytes:
    """The bytes without the mark that some programs put before UTF-8."""
    return data.removeprefix(_BOM)


def read_line(file: BinaryIO, longest: int) -> bytes | int:
    """The next line with its end, empty behind the last; of one that is longer, the number of its bytes.

    A long line is measured first: one that is not wanted takes no memory, and one that is takes it once.
    """
    line = file.readline(_CHUNK)
    if len(line) < _CHUNK or line.endswith(b"\n"):
        return line
    start, size = file.tell() - len(line), len(line)
    while piece := file.readline(_CHUNK):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    if size > longest:
        return size
    file.seek(start)
    return file.read(size)


def pass_blank_lines(file: BinaryIO) -> tuple[int, int]:
    """Goes to the start of the next line with something in it: how many lines and bytes were passed over."""
    start = position = last = file.tell()
    lines = 0
    while chunk := file.read(_CHUNK):
        filled = chunk.lstrip()
        blank = chunk[: len(chunk) - len(filled)]
        if (end := blank.rfind(b"\n")) >= 0:
            lines += blank.count(b"\n")
            last = position + end + 1
        if filled:
            break
        position += len(chunk)
    file.seek(last)
    return lines, last - start


def find_shape(file: BinaryIO) -> Shape:
    """Whether a file is one JSON value, JSON lines, or text."""
    file.seek(0)
    mark = len(_BOM) if file.read(len(_BOM)) == _BOM else 0
    file.seek(mark)
    pass_blank_lines(file)
    first = read_line(file, unpacking.LONGEST_VALUE)
    if isinstance(first, int):
        return Shape()
    if not first.strip():
        return Shape(is_empty=True)
    try:
        value = orjson.loads(first)
    except orjson.JSONDecodeError:
        del first
        return _shape_of_spread(file, mark)
    while chunk := file.read(_CHUNK):
        if not chunk.isspace():
            return Shape()
    return Shape(value)


def _shape_of_spread(file: BinaryIO, mark: int) -> Shape:
    """The shape of a file whose first line is no JSON value."""
    size = file.seek(0, os.SEEK_END) - mark
    file.seek(mark)
    if size <= unpacking.LONGEST_VALUE:
        data = file.read(size)
        found, problem = _loads_spread(data, _blank_until(data, 0))
        return Shape(found, is_text=problem is not None, problem=problem)
    data = file.read(_CHUNK)
    if _has_lines(data):
        return Shape()
    most = f"{unpacking.LONGEST_VALUE:,}"
    reason = f"{size:,} bytes that are not JSON lines; as one JSON value at most {most} can be read"
    return Shape(problem=DecodeProblem(1, reason, data[:200].decode("utf-8", "replace")))


def _has_lines(data: bytes) -> bool:
    """Whether one of the first lines is a JSON object."""
    tried = itertools.islice(_filled_lines(data), _TRIED_LINES)
    return any(isinstance(value, dict) and value for line in tried for value in loads_damaged(line, ())[0])


def _filled_lines(data: bytes) -> Iterator[bytes]:
    position = 0
    while (position := _blank_until(data, position)) < len(data):
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        yield data[position:end]
        position = end


def _line_of(data: bytes, number: int) -> bytes:
    """The start of a line by its number, from 1."""
    before = re.compile(rb"(?:[^\n]*\n){%d}" % (number - 1)).match(data) if number > 1 else None
    start = before.end() if before else 0
    return data[start : start + 200].partition(b"\n")[0]


def _blank_until(data: bytes, position: int) -> int:
    found = _BLANK.match(data, position)
    return found.end() if found else position


def _loads_spread(data: bytes, start: int) -> tuple[Any, DecodeProblem | None]:
    reason: str | None = "not JSON"
    if data[start : start + 1] in (b"{", b"["):
        try:
            return orjson.loads(data), None
        except orjson.JSONDecodeError:
            values, reason, _ = loads_line(data, at_most=1)
            if len(values) == 1 and not reason:
                return values[0], None
    if _has_lines(data):
        return None, None
    named = re.search(r"line (\d+)", reason or "")
    where = int(named.group(1)) if named else data.count(b"\n", 0, start) + 1
    excerpt = _line_of(data, where).decode("utf-8", "replace")
    return None, DecodeProblem(where, reason or "two values, not on lines of their own", excerpt)


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
        start = _blank_until(line, 0)
        if len(line) > _CHUNK and line[start : start + 1] not in _STARTS:
            shown = line[start : start + _CHUNK].decode("utf-8", "replace")
            return [], f"not valid JSON: Expecting value at line 1 column {start + 1}", shown
        text = line.decode("utf-8", "replace")
    values: list[Any] = []
    position = _skip_space(text, 0)
    try:
        while position < len(text):
            if len(values) == at_most:
                return values, "more than one value", text[position:]
            value, position = _DECODER.raw_decode(text, position)
            values.append(replace_surrogates(value))
            position = _skip_space(text, position)
    except json.JSONDecodeError as error:
        return values, f"not valid JSON: {error.msg} at line {error.lineno} column {error.colno}", text[position:]
    except RecursionError:
        return values, "not read: nested too deeply", text[position:]
    return values, None, ""


def loads_damaged(line: bytes, shapes: Collection[Set[str]]) -> tuple[list[Any], str | None, str]:
    """The same as ``loads_line``, with the whole objects behind what cannot be read; then the reason says so."""
    values, reason, rest = loads_line(line)
    if reason:
        whole, rest = rescue(rest, shapes)
        if whole:
            number, verb = ("a whole object", "is") if len(whole) == 1 else (f"{len(whole)} whole objects", "are")
            return [*values, *whole], f"cut, with {number} behind it, which {verb} read: {reason}", rest
    return values, reason, rest


def rescue(rest: str, shapes: Collection[Set[str]]) -> tuple[list[dict[str, Any]], str]:
    """The whole objects behind what could not be read of a line, and the rest without them.

    A program that was stopped in the middle of a line writes the next ones behind it. An object where a value could
    stand may be nested in the cut one: it must have at least two of the keys of another line, and half of them.

    Args:
        rest: What could not be read.
        shapes: The keys of the log's other lines, by kind of line.
    """
    is_cut = rest[:1] in ("{", "\0")
    known = frozenset[str]().union(*shapes)
    starts = [found.start() for found in _OBJECT.finditer(rest, 1 if is_cut else 0)]
    nested = [start for start in starts if not is_cut or _may_hold_value(rest, start)]
    apart = set(starts).difference(nested)
    passed = 0
    for start in sorted([*nested[:_TRIED_STARTS], *sorted(apart)[:_TRIED_STARTS]]):
        if start < passed:
            continue
        found = list(_objects_from(rest, start))
        passed = found[-1][1] if found else start
        if not found or rest[found[-1][1] : found[-1][1] + 1] not in ("", "{"):
            continue
        objects, end = [value for value, _ in found], found[-1][1]
        keys = objects[0].keys()
        if start not in apart:
            others = (*shapes, *(value.keys() for value in objects[1:]))
            fits = any(len(shape & keys) >= max(2, len(shape) / 2) for shape in others)
        else:
            fits = not known or not known.isdisjoint(keys)
        if fits:
            return objects, rest[:start] + rest[end:]
        if is_cut and objects[1:]:  # no value stands behind another without a comma
            return objects[1:], rest[: found[0][1]] + rest[end:]
    return [], rest


def _may_hold_value(text: str, position: int) -> bool:
    """Whether a value may stand at a position, by what stands before it."""
    position -= 1
    while position > 0 and text[position] in _GAP:
        position -= 1
    return text[position] in ":,["


def _objects_from(text: str, position: int) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects one behind the other from a position on, each with the position of what follows it."""
    while text[position : position + 1] == "{":
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            return
        while position < len(text) and text[position] in _GAP:
            position += 1
        yield replace_surrogates(value), position


def load_values(path: Path, at_most: int = 1 << 30) -> tuple[list[Any], str | None, str]:
    """Every JSON value of a file, and the other returns of ``loads_line``.

    Raises:
        OSError: The file cannot be opened.
    """
    file, broken = unpacking.open_bytes(path)
    with file:
        data = strip_bom(file.read(unpacking.LONGEST_VALUE))
    values, reason, rest = loads_line(data, at_most)
    return values, broken or reason, rest


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float("inf")


_DECODER = json.JSONDecoder(strict=False, parse_int=_integer)


def replace_surrogates(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate: UTF-8, and so Arrow, cannot store one."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [replace_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): replace_surrogates(item) for key, item in value.items()}
    return value


def begin_of(value: Any, most: int) -> Any:
    """A value whose JSON text begins with the same ``most`` characters, with long strings and lists cut."""
    try:
        return _begin_of(value, most)
    except RecursionError:
        return value


def _begin_of(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, list):
        return [_begin_of(item, most) for item in value[:most]]
    if isinstance(value, dict):
        return {key: _begin_of(item, most) for key, item in itertools.islice(value.items(), most)}
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
