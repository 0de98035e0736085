"""Archives, made byte by byte."""

import io
import json
import struct
import zipfile
import zlib

from flows.sources.reading.archive import zstd
from tests.flows.sources.logs import inspect


def packed(*members, compression=zipfile.ZIP_DEFLATED):
    """An archive of (name or ZipInfo, content)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in members:
            made.writestr(name, content)
    return file.getvalue()


def by_hand(*members):
    """An archive of (name, method, packed bytes, size, crc): what ``zipfile`` would not write."""
    out, entries = b"", b""
    for name, method, data, size, crc in members:
        fields = (20, 0, method, 0, 0, crc, len(data), size, len(name), 0)
        entries += struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, *fields, 0, 0, 0, 0, len(out)) + name
        out += struct.pack("<4s5H3I2H", b"PK\x03\x04", *fields) + name + data
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), len(entries), len(out), 0)
    return out + entries + end


def zstd_member(name, content, frames=1):
    step = -(-len(content) // frames)
    data = b"".join(zstd.compress(content[at : at + step]) for at in range(0, len(content), step))
    return name, 93, data, len(content), zlib.crc32(content)


def with_extra(*members):
    """A log of Inspect with two samples and more members."""
    sample = [(f"samples/{n}.json", json.dumps({**inspect.SAMPLE, "uuid": f"u{n}"})) for n in range(2)]
    return packed(("header.json", json.dumps(inspect.HEADER)), *sample, *members)
