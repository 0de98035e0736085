"""Commands are found by themselves, and each has what belongs to a command."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import typer

import flows.cli
from flows.cli.app import app
from flows.cli.pages.docs_pages import commands
from flows.cli.shared.commands import NO_COMMANDS, Command, collected

GROUPS = {name: found for name, _, found in collected()}
COMMANDS: dict[str, Command] = {f"{name} {one.name}".strip(): one for name, found in GROUPS.items() for one in found}


def test_the_program_has_the_commands_that_are_found() -> None:
    assert [" ".join(path) for path in commands(typer.main.get_command(app))] == list(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_a_command_is_in_every_place(path: str) -> None:
    command = COMMANDS[path]
    places = {
        "an example in its @command": bool(command.examples),
        "examples that begin with its name": all(f"{one} ".startswith(f"{path} ") for one in command.examples),
        "a docstring, which is its help": bool(command.function.__doc__),
    }
    missing = [place for place, there in places.items() if not there]
    assert missing == [], f"the command {path} lacks: {'; '.join(missing)}"


@pytest.mark.parametrize("group", GROUPS)
def test_no_two_commands_have_the_same_place_in_the_help(group: str) -> None:
    assert all(one.order < next.order for one, next in pairwise(GROUPS[group]))


def test_a_module_of_the_folder_holds_a_command() -> None:
    [folder] = map(Path, flows.cli.__path__)
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", *NO_COMMANDS}
    assert modules == {one.function.__module__.rpartition(".")[2] for one in COMMANDS.values()}
