"""The decorator that makes a function a command, with its examples beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ParamSpec

from flows.cli.shared.options import report_errors

P = ParamSpec("P")

FOLDER = "flows.cli"
NO_COMMANDS = ("app",)
"""Modules of the folder that hold no command, but what is made of them all."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of ``compaction-eval``."""

    name: str
    function: Callable[..., None]
    examples: tuple[str, ...]
    order: int
    """Its place in the help; the smallest number stands first."""

    @property
    def short_help(self) -> str:
        """The first sentence of its help, for the list of commands."""
        return " ".join((self.function.__doc__ or "").partition("\n\n")[0].split())

    @property
    def epilog(self) -> str:
        """The examples, below the options."""
        return examples_text(self.examples)


def examples_text(examples: Iterable[str]) -> str:
    """Command lines as a paragraph of a help page."""
    lines = "\n".join(f"  compaction-eval {example}" for example in examples)
    return f"\b\nExamples:\n{lines}"  # \b keeps the lines of a paragraph as they are


registered: dict[Callable[..., None], Command] = {}
"""``command`` fills it when a module with commands is imported."""


def command(*examples: str, order: int) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a function a command: of the program, or of the group whose help its module holds as ``GROUP``.

    Its name is the function's, its options are the arguments, its help is the docstring. A problem ends it with one
    sentence on stderr and an exit code.

    Args:
        examples: What is typed after ``compaction-eval``; the help shows them.
        order: Place in the help; the smallest number stands first.
    """

    def register(function: Callable[P, None]) -> Callable[P, None]:
        wrapped = report_errors(function)
        registered[wrapped] = Command(function.__name__.rstrip("_"), wrapped, examples, order)
        return wrapped

    return register


def collected() -> Iterator[tuple[str, str, list[Command]]]:
    """The program's own commands first, then group by group: name of the group, its help, its commands in order."""
    own: list[Command] = []
    groups: list[tuple[str, str, list[Command]]] = []
    for found in iter_modules(import_module(FOLDER).__path__):
        if found.ispkg or found.name in NO_COMMANDS:
            continue
        module: Any = import_module(f"{FOLDER}.{found.name}")
        of_module = [one for one in registered.values() if one.function.__module__ == module.__name__]
        if hasattr(module, "GROUP"):
            groups.append((found.name, module.GROUP, sorted(of_module, key=lambda one: one.order)))
        else:
            own += of_module
    yield "", "", sorted(own, key=lambda one: one.order)
    yield from groups
