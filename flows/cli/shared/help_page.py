"""The help of a command: purpose, examples, arguments, then its options by subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from typer import BadParameter
from typer._click.exceptions import NoSuchOption, UsageError
from typer.core import TyperArgument, TyperCommand

from flows.config.study_keys import COMPARED, KEYS, MODELS, RUNS

if TYPE_CHECKING:
    from typer._click import Context
    from typer._click import HelpFormatter as Formatter

FEW = 14
"""Options that need no groups."""


def _keys(heading: str) -> tuple[str, ...]:
    return tuple(name for name, key in KEYS.items() if key.heading == heading)


GROUPS: Mapping[str, tuple[str, ...]] = {
    COMPARED: ("study", "no_redact", *_keys(COMPARED)),
    MODELS: ("model", *_keys(MODELS), "batch"),
    RUNS: (*_keys(RUNS), "ephemeral", "timeout"),
    "Output": (
        *("fail_if_worse", "fail_below", "format", "wide", "output", "force", "as_json", "notify", "log", "log_items"),
        *("quiet", "verbose", "help"),
    ),
}
"""Heading → names of options. What stands in none of them is the command's own, and comes first."""

_TYPE = re.compile(r" <[\w\[\], ]+>\Z")
"""What Typer puts behind the name of an argument."""

_NOT_ONE_OF = re.compile(r"(?:Value error, )?(?P<all>'(?P<value>.*)' is not one of (?P<names>.*))\.", re.DOTALL)
"""What Typer says of a value that is none of those that there are."""


def _nearest(name: str, known: Iterable[str]) -> str:
    from compaction.closest import did_you_mean

    return did_you_mean(name, known)


class ExamplesFirst(TyperCommand):
    """A command whose examples stand above its options, and that says which value was probably meant."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse like Typer; the error about an unknown option or value ends with the nearest known one."""
        given = tuple(args)  # the parser empties it
        try:
            return self._parse(ctx, args)
        except UsageError as error:
            if "--json" in given:
                from flows.cli.shared.options import say_error

                say_error(error.format_message(), error.exit_code)
            raise

    def _parse(self, ctx: Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except BadParameter as error:
            if said := _NOT_ONE_OF.fullmatch(error.message):
                error.message = said["all"] + _nearest(said["value"], re.findall("'([^']*)'", said["names"]))
            raise
        except NoSuchOption as error:
            error.message += _nearest(error.option_name, error.possibilities or ())
            error.possibilities = None
            raise

    def format_help_text(self, ctx: Context, formatter: Formatter) -> None:
        """The text, then the examples."""
        super().format_help_text(ctx, formatter)
        super().format_epilog(ctx, formatter)

    def format_epilog(self, ctx: Context, formatter: Formatter) -> None:
        """Print no epilog: the examples stand above."""

    def format_options(self, ctx: Context, formatter: Formatter) -> None:
        """Arguments, then groups of options."""
        of = {name: group for group, names in GROUPS.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], **{group: [] for group in GROUPS}}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                is_argument = isinstance(param, TyperArgument)
                group = "Arguments" if is_argument else of.get(param.name or "", "Options")
                rows[group].append((_TYPE.sub("", record[0]) if is_argument else record[0], record[1]))
        options = [row for group, some in rows.items() if group != "Arguments" for row in some]
        if len(options) <= FEW:
            rows = {"Arguments": rows["Arguments"], "Options": options}
        for group, some in rows.items():
            if some:
                with formatter.section(group):
                    formatter.write_dl(some)
