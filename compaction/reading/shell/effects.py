"""Effects of a shell command line on files, and the tests and builds in it, read without running it.

Only what the text itself says is reported: a path that the shell would still have to expand (a variable, a glob) is
left out, so the result has gaps rather than inventions.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from compaction.reading.inline_scripts import python_effects
from compaction.reading.patches import PatchChange, patch_changes
from compaction.reading.shell.commands import Placed, placed_commands, split_options
from compaction.reading.shell.programs import (
    FLAG_FOR_GREP,
    GIT_VALUES,
    PROGRAMS,
    READERS,
    RUNNERS,
    SEARCH_VALUES,
    SEARCHERS,
    SUBCOMMANDS,
)
from compaction.reading.shell.syntax import Word

Verb = Literal["create_or_overwrite", "append", "edit", "delete", "move_from", "move_to", "read", "run"]
"""``run``: a script or a patch file is executed or applied; what it does is in that file, not in the command line."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a command does to one file."""

    path: str
    """As written, joined to the directory that ``cd`` had changed to; a directory ends in ``/``."""
    verb: Verb
    program: str = ""
    content: str = ""
    """What is written, where the command line holds it (a heredoc, a patch's new lines)."""
    removed: str = ""
    """A patch's old lines."""
    conditional: bool = False
    """It happens only if an earlier command of the same line succeeded that may well fail, such as a test run."""


_IN_PLACE = re.compile(r"-[a-zA-Z]*i|--in-place")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*$")


def file_effects(command: str, cwd: str | None = None) -> list[Effect]:
    """The effects of a command line on files, in order.

    Args:
        command: The text that the shell gets, of any number of lines.
        cwd: The directory it starts in; relative paths stay relative without it.
    """
    return [effect for _, effects in stage_effects(command, cwd) for effect in effects]


def stage_effects(command: str, cwd: str | None = None) -> Iterator[tuple[Placed, list[Effect]]]:
    """Yield every simple command of a command line with its effects on files; arguments as in ``file_effects``."""
    for placed in placed_commands(command, cwd):
        effects = list(_effects(placed))
        yield placed, [replace(e, conditional=True) for e in effects] if placed.conditional else effects


@lru_cache(maxsize=16_384)
def only_reads(command: str) -> bool:
    """Whether a command line does nothing but show files or search them, so that its output is their text."""
    programs = [placed.program for placed in placed_commands(command, None)]
    shown = [p for p in programs if p not in ("cd", "echo", "true", "sort", "uniq", "tr", "xargs", "pwd", "printf")]
    return bool(shown) and all(
        p in READERS
        or p in SEARCHERS
        or p in ("sed", "find", "ls", "tree", "git show", "git diff", "git log", "git grep", "git blame")
        for p in shown
    )


def program_runs(command: str) -> list[str]:
    """The tests, builds, checks and programs that a command line runs, in order, without what only wraps them.

    ``cd app && CI=1 timeout 60 python3 -m pytest -q tests/x.py 2>&1 | tail -5`` runs ``pytest -q tests/x.py``.
    """
    runs = (words for placed in placed_commands(command, None) if (words := command_words(placed)) and _is_run(words))
    return [" ".join(" ".join(words).split())[:300] for words in runs]


def command_words(placed: Placed) -> list[str]:
    """The words of a command from the program on that it is about: ``python -m pytest -q`` is ``pytest -q``."""
    words = [placed.program, *(w.text for w in placed.words)]
    while len(words) > 2 and (words[0], words[1]) in RUNNERS:
        words = words[2:]
    if words[0] in ("npx", "bunx", "pnpx") and len(words) > 1:
        words = words[2:] if words[1] in ("-y", "--yes", "--no-install") else words[1:]
    if words and _PYTHON.match(words[0]):
        words = words[2:] if words[1:2] == ["-m"] and len(words) > 2 else ["python", *words[1:]]
    return words


def _is_run(words: list[str]) -> bool:
    program, first = words[0], words[1] if len(words) > 1 else ""
    if first in SUBCOMMANDS.get(program, ()):
        return True
    if program in ("python", "node", "bun", "deno", "tsx", "ts-node", "bash", "sh", "ruby", "perl"):
        return any(w.endswith((".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl")) for w in words[1:4])
    return program in PROGRAMS or program.endswith((".sh", ".py"))


