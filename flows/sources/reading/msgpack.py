"""Reads MessagePack, in which some frameworks store values. What a program has added is an ``Extension``."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from flows.sources.reading.base import MalformedError

_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_SIZES = {1: ">B", 2: ">H", 4: ">I"}
_BYTES, _TEXTS, _LISTS, _MAPS = (
    {0xC4: 1, 0xC5: 2, 0xC6: 4},
    {0xD9: 1, 0xDA: 2, 0xDB: 4},
    {0xDC: 2, 0xDD: 4},
    {0xDE: 2, 0xDF: 4},
)
_EXTENSIONS, _FIXED = {0xC7: 1, 0xC8: 2, 0xC9: 4}, {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


@dataclass(frozen=True, slots=True)
class Extension:
    """A value of a kind that a program has added."""

    code: int
    data: bytes


def unpack(data: bytes) -> Any:
    """The one value that bytes are.

    Raises:
        MalformedError: They are no value, or end before it does.
    """
    value, end = _Unpacking(data).value(0)
    if end != len(data):
        raise MalformedError(f"{len(data) - end:,} bytes behind the value")
    return value


class _Unpacking:
    """Each method takes a position, and returns what stands there and the position behind it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def value(self, at: int) -> tuple[Any, int]:
        kind, at = self.number(">B", at)
        if kind < 0x80 or kind >= 0xE0:
            return kind if kind < 0x80 else kind - 0x100, at
        if kind < 0x90:
            return self.map(kind & 0x0F, at)
        if kind < 0xA0:
            return self.list(kind & 0x0F, at)
        if kind < 0xC0:
            return self.text(kind & 0x1F, at)
        if kind in _CONSTANTS:
            return _CONSTANTS[kind], at
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind], at)
        if kind in _FIXED:
            return self.extension(_FIXED[kind], at)
        for sizes, read in (
            (_TEXTS, self.text),
            (_LISTS, self.list),
            (_MAPS, self.map),
            (_BYTES, self.bytes),
            (_EXTENSIONS, self.extension),
        ):
            if kind in sizes:
                size, at = self.number(_SIZES[sizes[kind]], at)
                return read(size, at)
        raise MalformedError(f"byte {kind:#x}, which begins no value")

    def number(self, form: str, at: int) -> tuple[Any, int]:
        size = struct.calcsize(form)
        piece, end = self.bytes(size, at)
        return struct.unpack(form, piece)[0], end

    def bytes(self, size: int, at: int) -> tuple[bytes, int]:
        if at + size > len(self.data):
            raise MalformedError("the value is cut off")
        return self.data[at : at + size], at + size

    def text(self, size: int, at: int) -> tuple[str, int]:
        piece, end = self.bytes(size, at)
        return piece.decode("utf-8", "replace"), end

    def extension(self, size: int, at: int) -> tuple[Extension, int]:
        code, at = self.number(">b", at)
        piece, end = self.bytes(size, at)
        return Extension(code, piece), end

    def list(self, size: int, at: int) -> tuple[list[Any], int]:
        found = []
        for _ in range(size):
            value, at = self.value(at)
            found.append(value)
        return found, at

    def map(self, size: int, at: int) -> tuple[dict[str, Any], int]:
        found = {}
        for _ in range(size):
            key, at = self.value(at)
            found[str(key)], at = self.value(at)
        return found, at
