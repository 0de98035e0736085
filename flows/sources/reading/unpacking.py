"""The bytes of a file, unpacked where it is packed."""

from __future__ import annotations

import errno
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, Literal, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP = b"\x1f\x8b"
ZSTD_FRAMES = (b"\x28\xb5\x2f\xfd", *(bytes((number,)) + b"\x2a\x4d\x18" for number in range(0x50, 0x60)))
"""How a Zstandard frame begins, and one to be skipped, which some packers (pzstd) write first (RFC 8878, 3.1)."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
LONGEST_VALUE = 512 << 20
"""Bytes of the longest JSON value (a line, or a file that is one value) that is read: five times that in memory."""
MOST_UNPACKED = 4 << 30
"""Bytes that a packed file may unpack to."""
_BOMB_FROM, _BOMB_RATIO = 256 << 20, 250
_IN_MEMORY = 32 << 20
ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 27}
"""128 MB of memory for a Zstandard stream."""


def open_bytes(path: Path, most: int = MOST_UNPACKED) -> tuple[BinaryIO, str | None]:
    """The bytes of a file, unpacked by its first bytes and not by its name, as UTF-8.

    What is packed is unpacked into a temporary file, in memory while it is small.

    Args:
        path: The file. A device, a pipe or a socket is refused unopened: it may have no end.
        most: Bytes that a packed file may unpack to.

    Returns:
        A file to read and seek in, and a sentence when not all could be unpacked.

    Raises:
        OSError: The file cannot be opened, or there is no room to unpack it.
    """
    file = _open_file(path)
    magic = file.read(4) or b""
    file.seek(0)
    broken = None
    if magic.startswith(_GZIP):
        file, broken = _unpack(file, "gzip", most)
    elif magic.startswith(ZSTD_FRAMES):
        file, broken = _unpack(file, "zstd", most)
    elif magic.startswith(_UTF16):
        with file:
            text = file.read(LONGEST_VALUE).decode("utf-16", "replace")
        file = BytesIO(text.encode("utf-8", "replace"))
    return file, broken


def _open_file(path: Path) -> BinaryIO:
    found = os.stat(path)
    _refuse_endless(found.st_mode)
    buffer = min(_CHUNK, max(found.st_size, 1 << 13))  # of 100,000 small files each would otherwise cost a megabyte
    # What stands there now may be another thing than a moment ago, and the opening of a pipe waits for its writer.
    file = open(path, "rb", buffering=buffer, opener=lambda name, flags: os.open(name, flags | _AT_ONCE))  # noqa: SIM115
    try:
        _refuse_endless(os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def _refuse_endless(mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, f"{_KINDS.get(stat.S_IFMT(mode), 'something else')}, not a file")


def _unpack(packed: BinaryIO, name: Literal["gzip", "zstd"], most: int) -> tuple[BinaryIO, str | None]:
    out = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 (closed with the source)
    try:
        with packed:
            broken = _inflate(packed, out, name, most)
        with _naming_temporary_file():
            out.seek(0)
        if out.read(4).startswith((_GZIP, *ZSTD_FRAMES)):
            out.close()
            return BytesIO(), f"packed twice: there is another packed file in the {name} stream; unpack it once"
        out.seek(0)
    except BaseException:
        with suppress(OSError):  # closing writes what is still in the buffer
            out.close()
        raise
    return out, broken


@contextmanager
def _naming_temporary_file() -> Iterator[None]:
    """Names the temporary file in the error when something cannot be written to it."""
    try:
        yield
    except OSError as error:
        why = f"no room to unpack it in the temporary folder ({error.strerror}); TMPDIR names another one"
        raise OSError(errno.ENOSPC, why) from None


_MAKERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "zstd": lambda: zstd.ZstdDecompressor(options=ZSTD_OPTIONS),
}


def _inflate(packed: BinaryIO, out: BinaryIO, name: Literal["gzip", "zstd"], most: int) -> str | None:
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
                data = at.decompress(chunk)
                with _naming_temporary_file():
                    made += out.write(data)
                chunk = at.unused_data if at.eof else b""
                if at.eof and chunk.strip(b"\0"):
                    at = make()  # a file may hold several streams one after the other
                else:
                    chunk = b""  # zero bytes behind the last one are padding
            if made > most or is_bomb(taken, made):
                return (
                    f"the {name} stream unpacks to more than {made >> 20:,} MB from {taken:,} bytes: not read further"
                )
    except (zlib.error, zstd.ZstdError, EOFError) as problem:
        return f"the {name} stream is damaged ({problem}); what came before is read"
    return None if at.eof else f"the {name} stream is cut; what came before is read"


def is_bomb(taken: int, made: int) -> bool:
    """Whether ``taken`` packed bytes gave so many unpacked bytes (``made``) that the file is a compression bomb."""
    return made > _BOMB_FROM and made > _BOMB_RATIO * taken
