"""Made-up projects: where they lie, their files, the names in their code, the packages that they stand on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count, islice
from random import Random

from tests.synth.chance import chance_of
from tests.synth.words import ADJECTIVES, CODE, NOUNS, PACKAGES, VERBS

LANGUAGES = ("python", "typescript", "go")
SUFFIXES = {"python": ".py", "typescript": ".ts", "go": ".go"}
_FOLDERS = {
    "python": ("src/{p}", "src/{p}/api", "src/{p}/jobs", "src/{p}/store", "scripts"),
    "typescript": ("src", "src/routes", "src/services", "src/lib", "packages/{p}/src"),
    "go": ("cmd/{p}", "internal/store", "internal/http", "internal/jobs", "pkg/{p}"),
}
NAMES = 256
_RECENT_PROJECTS = 128


class Project:
    """One of them; the same for a seed and a number, whatever else is made."""

    def __init__(self, seed: int, number: int) -> None:
        self.key = f"{seed}/project/{number}"
        chance = chance_of(self.key)
        self.language = chance.choice(LANGUAGES)
        self.name = f"{chance.choice(ADJECTIVES)}-{chance.choice(NOUNS)}-{number}"
        self.root = f"/srv/work/{self.name}"
        self.components = _pairs(chance, NOUNS, NOUNS, " ", 32)
        self.names = _names(chance, self.language)
        self.packages = tuple(
            (package, f"{chance.randint(0, 9)}.{chance.randint(0, 40)}.{chance.randint(0, 12)}")
            for package in PACKAGES[self.language]
        )
        self.files = tuple(dict.fromkeys(self._files(chance)))
        self.tests = tuple(self._test(path) for path in self.files)
        self._lines = tuple((line, "%" in line) for line in CODE[self.language])

    def _files(self, chance: Random) -> Iterator[str]:
        package = self.name.split("-")[1]
        folders = [folder.format(p=package) for folder in _FOLDERS[self.language]]
        stems = _pairs(chance, NOUNS, NOUNS, "_", chance.randint(40, 160))
        for at, folder in enumerate(chance.choices(folders, k=len(stems))):
            stem = stems[at] if at % 5 < 3 else stems[at].partition("_")[0]
            yield f"{folder}/{stem}{SUFFIXES[self.language]}"

    def _test(self, path: str) -> str:
        folder, _, file = path.rpartition("/")
        stem = file.removesuffix(SUFFIXES[self.language])
        if self.language == "python":
            return f"tests/test_{stem}.py"
        return f"tests/{stem}.test.ts" if self.language == "typescript" else f"{folder}/{stem}_test.go"

    def code(self, chance: Random, size: int) -> list[str]:
        """Lines of code, about ``size`` characters together, with names of this project."""
        names, patterns = self.names, self._lines
        near = int(chance.random() * NAMES)  # one piece of code uses a few of the names only
        drawn = chance.randbytes(5 * max(1, size // 34))  # many times as fast as a draw each
        lines = []
        for at in range(0, len(drawn), 5):
            line, slots = patterns[drawn[at] & 15]
            if slots:
                number = drawn[at + 3] if drawn[at + 4] < 200 else drawn[at + 3] << 8 | drawn[at + 4]
                line %= names[near + (drawn[at + 1] & 63) & 255], names[near + (drawn[at + 2] & 63) & 255], number
            lines.append(line)
        return lines

    def file_text(self, path: str, size: int, salt: str = "") -> str:
        """What stands in a file, from its beginning; with the same ``salt`` the same text however often it is read."""
        lines = self.code(chance_of(self.key, path, salt), size)
        return "\n".join(lines)[: max(size, 1)]


def _pairs(
    chance: Random, first: tuple[str, ...], second: tuple[str, ...], between: str, count: int
) -> tuple[str, ...]:
    pairs = zip(chance.choices(first, k=count), chance.choices(second, k=count), strict=True)
    return tuple(map(between.join, pairs))


def _names(chance: Random, language: str) -> tuple[str, ...]:
    """Names in the code: of functions in the language's way, every eighth of a type."""
    words = [
        (verb, *rest.split(" "))
        for verb, rest in zip(
            chance.choices(VERBS, k=NAMES),
            (*_pairs(chance, ADJECTIVES, NOUNS, " ", NAMES // 2), *chance.choices(NOUNS, k=NAMES // 2)),
            strict=True,
        )
    ]
    return tuple(
        "".join(map(str.title, name[1:])) + name[0].title()
        if at % 8 == 0
        else "_".join(name)
        if language == "python"
        else name[0] + "".join(map(str.title, name[1:]))
        for at, name in enumerate(words)
    )


@lru_cache(maxsize=_RECENT_PROJECTS)
def project(seed: int, number: int) -> Project:
    """A project, made once as long as it is in use."""
    return Project(seed, number)


@lru_cache(maxsize=_RECENT_PROJECTS)
def common_project(seed: int, language: str) -> Project:
    """What texts are about that stand in the sessions of many projects."""
    return next(found for number in count(1) if (found := project(seed, -number)).language == language)


def numbered(lines: list[str], size: int) -> str:
    """Lines as a reading tool shows them, with their numbers, ``size`` characters at most."""
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(islice(lines, size // 8 + 1), 1))[:size]
