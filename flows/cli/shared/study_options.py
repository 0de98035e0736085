"""Options of a command that are keys of a study: made of the keys, and handed over as one object."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.shared import completing
from flows.cli.shared.options import StoreOption, StudyOption
from flows.config.study_keys import KEYS, MODEL
from flows.support.choices import DEFAULT_STORE
from flows.support.keys import Key

if TYPE_CHECKING:
    from flows.config.study import Study

FILE = "study"
"""The option that names a study file."""
ALL = (FILE, "model", *KEYS)
"""All that a run depends on."""
_COMPLETIONS: Mapping[str, Callable[..., Any]] = {
    "strategies": completing.strategies,
    "points": completing.points,
    "rubric": completing.rubrics,
    **dict.fromkeys(("model", "summarizer", "responder", "prober", "judge", "judges"), completing.specs),
}


@dataclass(frozen=True, slots=True)
class Given:
    """The parts of a study on the command line."""

    flags: Mapping[str, Any]
    """Key → value, of the options that were given."""
    path: str | None = None
    """The study file."""

    @property
    def store(self) -> str:
        """The address of the store."""
        return str(self.flags.get("store") or DEFAULT_STORE)

    @property
    def changes(self) -> dict[str, Any]:
        """The given keys of a study that the store has: all but the store."""
        return {name: value for name, value in self.flags.items() if name != "store"}

    def value(self, name: str) -> Any:
        """One key; None where it was not given. Raises UsageError, naming the flag."""
        from flows.support.key_values import check_value

        flag = f"--{name.replace('_', '-')}"
        return check_value(KEYS[name], self.flags[name], flag) if name in self.flags else None

    def study(self) -> Study:
        """The effective study. Raises UsageError, naming the flag, or the file, line and key."""
        from flows.config.study import make_study

        return make_study(self.flags, self.path)


def takes_study(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options of a study; its first argument is what was given.

    Args:
        names: Keys of a study, ``model``, and ``study`` for the file.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        made = [
            Parameter(_option_name(name), Parameter.KEYWORD_ONLY, **_declare(name)) for name in ALL if name in names
        ]

        @functools.wraps(function)
        def wrapped(**values: Any) -> None:
            given = {name: values.pop(_option_name(name)) for name in ALL if name in names}
            path = given.pop(FILE, None)
            for name in given.keys() & KEYS.keys():
                if KEYS[name].type is bool:
                    given[name] = not KEYS[name].default if given[name] else None
            function(Given({name: one for name, one in given.items() if one not in (None, [])}, path), **values)

        keyword_only = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
        signature = inspect.Signature([*made, *keyword_only])
        wrapped.__signature__ = signature  # type: ignore[attr-defined]  # where inspect looks for it
        wrapped.__annotations__ = {}
        return wrapped

    return decorate


def _option_name(name: str) -> str:
    return f"no_{name}" if name in KEYS and KEYS[name].default is True else name


def _declare(name: str) -> dict[str, Any]:
    """Annotation and default of the parameter that Typer makes an option from."""
    if name in (FILE, "store"):
        return {"annotation": StudyOption if name == FILE else StoreOption, "default": None}
    key = MODEL if name == "model" else KEYS[name]
    if key.type is bool:
        flag = f"--{_option_name(name).replace('_', '-')}"
        return {"annotation": Annotated[bool, typer.Option(flag, help=key.off or key.about)], "default": False}
    if name == "sources":
        return _optional(list[str], typer.Argument(metavar=key.metavar, help=key.about))
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar="|".join(key.choices) or key.metavar,
        help=_help(key),
        autocompletion=(lambda: list(key.choices)) if key.choices else _COMPLETIONS.get(name),
    )
    return _optional(key.type if key.type in (int, float) else str, option)


def _optional(kind: Any, option: Any) -> dict[str, Any]:
    return {"annotation": Annotated[kind | None, option], "default": None}


def _help(key: Key) -> str:
    default = key.unset or (key.default if key.default not in ((), None) else "")
    return f"{key.about.removesuffix('.')} (default: {default})" if default != "" else key.about
