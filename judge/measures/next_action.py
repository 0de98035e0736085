"""The next action: a tool call reduced to what it is about, and the comparison of two.

A call is its tool, the files that it is about, and the program of its command. Of several commands in a line the last
one that changes files decides, else the last one that runs or prints something: what only passes on what a pipe gives
it (``| tail -5``), and ``cd`` or ``echo``, decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from compaction.reading.file_paths import Roots, same_file
from compaction.reading.shell.commands import Placed, split_options
from compaction.reading.shell.effects import Effect, command_words, stage_effects
from compaction.reading.shell.programs import READERS, SEARCH_VALUES, SEARCHERS, SUBCOMMANDS, word_set
from compaction.reading.tool_calls import (
    call_effects,
    is_editor_command,
    is_search_tool,
    search_words,
    shell_command,
    tool_name,
)
from compaction.transcript import Message, ToolCall

VERSION = 1
"""Raise it when a call is read or two are compared otherwise."""

Kind = Literal["look", "change", "run", "use"]
"""``look``: files are shown or searched. ``change``: files are written, moved or deleted. ``run``: a program runs.
``use``: any other tool."""

Comparison = Literal["same", "equivalent", "different"]

NO_CALL = "none"
"""Name that stands for a step without a tool call."""

_QUIET = word_set(
    "cd pushd popd echo printf true false : export set unset source . sleep wait exit pwd alias trap read"
)
_FILTERS = frozenset({*READERS, *SEARCHERS, *word_set("sort uniq tr cut paste column tee sed gsed xargs fold rev")})
_SHOWS = frozenset(
    {*READERS, *SEARCHERS, *word_set("sed gsed find fd ls tree stat file du which readlink")}
    | {f"git {name}" for name in word_set("show diff log grep blame status ls-files branch rev-parse")}
)
_WRITERS = word_set("cat echo printf tee cp touch python create install")
"""Programs whose output into a file is a change; what others leave in a file is a log of their run."""
_PATTERN_OPTIONS = frozenset({"-name", "-iname", "-path", "-regex", "-e", "--regexp"})
_WITH_SUBCOMMANDS = word_set("gh make gmake just rake pip pip3 uv poetry kubectl apt apt-get brew conda systemctl")
_PLAIN_WORD = re.compile(r"[A-Za-z][\w:-]*")
_FILE_WORD = re.compile(r"(?![-@])[^\s\"'`$*?<>|;&()={}]{1,200}")
_SUFFIX = re.compile(r"[^/.]\.[A-Za-z]\w{0,5}$")


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call as it is compared."""

    tool: str
    """Name without server or namespace."""
    kind: Kind
    targets: tuple[str, ...] = ()
    """Files and directories, relative to the project; of a search that names no file the words that it looks for."""
    program: str = ""
    """Program of the command that decides; empty for a tool that is no shell."""
    lines: frozenset[str] = frozenset()
    """Lines that an edit takes out; empty where it names none, as one that writes a whole file."""


def read_action(call: ToolCall, roots: Roots | None = None, open_file: str | None = None) -> Action:
    """The action of a call.

    ``roots`` says where the project lies, ``open_file`` which file an editor has open for commands that name none.
    """
    places = roots or Roots()
    values, tool = call.parsed(), tool_name(call)
    command = shell_command(call, values)
    if command is not None and not is_editor_command(command):
        workdir = values.get("workdir") or values.get("cwd")
        return _command_action(tool, command, workdir if isinstance(workdir, str) else places.cwd, places)
    effects = call_effects(call, places.cwd, open_file, arguments=values)
    changes = [effect for effect in effects if effect.verb not in ("read", "run")]
    if changes:
        return _change(tool, changes, places)
    if effects:
        return Action(tool, "look", _names(effects, places))
    if is_search_tool(tool) and "web" not in tool.lower():
        return Action(tool, "look", search_words(values))
    return Action(tool, "use")


def compare_actions(one: Action | None, other: Action | None) -> Comparison:
    """Compare two actions; None is a step without a tool call.

    ``same``: tool, files and program are the same, and an edit takes out a line in common. ``equivalent``: another tool
    or program does the same kind of thing to a file in common, or a program runs once on all and once on some files.
    """
    if one is None or other is None:
        return "same" if one is other else "different"
    is_same_tool = (one.tool, one.program) == (other.tool, other.program)
    if one.kind != other.kind or (one.kind == "run" and one.program != other.program):
        return "different"
    if not one.targets and not other.targets:
        return "same" if is_same_tool else "equivalent" if one.kind == "run" else "different"
    if not one.targets or not other.targets:
        return "equivalent" if one.kind == "run" else "different"
    shared = [any(same_file(a, b) for b in other.targets) for a in one.targets]
    if not any(shared) or (one.lines and other.lines and not one.lines & other.lines):
        return "different"
    return "same" if is_same_tool and all(shared) and len(shared) == len(other.targets) else "equivalent"


