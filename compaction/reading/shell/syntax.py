"""A reader of bash command lines: enough syntax to say which program gets which words, and no more.

It never runs, expands or looks up anything. Written by hand because agents' commands carry whole files in heredocs,
which a general parser reads an order of magnitude slower, or refuses. Time is linear in the length of the command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

MAX_DEPTH = 24
"""Nested substitutions that are read as commands; deeper ones are skipped, so that hostile input cannot recurse."""

_SPACES = re.compile(r"[ \t\r]+")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()*?\[{]+")
_IN_DOUBLE = re.compile(r"[\"\\`$]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_BRACED_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
_BRACED = re.compile(r"\{[^}\n]{0,300}\}")
_BRACE_LIST = re.compile(r"\{[^{}\s]{0,300}(?:,|\.\.)[^{}\s]{0,300}\}")
_REDIRECT = re.compile(r"<<<|<<-?|<>|<&|<|>>|>\||>&|>")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(?=(.*))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command after quotes were removed."""

    text: str
    static: bool = True
    """False when the shell would still expand it: a variable that is not known, a glob, a substitution."""
    quoted: bool = False


@dataclass(slots=True)
class Command:
    """One simple command: a program with its words, redirections and heredocs."""

    words: list[Word] = field(default_factory=list)
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    heredocs: list[str] = field(default_factory=list)
    joined_by: str = ""
    """The operator between the command before and this one: ``&&``, ``||``, ``|``, ``;``, ``&``, a line end."""


Step = Command | Literal["(", ")"]
"""A command, or where a subshell begins and ends: what ``cd`` does inside it does not last."""