def _effects(placed: Placed) -> Iterator[Effect]:
    command = placed.command
    handler = _HANDLERS.get(placed.program)
    copied = any(operator in (">", ">>", ">|") and placed.path(target) for operator, target in command.redirects)
    if handler is not None:
        yield from handler(placed)
    elif copied and (placed.program in READERS or placed.program in SEARCHERS):
        pass  # what goes to a file is not seen by the agent
    elif placed.program in READERS:
        _, named = split_options(placed.words, READERS[placed.program])
        yield from _reads(placed, named)
    elif placed.program in SEARCHERS:
        yield from _search(placed)
    elif _PYTHON.match(placed.program):
        yield from _script(placed)
        script = next((w for w in placed.words if not w.text.startswith("-")), None)
        path = placed.path(script) if script is not None and "-c" not in (w.text for w in placed.words) else None
        if path is not None and path.endswith(".py"):
            yield Effect(path, "run", "python")
    content = "\n".join(command.heredocs)
    if not content and placed.program in ("echo", "printf"):
        content = " ".join(w.text for w in placed.words if not w.text.startswith("-"))
    for operator, target in command.redirects:
        path = placed.path(target)
        if path is None:
            continue
        if operator in (">", ">|", "<>", ">&"):
            yield Effect(path, "create_or_overwrite", placed.program, content)
        elif operator == ">>":
            yield Effect(path, "append", placed.program, content)
        elif operator == "<" and (
            placed.program in READERS or placed.program in SEARCHERS or placed.program == "while"
        ):
            yield Effect(path, "read", placed.program)


def _reads(placed: Placed, words: list[Word], *, extension: bool = False) -> Iterator[Effect]:
    for path in placed.paths(words):
        if not path.endswith("/") and not (extension and "." not in path.rsplit("/", 1)[-1][1:]):
            yield Effect(path, "read", placed.program)


def _search(placed: Placed) -> Iterator[Effect]:
    is_grep = placed.program.endswith("grep")
    takes = SEARCH_VALUES - FLAG_FOR_GREP if is_grep else SEARCH_VALUES
    options, named = split_options(placed.words, takes)
    has_pattern = any(o in ("-e", "-f", "--regexp", "--files") or o.startswith("--regexp=") for o in options)
    # A search below a directory examines no file in particular; a name with a suffix is taken for a file.
    yield from _reads(placed, named if has_pattern else named[1:], extension=not is_grep or _recursive(options))


def _recursive(options: list[str]) -> bool:
    return any(o in ("--recursive", "--dereference-recursive") or re.match(r"-[a-zA-Z]*[rR]", o) for o in options)


def _sed(placed: Placed) -> Iterator[Effect]:
    in_place = next((i for i, w in enumerate(placed.words) if _IN_PLACE.match(w.text)), None)
    words = list(placed.words)
    if in_place is not None and words[in_place + 1 : in_place + 2] == [Word("", quoted=True)]:
        del words[in_place + 1]  # the BSD form: -i ''
    options, named = split_options(words, frozenset({"-e", "-f", "--expression", "--file", "-l"}))
    if not any(
        o in ("-e", "-f", "-ne", "-ie", "-i.bak -e") or o.startswith(("--expression", "--file")) for o in options
    ):
        named = named[1:]
    if in_place is None:
        yield from _reads(placed, named)
        return
    script = "\n".join(w.text for w in words if w not in named and not w.text.startswith("-"))
    yield from (Effect(path, "edit", "sed", script) for path in placed.paths(named))


def _perl(placed: Placed) -> Iterator[Effect]:
    in_place, words = False, list(placed.words)
    script = False
    while words and words[0].text.startswith("-"):
        option = words.pop(0).text
        in_place = in_place or (not option.startswith("-M") and "i" in option)
        if option.endswith(("e", "E")) and words:
            words.pop(0)
            script = True
    if in_place and script:
        yield from (Effect(path, "edit", "perl") for path in placed.paths(words))


def _looks_like_file(path: str) -> bool:
    return "." in path.rsplit("/", 1)[-1].lstrip(".") or path.rsplit("/", 1)[-1].startswith(".")


def _move(placed: Placed) -> Iterator[Effect]:
    for source, target in _pairs(placed):
        yield Effect(source, "move_from", placed.program)
        yield Effect(target, "move_to", placed.program)


def _copy(placed: Placed) -> Iterator[Effect]:
    options, _ = split_options(placed.words, frozenset({"-t", "-m"}))
    for source, target in _pairs(placed):
        if not (_recursive(options) or "-a" in options) or _looks_like_file(source):
            yield Effect(target, "create_or_overwrite", placed.program)