def seen_tools(messages: Iterable[Message]) -> dict[str, list[str]]:
    """Tools that messages call, by name, each with the keys of its arguments in the order in which they came up."""
    found: dict[str, dict[str, None]] = {}
    for message in messages:
        for call in message.tool_calls:
            found.setdefault(call.name, {}).update(dict.fromkeys(call.parsed()))
    return {name: [*keys] for name, keys in found.items()}


def taken_step(messages: Sequence[Message], cut: int) -> tuple[ToolCall | None, bool]:
    """The session's own next call after a cut, and whether it is known.

    A response without a call is a known step with None. The step is not known where a person speaks first, or nothing
    follows.
    """
    for message in messages[cut:]:
        if message.role == "assistant":
            return (message.tool_calls[0] if message.tool_calls else None), True
        if message.role == "user":
            return None, False
    return None, False


def _command_action(tool: str, command: str, cwd: str | None, roots: Roots) -> Action:
    last = change = None
    for placed, effects in stage_effects(command, cwd):
        stage = _stage_action(tool, placed, effects, roots)
        if stage.kind == "change":
            change = stage
        elif not _decides_nothing(placed, effects):
            last = stage
    return change or last or Action(tool, "run", program=command.split(maxsplit=1)[0] if command.split() else "")


def _decides_nothing(placed: Placed, effects: Sequence[Effect]) -> bool:
    if not placed.program or placed.program in _QUIET:
        return True
    return placed.command.joined_by == "|" and placed.program in _FILTERS and not any(e.verb == "read" for e in effects)


def _stage_action(tool: str, placed: Placed, effects: Sequence[Effect], roots: Roots) -> Action:
    changes = [effect for effect in effects if _is_change(effect, placed, roots)]
    words = command_words(placed)
    program = _program(words)
    if changes:
        return _change(tool, changes, roots, program)
    read = [effect for effect in effects if effect.verb in ("read", "run")]
    if program in _SHOWS:
        names = () if _searches_folders(placed, read) else _names(read, roots)
        return Action(tool, "look", names or _looked_for(placed, roots), program)
    named = () if words[0] == "gh" else _file_words(words[1:], placed, roots)
    return Action(tool, "run", _names(read, roots) or named, program)


def _is_change(effect: Effect, placed: Placed, roots: Roots) -> bool:
    if effect.verb in ("read", "run") or roots.name(effect.path)[1]:
        return False
    if effect.verb in ("create_or_overwrite", "append"):
        return effect.program in _WRITERS and not (effect.program == "tee" and placed.command.joined_by == "|")
    return True


def _change(tool: str, changes: Sequence[Effect], roots: Roots, program: str = "") -> Action:
    removed = (line.strip() for effect in changes for line in effect.removed.splitlines())
    return Action(tool, "change", _names(changes, roots), program, frozenset(filter(None, removed)))


def _program(words: Sequence[str]) -> str:
    """The program, with its subcommand where it has some: ``npm run test``, ``pnpm test``, ``gh pr view``."""
    name, known = words[0], SUBCOMMANDS.get(words[0], frozenset())
    if not known and name not in _WITH_SUBCOMMANDS:
        return name
    plain = [word for word in words[1:] if _PLAIN_WORD.fullmatch(word)]
    start = next((at for at, word in enumerate(plain) if word in known), 0)
    takes_more = name == "gh" or plain[start : start + 1] in (["run"], ["run-script"], ["exec"], ["x"])
    return " ".join([name, *plain[start : start + (2 if takes_more else 1)]])


def _names(effects: Iterable[Effect], roots: Roots) -> tuple[str, ...]:
    return tuple(sorted({roots.name(effect.path)[0].rstrip("/") for effect in effects}))


def _searches_folders(placed: Placed, read: Sequence[Effect]) -> bool:
    """Whether a search is of folders too, beside the files that it names: then it is about its words."""
    if placed.program not in SEARCHERS:
        return False
    _, named = split_options(placed.words, SEARCH_VALUES)
    given = any(word.text in _PATTERN_OPTIONS for word in placed.words)
    return len(named) - (not given) > len(read)


def _looked_for(placed: Placed, roots: Roots) -> tuple[str, ...]:
    """The words that a search looks for, else the directories that are shown."""
    texts = [word.text for word in placed.words]
    given = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text in _PATTERN_OPTIONS]
    if given:
        return tuple(given)
    _, named = split_options(placed.words, SEARCH_VALUES)
    if placed.program in SEARCHERS or placed.program == "git grep":
        return (named[0].text,) if named else ()
    return tuple(sorted({roots.name(path)[0].rstrip("/") for path in placed.paths(named)}))


def _file_words(words: Sequence[str], placed: Placed, roots: Roots) -> tuple[str, ...]:
    """Words of a command that name files; ``tests/test_a.py::test_b`` names ``tests/test_a.py``."""
    found = set()
    for word in words:
        path = word.partition("::")[0]
        if _FILE_WORD.fullmatch(path) and ("/" in path or _SUFFIX.search(path)) and "://" not in path:
            joined = path if path.startswith(("/", "~")) or not placed.base else f"{placed.base}/{path}"
            found.add(roots.name(joined)[0].rstrip("/"))
    return tuple(sorted(found))