@lru_cache(maxsize=8192)
def parse(text: str) -> tuple[Step, ...]:
    """The simple commands of a command line, in order of reading; those inside ``$(…)`` come before their user."""
    return tuple(_Parser(text).run())


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.depth = 0
        self.steps: list[Step] = []
        self.pending: list[tuple[Command, str, bool]] = []
        self.variables: dict[str, str] = {}
        self.joined_by = ""

    def run(self) -> list[Step]:
        while self.pos < len(self.text):
            self._list("")
        return self.steps

    def _list(self, closer: str) -> None:
        """Reads commands up to ``closer`` or the end."""
        text, size = self.text, len(self.text)
        outer_join, self.joined_by = self.joined_by, ""
        command = Command()
        while self.pos < size:
            char = text[self.pos]
            if char in " \t\r":
                self.pos = _SPACES.match(text, self.pos).end()  # type: ignore[union-attr]
            elif char in "\n;&|":
                command = self._operator(command)
            elif char == "(":
                command = self._parenthesis(command)
            elif char == ")":
                self.pos += 1
                if closer == ")":
                    self._finish(command, "")
                    self.joined_by = outer_join
                    return
                command = Command()  # the pattern of a case branch
            elif char == "#":
                end = text.find("\n", self.pos)
                self.pos = size if end < 0 else end
            elif char in "<>":
                self._redirect(command)
            else:
                word = self._word()
                if word.text.isdigit() and not word.quoted and self.pos < size and text[self.pos] in "<>":
                    continue  # a file descriptor
                command.words.append(word)
        self._finish(command, "")
        self.joined_by = outer_join

    def _operator(self, command: Command) -> Command:
        text, pos = self.text, self.pos
        pair = text[pos : pos + 2]
        if pair == "&>":
            self.pos += 1
            self._redirect(command)
            return command
        operator = pair if pair in ("&&", "||", ";;", "|&") else text[pos]
        self.pos += len(operator)
        self._finish(command, "|" if operator == "|&" else operator)
        if operator == "\n" and self.pending:
            self._heredocs()
        return Command()

    def _parenthesis(self, command: Command) -> Command:
        self.pos += 1
        if self.depth >= MAX_DEPTH:
            return command
        if len(command.words) == 1 and self.text.startswith(")", self.pos):
            self.pos += 1  # a function's definition: what its body does is read where it is written
            return Command()
        joined_by = self.joined_by
        self._inner(")")
        self.joined_by = joined_by
        return command

    def _inner(self, closer: str) -> None:
        self.depth += 1
        self.steps.append("(")
        self._list(closer)
        self.steps.append(")")
        self.depth -= 1

    def _finish(self, command: Command, operator: str) -> None:
        if command.words or command.redirects:
            command.joined_by = self.joined_by
            self._assign(command)
            self.steps.append(command)
            self.joined_by = operator
        elif operator != "\n":
            self.joined_by = operator

    def _assign(self, command: Command) -> None:
        """Removes leading ``NAME=value`` words; remembers them when there is nothing else."""
        found: list[tuple[str, Word, str]] = []
        for word in command.words:
            match = _ASSIGNMENT.match(word.text)
            if match is None:
                break
            found.append((match[1], word, match[2]))
        command.words = command.words[len(found) :]
        if command.words:
            return
        for name, word, value in found:
            if word.static and len(value) < 4096:
                self.variables[name] = value
            else:
                self.variables.pop(name, None)

    def _heredocs(self) -> None:
        """Read the bodies that the line just ended has announced."""
        for command, delimiter, strip_tabs in self.pending:
            if self.text.startswith("\n", self.pos):
                self.pos += 1
            start = self.pos
            last_line = re.compile(("\n\t*" if strip_tabs else "\n") + re.escape(delimiter) + r"(?=[\r\n)]|\Z)")
            end = last_line.search(self.text, max(start - 1, 0))
            command.heredocs.append(self.text[start : end.start() + 1] if end else self.text[start:])
            self.pos = end.end() if end else len(self.text)
        self.pending = []

    def _redirect(self, command: Command) -> None:
        text = self.text
        match = _REDIRECT.match(text, self.pos)
        operator = match[0] if match else text[self.pos]
        if operator in ("<", ">") and text.startswith("(", self.pos + 1):
            self.pos += 2
            if self.depth < MAX_DEPTH:
                self._inner(")")
            command.words.append(Word("", static=False))
            return
        self.pos += len(operator)
        spaces = _SPACES.match(text, self.pos)
        if spaces:
            self.pos = spaces.end()
        if self.pos >= len(text) or text[self.pos] in "\n;&|<>()":
            return
        target = self._word()
        if operator in ("<<", "<<-"):
            self.pending.append((command, target.text, operator == "<<-"))
        elif not (operator in (">&", "<&") and (target.text.isdigit() or target.text == "-")):
            command.redirects.append((operator, target))

    def _word(self) -> Word:
        text, size = self.text, len(self.text)
        parts: list[str] = []
        static, quoted = True, False
        begin = self.pos
        while self.pos < size:
            plain = _PLAIN.match(text, self.pos)
            if plain:
                parts.append(plain[0])
                self.pos = plain.end()
                continue
            char = text[self.pos]
            if char.isspace() or char in ";&|<>()":
                break
            if char == "'":
                end = text.find("'", self.pos + 1)
                end = size if end < 0 else end
                parts.append(text[self.pos + 1 : end])
                self.pos, quoted = end + 1, True
            elif char == '"':
                static = self._double(parts) and static
                quoted = True
            elif char == "\\":
                if text[self.pos + 1 : self.pos + 2] != "\n":
                    parts.append(text[self.pos + 1 : self.pos + 2])
                self.pos += 2
            elif char in "$`":
                static = self._expansion(parts) and static
            else:
                if char in "*?[" or _BRACE_LIST.match(text, self.pos):
                    static = False
                parts.append(char)
                self.pos += 1
        if self.pos == begin:
            self.pos += 1  # a space that is none of the shell's own
        return Word("".join(parts), static, quoted)

    def _double(self, parts: list[str]) -> bool:
        """Read a double-quoted string; False when something in it is still to be expanded."""
        text, size = self.text, len(self.text)
        self.pos += 1
        static = True
        while self.pos < size:
            match = _IN_DOUBLE.search(text, self.pos)
            if match is None:
                parts.append(text[self.pos :])
                self.pos = size
                break
            parts.append(text[self.pos : match.start()])
            self.pos = match.start()
            char = match[0]
            if char == '"':
                self.pos += 1
                break
            if char == "\\":
                following = text[self.pos + 1 : self.pos + 2]
                if following != "\n":
                    parts.append(following if following in '"\\$`' else "\\" + following)
                self.pos += 2
            else:
                static = self._expansion(parts) and static
        return static

    def _expansion(self, parts: list[str]) -> bool:
        """Read ``$…`` or a back-quoted command; False unless its value is known."""
        text, pos = self.text, self.pos
        if text[pos] == "`":
            end = text.find("`", pos + 1)
            self.pos = len(text) if end < 0 else end + 1
            return False
        if text.startswith("$((", pos):
            end = text.find("))", pos, pos + 400)
            self.pos = end + 2 if end > 0 else pos + 3
            return False
        if text.startswith("$(", pos):
            self.pos += 2
            if self.depth < MAX_DEPTH:
                self._inner(")")
            parts.append("$()")
            return False
        self.pos += 1
        name = _NAME.match(text, self.pos) or _BRACED_NAME.match(text, self.pos)
        if name:
            self.pos = name.end()
            value = self.variables.get(name[name.lastindex or 0])
            parts.append("$" + name[0] if value is None else value)
            return value is not None
        braced = _BRACED.match(text, self.pos)
        if braced:
            self.pos = braced.end()
            parts.append("$")
            return False
        following = text[self.pos : self.pos + 1]
        if following == "'":
            return True  # $'…' is a quoted string
        parts.append("$")
        return not (following and following in "@*#?!$0123456789-{")
