"""Archives are read in memory and member by member, whatever is in them; what cannot be read has its reason."""

import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.flows.sources import logs
from tests.flows.sources.archive_bytes import by_hand, with_extra, zstd_member
from tests.flows.sources.logs import inspect
from tests.flows.sources.properties import check

pytestmark = pytest.mark.timeout(120)
ARCHIVES = sorted(logs.logs_with("ARCHIVE"))
few = settings(max_examples=150, deadline=None)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def samples(place):
    made = {}
    for name in ARCHIVES:
        path = place / f"{name}.sample"
        logs.logs_with("ARCHIVE")[name](path)
        made[name] = path.read_bytes()
    return made


def reasons(result):
    return [aside.reason for aside in result.set_aside]


def ids(result):
    return [transcript.session_id for transcript in result.transcripts if transcript.parent_session_id is None]


def read_bytes(place, data):
    path = place / "log.eval"
    path.write_bytes(data)
    return check(path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_sample_archive_is_recognised_and_read_whole(name, place):
    path = place / name
    logs.logs_with("ARCHIVE")[name](path)
    result = check(path)
    assert (result.format, reasons(result)) == (name, [])
    assert ids(result)


@pytest.mark.parametrize("name", ARCHIVES)
@few
@given(data=st.data())
def test_bytes_of_an_archive_may_be_flipped_anywhere(name, place, samples, data):
    content = bytearray(samples[name])
    for at, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), min_size=1, max_size=8)
    ):
        content[at] = value
    read_bytes(place, bytes(content))


@pytest.mark.parametrize("name", ARCHIVES)
@few
@given(data=st.data())
def test_the_list_of_members_may_be_anything(name, place, samples, data):
    """Flips near the end, where the list is; among all bytes they would be rare."""
    content = bytearray(samples[name])
    start = content.rindex(b"PK\x01\x02") - 200
    for at, value in data.draw(
        st.lists(st.tuples(st.integers(start, len(content) - 1), st.integers(0, 255)), min_size=1, max_size=6)
    ):
        content[at] = value
    read_bytes(place, bytes(content))


@pytest.mark.parametrize("name", ARCHIVES)
@few
@given(data=st.data())
def test_an_archive_may_be_cut_repeated_and_prefixed_anywhere(name, place, samples, data):
    content = samples[name]
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    kind = data.draw(st.sampled_from(["cut", "hole", "twice", "trail"]))
    read_bytes(
        place,
        {
            "cut": content[:second],
            "hole": content[:first] + content[second:],
            "twice": content[:second] + content[first:],
            "trail": content + content[first:second],
        }[kind],
    )


@few
@given(
    members=st.lists(
        st.tuples(
            st.sampled_from([b"header.json", b"samples/1.json", b"../samples/1.json", b"samples/", b"\xff\x00", b""]),
            st.sampled_from([0, 8, 93, 12, 14, 99, 65535]),
            st.binary(max_size=60),
            st.integers(0, (1 << 32) - 1),
            st.integers(0, (1 << 32) - 1),
        ),
        max_size=6,
    )
)
def test_members_may_say_anything_of_themselves(place, members):
    read_bytes(place, by_hand(*members) if members else b"PK\x03\x04")


def test_what_comes_before_a_cut_is_read_without_the_list_of_members(place):
    data = with_extra()
    result = read_bytes(place, data[: data.index(b"PK\x01\x02") + 10])
    assert ids(result) == ["inspect-u0", "inspect-u1"]
    assert len(reasons(result)) == 1
    assert "is missing (the file is cut)" in reasons(result)[0]


def test_of_a_member_that_is_cut_the_ones_before_it_are_read(place):
    data = with_extra()
    result = read_bytes(place, data[: data.index(b"samples/1.json") + 60])
    assert ids(result) == ["inspect-u0"]
    assert reasons(result)[-1] == "samples/1.json: it is cut"


def test_one_bad_entry_in_the_list_does_not_take_the_others_with_it(place):
    data = bytearray(with_extra(("notes.txt", "x")))
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 6] = 255  # a version of the format that nobody has
    result = read_bytes(place, bytes(data))
    assert ids(result) == ["inspect-u0", "inspect-u1"]


@pytest.mark.parametrize("frames", [1, 3])
def test_zstandard_members_are_read_of_one_frame_or_several(place, frames):
    sample = json.dumps(inspect.SAMPLE).encode()
    data = by_hand(
        zstd_member(b"header.json", json.dumps(inspect.HEADER).encode()),
        zstd_member(b"samples/mill_epoch_1.json", sample, frames),
    )
    result = read_bytes(place, data)
    assert (ids(result), reasons(result)) == (["inspect-sample-uuid-1"], [])


