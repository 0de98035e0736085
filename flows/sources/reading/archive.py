"""Untrusted zip archives, read member by member in memory; nothing is written to disk.

``zipfile`` reads the list of members. Their bytes are unpacked here, in bounded steps, for three things that it does
not do: it drops all of an archive for one bad entry of the list, it cannot read one whose list is cut off (a run that
was killed), and it takes a Zstandard member of several frames for its first frame.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from flows.sources.reading import unpacking

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MOST_MEMBERS = 250_000
"""Members of an archive that are looked at: 150 MB of names and places."""
LARGEST_DIRECTORY = 16 << 20
"""Bytes of the list of members that ``zipfile`` may read: it keeps half a kilobyte for every 50 of them."""
MOST_PROBLEMS = 1_000
"""Members that are named one by one when they cannot be read; the rest is counted."""
_LOCAL, _ENTRY, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_HEADER = struct.Struct("<4s5H3I2H")
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_METHODS = {1: "shrunk", 6: "imploded", 9: "deflate64", 12: "bzip2", 14: "LZMA", 95: "XZ", 98: "PPMd", 99: "AES"}
_ENCRYPTED, _SIZES_BEHIND, _UTF8 = 0x1, 0x8, 0x800
_ZIP64, _ZIP64_FIELD = 0xFFFFFFFF, 1
_STEP, _PIECE = 1 << 16, 1 << 20
_UNIX = 3
_LONGEST_NAME, _SHOWN = 1_000, 200


class ArchiveError(ValueError):
    """A member that is not read; the message says why."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive."""

    name: str
    offset: int
    """Where its header begins, in bytes."""
    method: int
    packed: int | None
    """Bytes in the archive; None when they are only known at their end."""
    size: int | None
    """Bytes unpacked, as the archive says."""
    crc: int | None
    is_encrypted: bool = False


