"""How much of an archive is unpacked, and how many of its members are listed."""

import io
import struct
import zipfile
import zlib

import pytest

from flows.sources.reading import archive, unpacking
from flows.sources.reading.archive import Archive, ArchiveError, zstd
from tests.flows.sources.archive_bytes import by_hand, with_extra

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("method", [8, 93])
def test_a_bomb_is_not_unpacked_beyond_the_limit(monkeypatch, method):
    monkeypatch.setattr(unpacking, "_BOMB_FROM", 4 << 20)
    size = 64 << 20
    if method == 8:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        data = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    else:
        data = zstd.compress(bytes(size))
    opened = Archive(io.BytesIO(by_hand((b"samples/1.json", method, data, size, 0))))
    with pytest.raises(ArchiveError, match=r"unpacks to more than \d+ MB from"):
        opened.read(opened.members["samples/1.json"])


def test_a_member_that_says_less_than_it_holds_is_stopped_there():
    content = bytes(10_000)
    data = zlib.compress(content, 9)[2:-4]
    opened = Archive(io.BytesIO(by_hand((b"a.json", 8, data, 100, zlib.crc32(content)))))
    with pytest.raises(ArchiveError, match="unpacks to more than 100 bytes"):
        opened.read(opened.members["a.json"])


def test_a_member_that_says_too_much_is_not_unpacked_at_all():
    opened = Archive(io.BytesIO(by_hand((b"a.json", 8, b"", unpacking.LONGEST_VALUE + 1, 0))))
    with pytest.raises(ArchiveError, match="at most"):
        opened.read(opened.members["a.json"])


def test_many_bombs_are_given_up_together(monkeypatch):
    """Each may be small enough; together they may not unpack to more than a packed file may."""
    monkeypatch.setattr(unpacking, "_BOMB_FROM", 1 << 20)
    monkeypatch.setattr(unpacking, "MOST_UNPACKED", 3 << 20)
    content = bytes(900_000)
    data = zlib.compress(content, 9)[2:-4]
    members = [(b"%d.json" % n, 8, data, len(content), zlib.crc32(content)) for n in range(10)]
    opened = Archive(io.BytesIO(by_hand(*members)))
    outcomes = []
    for member in opened.members.values():
        try:
            outcomes.append(len(opened.read(member)))
        except ArchiveError as error:
            outcomes.append(str(error)[:24])
    assert outcomes == [len(content)] * 3 + ["the archive unpacks to m"] * 7


def test_a_list_of_members_that_is_too_long_is_not_read_into_memory(monkeypatch):
    monkeypatch.setattr(archive, "LARGEST_DIRECTORY", 1_000)
    monkeypatch.setattr(archive, "MOST_MEMBERS", 50)
    data = by_hand(*((b"%d.json" % n, 0, b"{}", 2, zlib.crc32(b"{}")) for n in range(200)))
    opened = Archive(io.BytesIO(data))
    assert len(opened.members) == 50
    assert opened.problems[0][1].startswith("its list of members has")
    assert opened.problems[1] == ("", "more than 50 members: the rest is not read")


def test_an_archive_of_more_than_65535_members_is_read():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for number in range(66_000):
            made.writestr(str(number), b"")
    opened = Archive(file)
    assert (len(opened.members), opened.problems) == (66_000, [])


def test_a_description_of_the_list_that_lies_elsewhere_is_not_followed():
    data = bytearray(with_extra())
    end = data.rindex(b"PK\x05\x06")
    data[end:end] = struct.pack("<4sIQI", b"PK\x06\x07", 0, 4, 1)
    opened = Archive(io.BytesIO(bytes(data)))
    assert len(opened.members) == 3
    assert [reason.partition(";")[0] for _, reason in opened.problems] == [
        "its list of members is described elsewhere than before its end"
    ]


def test_problems_beyond_a_number_are_counted_and_not_listed(monkeypatch):
    monkeypatch.setattr(archive, "MOST_PROBLEMS", 3)
    data = by_hand(*((b"../%d.json" % n, 0, b"", 0, 0) for n in range(10)))
    problems = Archive(io.BytesIO(data)).problems
    assert len(problems) == 4
    assert problems[-1] == ("", "7 more members: its name leads out of the archive")