def test_members_of_unknown_length_are_found_without_a_list(place):
    """A writer that cannot go back (a pipe) says how long a member is behind it."""

    class Pipe(io.RawIOBase):
        def __init__(self):
            self.data = b""

        def writable(self):
            return True

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(3):
            made.writestr(f"samples/{number}.json", json.dumps({**inspect.SAMPLE, "uuid": f"u{number}"}))
    result = read_bytes(place, pipe.data[: pipe.data.index(b"PK\x01\x02")])
    assert ids(result) == ["inspect-u0", "inspect-u1", "inspect-u2"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../samples/9.json", "leads out of the archive"),
        ("samples/../../9.json", "leads out of the archive"),
        ("/etc/passwd", "no plain path"),
        ("samples\\9.json", "no plain path"),
        ("C:/samples/9.json", "no plain path"),
        ("samples/" + "9" * 2000 + ".json", "too long"),
        ("samples/inner.zip", "an archive in the archive"),
        ("inner.eval", "an archive in the archive"),
        ("notes/readme.txt", "no part of an Inspect log"),
    ],
)
def test_a_member_with_a_bad_name_is_set_aside_and_the_rest_is_read(place, name, reason):
    result = read_bytes(place, with_extra((name, json.dumps(inspect.SAMPLE))))
    assert ids(result) == ["inspect-u0", "inspect-u1"]
    assert [reason in said for said in reasons(result)] == [True]


def link(name):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def test_a_symbolic_link_is_set_aside(place):
    assert reasons(read_bytes(place, with_extra((link("samples/9.json"), "/etc/passwd")))) == [
        "samples/9.json: a symbolic link"
    ]


def test_an_encrypted_member_is_set_aside(place):
    data = bytearray(with_extra(("samples/9.json", "{}")))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    assert reasons(read_bytes(place, bytes(data))) == ["samples/9.json: it is encrypted"]


@pytest.mark.parametrize(("kind", "name"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")])
def test_a_member_that_is_packed_in_another_way_is_set_aside(place, kind, name):
    info = zipfile.ZipInfo("samples/9.json")
    info.compress_type = kind
    result = read_bytes(place, with_extra((info, "{}")))
    assert [f"packed as {name}" in reason for reason in reasons(result)] == [True]


def test_a_wrong_checksum_costs_the_member_and_no_other(place):
    data = bytearray(with_extra(("samples/9.json", json.dumps({**inspect.SAMPLE, "uuid": "u9"}))))
    data[data.rindex(b"PK\x01\x02") + 16] ^= 255
    result = read_bytes(place, bytes(data))
    assert (ids(result), reasons(result)) == (["inspect-u0", "inspect-u1"], ["samples/9.json: its checksum is wrong"])


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_members_with_one_name_the_last_is_read_and_the_others_are_counted(place):
    again = ("samples/1.json", json.dumps({**inspect.SAMPLE, "uuid": "newer"}))
    result = read_bytes(place, with_extra(again, ("samples/", "")))
    assert ids(result) == ["inspect-u0", "inspect-newer"]
    assert result.account.aside["record", "member of an archive that a later one replaces"] == 1
    assert result.account.aside["record", "folder in an archive"] == 1


def test_members_that_overlap_are_set_aside(place):
    """The way of a few kilobytes that unpack to petabytes: all entries share one stream."""
    data = bytearray(with_extra(*((f"samples/{n}.json", "{}") for n in range(2, 5))))
    first = data.index(b"PK\x01\x02")
    entries = [at for at in range(first, len(data) - 4) if data[at : at + 4] == b"PK\x01\x02"]
    for at in entries[3:]:
        data[at + 42 : at + 46] = data[entries[2] + 42 : entries[2] + 46]
    result = read_bytes(place, bytes(data))
    assert ids(result) == ["inspect-u0"] or "overlaps" in " ".join(reasons(result))
    assert sum("it overlaps the next member" in reason for reason in reasons(result)) == 3


MEASURE = """
import resource, sys
from pathlib import Path
from flows.sources.reading.inputs import Input
from flows.sources.registry import InputReading
reading = InputReading(Input(Path(sys.argv[1]), "file", 0, 0))
count = sum(len(transcript) for transcript in reading)
print(count, len(reading.set_aside), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak_of(path):
    """Messages, set aside, and the peak memory (MB) of a process that reads an archive."""
    command = [sys.executable, "-c", MEASURE, str(path)]
    root = {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **root})
    count, aside, peak = map(int, done.stdout.split())
    return count, aside, peak / (1024 if sys.platform != "darwin" else 1 << 20)


@pytest.mark.slow
def test_an_archive_needs_the_memory_of_one_sample(place):
    """Ten times as many samples of 4 MB each need no more memory."""
    peaks = []
    for samples in (4, 40):
        path = place / f"{samples}.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
            for number in range(samples):
                said = [
                    {"role": role, "content": f"{number} {turn} " + "tread " * 3000, "id": f"{number}-{turn}-{role}"}
                    for turn in range(110)
                    for role in ("user", "assistant")
                ]
                sample = {"id": number, "epoch": 1, "messages": said, "uuid": f"u{number}", "target": ""}
                made.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
        count, aside, peak = peak_of(path)
        assert (count, aside) == (220 * samples, 0)
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40