class Archive:
    """A zip archive: its members by name, and what of it will not be read.

    Args:
        file: The archive; it stays open, and is not closed here.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.members: dict[str, Member] = {}
        """In the order of the archive. Of several with one name the last: that is how a writer replaces one."""
        self.problems: list[tuple[str, str]] = []
        """(name of the member, or nothing; why it is not read)."""
        self.replaced = 0
        """Members that a later one of the same name replaces."""
        self.folders = 0
        self._taken = self._made = 0
        self._unnamed: Counter[str] = Counter()
        self._list()
        self.problems += [("", f"{count:,} more members: {reason}") for reason, count in self._unnamed.items()]

    def _refuse(self, name: str, reason: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((name[:_SHOWN], reason))
        else:
            self._unnamed[reason] += 1

    def _list(self) -> None:
        cause = self._cause_to_walk()
        if cause is None:
            try:
                with zipfile.ZipFile(self.file) as listed:
                    infos = listed.infolist()
            except Exception as error:  # a damaged list raises nearly anything
                cause = f"its list of members cannot be read ({type(error).__name__}: {error})"
            else:
                self._take_listed(infos)
                return
        self._refuse("", f"{cause}; its members are read one after the other")
        for number, member in enumerate(self._walk()):
            if number == MOST_MEMBERS:
                self._refuse("", f"more than {MOST_MEMBERS:,} members: the rest is not read")
                break
            self._take(member)

    def _cause_to_walk(self) -> str | None:
        """Why ``zipfile`` must not read the list (it is missing or too long); None where it may."""
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(0, size - (1 << 16) - 22))
        tail = self.file.read()
        at = tail.rfind(_END)
        if at < 0 or len(tail) - at < 22:
            return "the list of members at its end is missing (the file is cut)"
        length = int.from_bytes(tail[at + 12 : at + 16], "little")
        record = tail[max(0, at - 76) : at]
        if record.startswith(b"PK\x06\x06"):  # of large archives: its figure counts, whatever the other one says
            length = int.from_bytes(record[40:48], "little")
        elif record[56:].startswith(b"PK\x06\x07"):
            return "its list of members is described elsewhere than before its end"
        if length > LARGEST_DIRECTORY:
            return f"its list of members has {length:,} bytes; at most {LARGEST_DIRECTORY:,} are read"
        return None

    def _take_listed(self, infos: list[zipfile.ZipInfo]) -> None:
        ends: dict[int, int] = {}
        after: int | None = None
        for info in sorted(infos, key=lambda info: info.header_offset, reverse=True):
            # Entries that share bytes are how a small archive claims to hold petabytes.
            if after is not None and info.header_offset + _HEADER.size + info.compress_size > after:
                ends[id(info)] = after
            after = info.header_offset
        for info in infos:
            mode = info.external_attr >> 16 if info.create_system == _UNIX else 0
            if id(info) in ends:
                self._refuse(info.orig_filename, "it overlaps the next member")
            elif stat.S_ISLNK(mode):
                self._refuse(info.orig_filename, "a symbolic link")
            else:
                self._take(
                    Member(
                        info.orig_filename,
                        info.header_offset,
                        info.compress_type,
                        info.compress_size,
                        info.file_size,
                        info.CRC,
                        bool(info.flag_bits & _ENCRYPTED),
                    )
                )

    def _take(self, member: Member) -> None:
        reason = _bad_name(member.name)
        if reason:
            self._refuse(member.name, reason)
        elif member.name.endswith("/"):
            self.folders += 1
        elif member.is_encrypted:
            self._refuse(member.name, "it is encrypted")
        elif member.method not in (_STORED, _DEFLATED, _ZSTD):
            kind = _METHODS.get(member.method, f"method {member.method}")
            self._refuse(member.name, f"packed as {kind}; stored, deflated and Zstandard members can be read")
        else:
            self.replaced += self.members.pop(member.name, None) is not None
            self.members[member.name] = member

    def _walk(self) -> Iterator[Member]:
        """The members by their own headers, from the start: for archives without a usable list."""
        at = 0
        while True:
            self.file.seek(at)
            start = self.file.read(_HEADER.size)
            if len(start) < _HEADER.size or start[:4] != _LOCAL:
                if start and start[:4] not in (_ENTRY, _END, b"PK\x06\x06"):
                    self._refuse("", f"no member begins at byte {at:,}: what follows is not read")
                return
            _, _, flags, method, _, _, crc, packed, size, n_name, n_extra = _HEADER.unpack(start)
            name = self.file.read(n_name).decode("utf-8" if flags & _UTF8 else "cp437", "replace")
            packed, size = _long_sizes(self.file.read(n_extra), packed, size)
            known = not flags & _SIZES_BEHIND
            member = Member(
                name,
                at,
                method,
                packed if known else None,
                size if known else None,
                crc if known else None,
                bool(flags & _ENCRYPTED),
            )
            yield member
            begin = at + _HEADER.size + n_name + n_extra
            end = begin + packed if known else self._end_of(member, begin)
            if end is None:
                self._refuse(name, "its end cannot be found: what follows is not read")
                return
            at = end

    def _end_of(self, member: Member, begin: int) -> int | None:
        """The end of a member whose length is written after it; None when it cannot be found."""
        if member.method not in (_DEFLATED, _ZSTD):
            return None
        try:
            stream = _Stream(self.file, member, begin)
            for _ in self._unpack(stream):
                pass
        except ArchiveError:
            return None
        self.file.seek(stream.end)
        behind = self.file.read(28)
        found = [at for sign in (_LOCAL, _ENTRY) if (at := behind.find(sign, 12)) >= 0]
        return stream.end + min(found) if found else None

    def read(self, member: Member) -> bytearray:
        """The bytes of a member.

        Raises:
            ArchiveError: It is damaged, is too long, or unpacks to far more than it takes in the archive.
        """
        if member.size is not None and member.size > unpacking.LONGEST_VALUE:
            raise ArchiveError(f"it unpacks to {member.size:,} bytes; at most {unpacking.LONGEST_VALUE:,} are read")
        try:
            self.file.seek(member.offset)
            start = self.file.read(_HEADER.size)
        except (OSError, ValueError) as error:
            raise ArchiveError(f"it cannot be read ({error})") from None
        if len(start) < _HEADER.size or start[:4] != _LOCAL:
            raise ArchiveError("no member begins where the archive says")
        n_name, n_extra = _HEADER.unpack(start)[-2:]
        out, crc = bytearray(), 0
        for piece in self._unpack(_Stream(self.file, member, member.offset + _HEADER.size + n_name + n_extra)):
            out += piece
            crc = zlib.crc32(piece, crc)
        if member.size is not None and len(out) != member.size:
            raise ArchiveError(f"it has {len(out):,} bytes where the archive says {member.size:,}")
        if member.crc is not None and crc != member.crc:
            raise ArchiveError("its checksum is wrong")
        return out

    def _unpack(self, stream: _Stream) -> Iterator[bytes]:
        """The unpacked pieces of a member. Raises ArchiveError when the archive as a whole looks like a zip bomb."""
        try:
            for piece in stream:
                taken, made = self._taken + stream.taken, self._made + stream.made
                if made > unpacking.MOST_UNPACKED and unpacking.is_bomb(taken, made):
                    raise ArchiveError(f"the archive unpacks to more than {made >> 20:,} MB from {taken:,} bytes")
                yield piece
        finally:
            self._taken += stream.taken
            self._made += stream.made


class _Stream:
    """Unpacks one member, piece by piece of at most 1 MB or so."""

    def __init__(self, file: BinaryIO, member: Member, begin: int) -> None:
        self.file = file
        self.member = member
        self.end = begin
        """The position after its last byte, once it has been read."""
        self.taken = self.made = 0

    def __iter__(self) -> Iterator[bytes]:
        limit = unpacking.LONGEST_VALUE if self.member.size is None else min(unpacking.LONGEST_VALUE, self.member.size)
        unpacked = {_STORED: self._chunks, _DEFLATED: self._inflated, _ZSTD: self._from_zstd}[self.member.method]
        try:
            for piece in unpacked():
                self.made += len(piece)
                if self.made > limit:
                    raise ArchiveError(f"it unpacks to more than {limit:,} bytes")
                if unpacking.is_bomb(self.taken, self.made):
                    raise ArchiveError(f"it unpacks to more than {self.made >> 20:,} MB from {self.taken:,} bytes")
                yield piece
        except (zlib.error, zstd.ZstdError, EOFError) as error:
            raise ArchiveError(f"it is damaged ({error})") from None
        except (OSError, ValueError, OverflowError, MemoryError) as error:
            if isinstance(error, ArchiveError):
                raise
            raise ArchiveError(f"it cannot be read ({error})") from None

    def _chunks(self) -> Iterator[bytes]:
        """The packed bytes."""
        left = self.member.packed
        self.file.seek(self.end)
        while left is None or left > 0:
            at = self.end
            self.file.seek(at)
            chunk = self.file.read(_STEP if left is None else min(_STEP, left))
            if not chunk:
                if left is not None:
                    raise ArchiveError("it is cut")
                return
            self.end += len(chunk)
            self.taken += len(chunk)
            left = None if left is None else left - len(chunk)
            yield chunk

    def _inflated(self) -> Iterator[bytes]:
        at = zlib.decompressobj(wbits=-15)
        for chunk in self._chunks():
            rest = chunk
            while rest and not at.eof:
                yield at.decompress(rest, _PIECE)
                rest = at.unconsumed_tail
            if at.eof:
                self._give_back(len(at.unused_data))
                return
        raise ArchiveError("it is cut")

    def _from_zstd(self) -> Iterator[bytes]:
        at: zstd.ZstdDecompressor | None = None
        for chunk in self._chunks():
            rest = chunk
            while rest or (at is not None and not at.needs_input):
                if at is None:
                    if self.member.packed is None and self.made and not rest.startswith(unpacking.ZSTD_FRAMES):
                        self._give_back(len(rest))
                        return
                    at = zstd.ZstdDecompressor(options=unpacking.ZSTD_OPTIONS)
                yield at.decompress(rest, _PIECE)
                rest = b""
                if at.eof:  # a member may be several frames one after the other
                    rest, at = at.unused_data, None
        if at is not None:
            raise ArchiveError("it is cut")

    def _give_back(self, count: int) -> None:
        """Returns bytes to the file that were read but belong to the next member."""
        self.end -= count
        self.taken -= count


def _bad_name(name: str) -> str | None:
    if len(name) > _LONGEST_NAME:
        return "its name is too long"
    if not name or "\0" in name or "\\" in name or ":" in name.partition("/")[0] or name.startswith("/"):
        return "its name is no plain path"
    if any(part in ("..", ".") for part in name.split("/")):
        return "its name leads out of the archive"
    return None


def _long_sizes(extra: bytes, packed: int, size: int) -> tuple[int, int]:
    """The lengths (packed, unpacked) of a member of more than 4 GB, from the extra field that holds them."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == _ZIP64_FIELD:
            values = [*struct.unpack_from(f"<{min(length, len(extra) - at - 4) // 8}Q", extra, at + 4)]
            if size == _ZIP64 and values:
                size = values.pop(0)
            if packed == _ZIP64 and values:
                packed = values.pop(0)
        at += 4 + length
    return packed, size