def _pairs(placed: Placed) -> Iterator[tuple[str, str]]:
    """Source and target of a move or copy, with the name added where the target is a directory."""
    _, named = split_options(placed.words, frozenset({"-t", "-m"}))
    if len(named) < 2:
        return
    target = placed.path(named[-1])
    if target is None and named[-1].text in (".", "./") and placed.base is not None:
        target = (placed.base or ".") + "/"
    if target is None:
        return
    sources = [placed.path(word) for word in named[:-1]]
    into = (
        target.endswith("/")
        or len(sources) > 1
        or bool(sources[0] and _looks_like_file(sources[0]) and not _looks_like_file(target))
    )
    for source in sources:
        if source is not None:
            joined = posixpath.normpath(posixpath.join(target, posixpath.basename(source.rstrip("/"))))
            yield source, joined if into else target


def _remove(placed: Placed) -> Iterator[Effect]:
    options, named = split_options(placed.words, frozenset())
    if "--cached" in options:
        return
    recursive = _recursive(options)
    # With -f it is not known whether there was a file at all; the effect's program says so.
    program = "rm -f" if any(re.match(r"-[a-zA-Z]*f|--force", o) for o in options) else placed.program
    for path in placed.paths(named):
        directory = recursive and not _looks_like_file(path) and not path.endswith("/")
        yield Effect(path + "/" if directory else path, "delete", program)


def _touch(placed: Placed) -> Iterator[Effect]:
    _, named = split_options(placed.words, frozenset({"-d", "-t", "-r"}))
    yield from (Effect(path, "append", "touch") for path in placed.paths(named))


def _tee(placed: Placed) -> Iterator[Effect]:
    options, named = split_options(placed.words, frozenset())
    verb: Verb = "append" if any(o in ("-a", "--append", "-ai") for o in options) else "create_or_overwrite"
    content = "\n".join(placed.command.heredocs)
    yield from (Effect(path, verb, "tee", content) for path in placed.paths(named))


def _restore(placed: Placed) -> Iterator[Effect]:
    """``git checkout … -- FILE`` and ``git restore FILE``: the file loses what was changed in it."""
    texts = [w.text for w in placed.words]
    if placed.program == "git checkout":
        if "--" in texts:
            named = placed.words[texts.index("--") + 1 :]
        else:  # without the dashes it may be a branch: only names with a usual suffix are files
            named = [w for w in placed.words if re.search(r"\w\.[a-z]{1,4}$", w.text)]
    else:
        options, named = split_options(placed.words, GIT_VALUES)
        if any(o in ("--staged", "-S") for o in options) and "--worktree" not in options:
            return
    yield from (Effect(path, "edit", "git restore") for path in placed.paths(named) if _looks_like_file(path))


def _patch(placed: Placed) -> Iterator[Effect]:
    if placed.program == "git apply" and not any(w.text in ("--check", "--stat") for w in placed.words):
        files = [w for w in placed.words if w.text.endswith((".patch", ".diff", ".txt"))]
        yield from (Effect(path, "run", "git apply") for path in placed.paths(files))
    inline = [w.text for w in placed.words if "*** Begin Patch" in w.text]
    for body in [*placed.command.heredocs, *inline]:
        for effect in patch_effects(body):
            path = placed.path(Word(effect.path))
            if path is not None:
                yield replace(effect, path=path)


def patch_effects(patch: str) -> list[Effect]:
    """A patch's changes as effects."""
    return [effect for change in patch_changes(patch) for effect in _change(change)]


def _change(change: PatchChange) -> Iterator[Effect]:
    if change.kind == "add":
        yield Effect(change.path, "create_or_overwrite", "create", change.added)
    elif change.kind == "delete":
        yield Effect(change.path, "delete", "apply_patch")
    elif change.moved_to:
        yield Effect(change.path, "move_from", "apply_patch")
        yield Effect(change.moved_to, "move_to", "apply_patch", change.added, change.removed)
    else:
        yield Effect(change.path, "edit", "apply_patch", change.added, change.removed)


def _script(placed: Placed) -> Iterator[Effect]:
    """Yield the effects of a Python script in the command line itself."""
    texts = [w.text for w in placed.words]
    inline = texts[texts.index("-c") + 1 : texts.index("-c") + 2] if "-c" in texts else []
    for body in [*placed.command.heredocs, *inline]:
        for name, verb in python_effects(body):
            path = placed.path(Word(name))
            if path is not None and not ("chdir(" in body and not name.startswith("/")):
                yield Effect(path, verb, "python")


_HANDLERS: dict[str, Callable[[Placed], Iterator[Effect]]] = {
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "mv": _move,
    "git mv": _move,
    "cp": _copy,
    "rm": _remove,
    "unlink": _remove,
    "git rm": _remove,
    "touch": _touch,
    "tee": _tee,
    "patch": _patch,
    "git apply": _patch,
    "apply_patch": _patch,
    "applypatch": _patch,
    "git checkout": _restore,
    "git restore": _restore,
}
