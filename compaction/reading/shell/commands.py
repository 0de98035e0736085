"""Simple commands with their surroundings: the program, its directory, and whether it is certain to run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from compaction.reading.shell.programs import GIT_VALUES, KEYWORDS, NO_COMMAND, SAFE, WRAPPERS
from compaction.reading.shell.syntax import Command, Word, parse

_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?$")


@dataclass(slots=True)
class Placed:
    """A command with its working directory."""

    command: Command
    program: str
    words: list[Word]
    """The arguments, without the program."""
    base: str | None
    """Directory that relative paths are under; None when it is not known."""
    conditional: bool

    def path(self, word: Word) -> str | None:
        """The file that a word names, or None when it names none for certain."""
        text = word.text
        if not word.static or not text or text == "-" or len(text) > 400 or "\n" in text or text.startswith("/dev/"):
            return None
        if text.startswith(("/", "~")):
            path = posixpath.normpath(text)
        elif self.base is None:
            return None
        else:
            path = posixpath.normpath(posixpath.join(self.base, text))
        if path in (".", "..", "/", "~") or path.endswith("/.."):
            return None
        return path + "/" if text.endswith("/") else path

    def paths(self, words: Iterable[Word]) -> Iterator[str]:
        """Paths of the words that are plain file names; words with variables or globs are left out."""
        return (path for word in words if (path := self.path(word)) is not None)


def placed_commands(text: str, cwd: str | None) -> Iterator[Placed]:
    """Yield the simple commands of a command line with their working directories.

    Args:
        text: The command line.
        cwd: Where it starts; paths stay relative without it.
    """
    base: str | None = cwd or ""
    stack: list[str | None] = []
    conditional = fallible = False
    for step in parse(text):
        if step == "(":
            stack.append(base)
            continue
        if step == ")":
            base = stack.pop() if stack else base
            continue
        if not isinstance(step, Command):
            continue
        if step.joined_by in ("&&", "|"):
            conditional = conditional or fallible
        elif step.joined_by == "||":
            conditional = True
        else:
            conditional = False
        program, words = _program(step.words)
        fallible = program.split(" ")[0] not in SAFE
        if program in ("cd", "pushd"):
            base = _change_directory(base, cwd, words)
        yield Placed(step, program, words, base, conditional)


def _change_directory(base: str | None, cwd: str | None, words: list[Word]) -> str | None:
    target = next((w for w in words if not w.text.startswith("-") or w.text == "-"), None)
    if target is not None and "$()" in target.text:
        return cwd or ""  # cd "$(git rev-parse --show-toplevel)"
    if target is None or not target.static or target.text == "-":
        return None
    if target.text.startswith(("/", "~")):
        return posixpath.normpath(target.text)
    return None if base is None else posixpath.normpath(posixpath.join(base, target.text))


def _program(words: list[Word]) -> tuple[str, list[Word]]:
    """The program that runs, without what only wraps it, and its arguments; of git also the subcommand."""
    i = 0
    while i < len(words):
        text = words[i].text
        if text in KEYWORDS:
            i += 1
        elif text in WRAPPERS:
            i += 1
            while i < len(words) and (
                words[i].text.startswith("-") or "=" in words[i].text or _NUMBER.match(words[i].text)
            ):
                i += 1
        else:
            break
    if i >= len(words):
        return "", []
    if words[i].text in NO_COMMAND:
        return "", []
    name = words[i].text.rsplit("/", 1)[-1]
    rest = words[i + 1 :]
    if name == "git":
        _, named = split_options(rest, GIT_VALUES, first_only=True)
        if named:
            return f"git {named[0].text}", named[1:]
    return name, rest


def split_options(
    words: list[Word], takes_value: frozenset[str], first_only: bool = False
) -> tuple[list[str], list[Word]]:
    """Options, and the other words. With ``first_only``, no word after the first other one is an option."""
    options: list[str] = []
    named: list[Word] = []
    i = 0
    while i < len(words):
        word = words[i]
        if word.text == "--" and not first_only:
            return options, named + words[i + 1 :]
        if word.text.startswith("-") and len(word.text) > 1:
            options.append(word.text)
            if word.text in takes_value:
                i += 1
        elif first_only:
            return options, words[i:]
        else:
            named.append(word)
        i += 1
    return options, named
