"""One session, message by message: who speaks when, which tools are called on which files, how long everything is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from random import Random
from typing import Any

from tests.synth import words
from tests.synth.chance import chance_of
from tests.synth.outputs import Shell
from tests.synth.profile import TOOLS, Band, Profile, Spread, Tool
from tests.synth.project import Project, common_project, numbered, project
from tests.synth.speech import SHORT, Speech

COMMON_TEXTS = 15
"""Tool results of each kind that may stand in many sessions of projects in one language."""
INSTRUCTIONS = 3
"""System prompts that these share."""
_COMMON = ("shell", "read", "search", "other")
_PLAIN_CALL = 60
"""Characters of a command without a change of folder before it."""
_FILE_WORDS = 48


@dataclass(frozen=True)
class Call:
    """One call of a tool, and what it answers."""

    id: str
    tool: str
    """One of ``TOOLS``."""
    values: dict[str, Any]
    result: str
    is_error: bool


@dataclass(frozen=True)
class Said:
    """A message of a person or an agent."""

    role: str
    text: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Compacted:
    """The agent replaces its history by a summary."""

    summary: str
    tokens_before: int


Entry = Said | Call | Compacted
"""A call stands for its result: one message, as each ``Said`` is."""


@dataclass
class Session:
    """One session; the same for a seed, a profile and a number."""

    seed: int
    number: int
    n_messages: int
    profile: Profile
    band: Band
    n_projects: int
    has_system: bool = False
    numbers_lines: bool = True
    """Whether the agent's reading tool shows the numbers of lines."""
    joins_responses: bool = False
    """Whether two responses in a row are one in the agent's log."""
    _known: list[str] = field(default_factory=list)
    _todo: list[str] = field(default_factory=list)
    _done: int = 0

    def __post_init__(self) -> None:
        self.chance = chance_of(self.seed, "session", self.number)
        # Work moves from project to project as time goes on.
        at = int(self.number / self.profile.folder_sessions + self.chance.gauss(0, 2))
        self.project: Project = project(self.seed, at % self.n_projects)
        self.speech = Speech(self.chance, self.project)
        self.shell = Shell(self.chance, self.project, dict(self.profile.content))
        self.factor = self.band.factor.draw(self.chance)
        self._everywhere = common_project(self.seed, self.project.language)
        self._focus = self.chance.sample(self.project.files, min(12, len(self.project.files)))

    def entries(self) -> Iterator[Entry]:
        """The session's messages, ``n_messages`` of them, and its compactions between them."""
        left, chars = self.n_messages, 0
        for entry in self._endless():
            yield entry
            if isinstance(entry, Compacted):
                continue
            chars += _size(entry)
            left -= 1
            if not left:
                return
            if self.chance.random() * 1000 < self.band.compactions and not (isinstance(entry, Said) and entry.calls):
                yield Compacted(self.speech.text(int(self.chance.uniform(800, 4000))), chars // 4)
                chars = 0

    def _endless(self) -> Iterator[Entry]:
        chance, band = self.chance, self.band
        if self.has_system:
            yield Said("system", self._instructions())
        yield Said("user", self._request())
        while chance.random() < band.user_after_user:
            yield Said("user", self._follow_up())
        while True:
            calls = tuple(self._call() for _ in range(self._n_calls()))
            yield Said("assistant", self._said(bool(calls)), self._reasoning(), calls)
            yield from calls
            ends = (self.joins_responses and not calls) or chance.random() < (
                band.user_after_calls if calls else band.user_after_talk
            )
            if ends:
                yield Said("user", self._follow_up())
                while chance.random() < band.user_after_user:
                    yield Said("user", self._follow_up())

    def _n_calls(self) -> int:
        return self.chance.choices(range(len(self.band.results)), self._result_weights)[0]

    @cached_property
    def _result_weights(self) -> tuple[float, ...]:
        return self.band.results if sum(self.band.results) > 0 and self.band.tools else (1.0,)

    def _draw(self, spread: Spread, chance: Random | None = None) -> int:
        return max(2, round(spread.draw(chance or self.chance) * (self.factor if chance is None else 1.0)))

    def _instructions(self) -> str:
        chance = chance_of(self.seed, "instructions", self.project.language, self.chance.randrange(INSTRUCTIONS))
        common = self._everywhere
        size = self._draw(self.band.chars["system"], chance)
        rules = tuple(Speech(chance, common).one(words.CONSTRAINTS) for _ in range(4))
        return Speech(chance, common).text(size, ("You are an agent that works on code.", *rules))

    def _request(self) -> str:
        size = self._draw(self.band.chars["request"])
        pasted = self.chance.random() < self.profile.content.get("pasted error", 0.0)
        return self.speech.request(size, self.shell.error_line(self._focus[0]) if pasted else "")

    def _follow_up(self) -> str:
        size = self._draw(self.band.chars["user"])
        if self.chance.random() < self.profile.repeated.get("user", 0.0):
            chance = chance_of(self.seed, "follow-up", self.project.language, self.chance.randrange(COMMON_TEXTS))
            said = Speech(chance, self._everywhere)
            return said.text(max(size, 90), (said.one(words.CONSTRAINTS),))
        leading = [self.speech.one(words.FOLLOW_UPS if size >= SHORT else words.SHORT_ASKS)]
        if size > 300:
            leading.append(self.speech.one(words.CONSTRAINTS))
        return self.speech.text(size, tuple(leading))

    def _said(self, calls: bool) -> str:
        if calls and self.chance.random() >= self.band.has_text:
            return ""
        size = self._draw(self.band.chars["remark" if calls else "talk"])
        leading = []
        if size >= SHORT and self.chance.random() < self.profile.content.get("decision", 0.0):
            leading.append(self.speech.decision())
        if self.chance.random() < self.profile.content.get("intent", 0.0):
            leading.append(self.speech.one(words.INTENTS if size >= SHORT else words.SHORT_INTENTS))
        return self.speech.text(size, tuple(leading))

    def _reasoning(self) -> str:
        if self.chance.random() >= self.band.has_reasoning:
            return ""
        return self.speech.text(self._draw(self.band.chars["reasoning"]))

    @cached_property
    def _tools(self) -> tuple[list[str], list[float]]:
        names = [name for name in TOOLS if name in self.band.tools]
        return names, list(accumulate(self.band.tools[name].share for name in names))

    def _call(self) -> Call:
        names, weights = self._tools
        kind = self.chance.choices(names, cum_weights=weights)[0]
        tool = self.band.tools[kind]
        fails = self.chance.random() < tool.error
        argument, result = self._draw(tool.arguments), self._draw(tool.result)
        makers: dict[str, Callable[[Tool, int, int, bool], tuple[dict[str, Any], str]]] = {
            "shell": self._shell_call,
            "read": self._read_call,
            "search": self._search_call,
            "edit": self._edit_call,
            "create": self._create_call,
            "todo": self._todo_call,
            "other": self._other_call,
        }
        values, answer = makers[kind](tool, argument, result, fails)
        return Call(f"{self.chance.getrandbits(96):024x}", kind, values, answer, fails)

    @cached_property
    def _common_share(self) -> float:
        """Share of the results that may be common which are, so that of all results as many are as in the profile."""
        share = sum(tool.share for kind, tool in self.band.tools.items() if kind in _COMMON)
        return min(self.profile.repeated.get("tool", 0.0) / share, 1.0) if share else 0.0

    def _common(self, kind: str, tool: Tool, fails: bool) -> tuple[Random, int] | None:
        """What a result that other sessions have too is made of, and how long it is; None for one of this session."""
        if fails or self.chance.random() >= self._common_share:
            return None
        chance = chance_of(self.seed, "common", kind, self.project.language, self.chance.randrange(COMMON_TEXTS))
        return chance, self._draw(tool.result, chance)

    def _file(self, verb: str) -> str:
        """A file that an operation is about: one that the session knows, the recent ones first, or another."""
        chance = self.chance
        if self._known and chance.random() < self.band.again.get(verb, 0.0):
            return self._known[-1 - min(int(chance.expovariate(0.25)), len(self._known) - 1)]
        new = [path for path in self._focus if path not in self._known] if len(self._known) < 16 else []
        path = new[0] if new and chance.random() < 0.8 else chance.choice(self.project.files)
        if path not in self._known:
            self._known.append(path)
        return path

    def _shell_call(self, tool: Tool, argument: int, result: int, fails: bool) -> tuple[dict[str, Any], str]:
        file = self._known[-1] if self._known else self._focus[0]
        test = self.project.tests[self.project.files.index(file)] if file in self.project.files else file
        if common := self._common("shell", tool, fails):
            chance, size = common
            shell = Shell(chance, self._everywhere, dict(self.profile.content))
            ran = shell.run(file, test, size, min(argument, _PLAIN_CALL), fails=False)
        else:
            ran = self.shell.run(file, test, result, argument, fails=fails)
        return {"command": ran.command}, ran.output

    def _read_call(self, tool: Tool, _: int, result: int, fails: bool) -> tuple[dict[str, Any], str]:
        path = self._file("examined")
        if fails:
            missing = path.replace(".", f"_{self.chance.choice(words.NOUNS)}.", 1)
            return {"path": missing}, f"File does not exist: {missing}"
        if common := self._common("read", tool, fails):
            chance, size = common
            lines = self._everywhere.code(chance, size)
        else:
            lines = self.project.file_text(path, result, str(self.number)).split("\n")
            size = result
        text = numbered(lines, size) if self.numbers_lines else "\n".join(lines)[:size]
        return {"path": path, "limit": len(lines)}, text or "(empty)"

    def _search_call(self, tool: Tool, _: int, result: int, fails: bool) -> tuple[dict[str, Any], str]:
        word = self.chance.choice(self.project.names)
        if fails:
            return {"pattern": f"{word}("}, "error: regex parse error: unclosed group"
        if common := self._common("search", tool, fails):
            chance, size = common
            return {"pattern": word}, Shell(chance, self._everywhere, {}).found("", size)
        return {"pattern": word}, self.shell.found(word, result)

    def _edit_call(self, _: Tool, argument: int, result: int, fails: bool) -> tuple[dict[str, Any], str]:
        path = self._file("modified")
        room = max(argument - _FILE_WORDS - len(path), 20)
        old = "\n".join(self.project.code(self.chance, room * 2 // 5))[: room * 2 // 5]
        new = "\n".join(self.project.code(self.chance, room - len(old)))[: room - len(old)]
        if fails:
            return {"path": path, "old": old, "new": new}, f"String to replace not found in {path}."
        shown = numbered(new.split("\n"), max(result - 80, 0))
        return {"path": path, "old": old, "new": new}, f"The file {path} has been updated.\n{shown}".rstrip()

    def _create_call(self, _: Tool, argument: int, __: int, fails: bool) -> tuple[dict[str, Any], str]:
        folder = self.chance.choice(self.project.files).rpartition("/")[0]
        suffix = self.project.files[0].rpartition(".")[2]
        path = (
            f"{folder}/{self.chance.choice(words.VERBS)}_{self.chance.choice(words.NOUNS)}_{len(self._known)}.{suffix}"
        )
        text = self.project.file_text(path, max(argument - _FILE_WORDS - len(path), 20), str(self.number))
        if fails:
            return {"path": path, "text": text}, f"Permission denied: {path}"
        self._known.append(path)
        return {"path": path, "text": text}, f"File created successfully at: {path}"

    def _todo_items(self, size: int) -> list[tuple[str, str]]:
        wanted = max(3, min(size // 110, 12))
        while len(self._todo) < wanted:
            self._todo.append(self.speech.one(words.TASKS))
        self._done = min(self._done + self.chance.randint(0, 2), len(self._todo) - 1)
        states = ("completed", "in_progress", "pending")
        return [(text, states[(at >= self._done) + (at > self._done)]) for at, text in enumerate(self._todo)]

    def _todo_call(self, _: Tool, argument: int, __: int, fails: bool) -> tuple[dict[str, Any], str]:
        said = (
            "The list could not be written." if fails else "The list has been updated. Go on with what is in progress."
        )
        return {"items": self._todo_items(argument)}, said

    def _other_call(self, tool: Tool, argument: int, result: int, fails: bool) -> tuple[dict[str, Any], str]:
        subject = self.chance.choice(self.project.components)
        values = {"subject": subject, "note": self.speech.text(max(argument - len(subject) - 30, 4))}
        if fails:
            return values, f"Error: no entry for {subject!r} ({self.chance.randint(400, 404)})"
        common = self._common("other", tool, fails)
        chance, size = common or (self.chance, result)
        names, numbers = chance.choices(words.NOUNS, k=size // 24 + 1), chance.choices(range(10**8), k=size // 24 + 1)
        fields = ", ".join(f'"{name}_{n % 97}": "{n:x}"' for name, n in zip(names, numbers, strict=True))
        return values, ("{" + fields + "}")[:size] if size > 24 else str(numbers[0])[:size]


def _size(entry: Said | Call) -> int:
    if isinstance(entry, Call):
        return len(entry.result)
    calls = sum(len(str(call.values)) for call in entry.calls)
    return len(entry.text) + len(entry.reasoning) + calls
