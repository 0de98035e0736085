"""The command ``compaction-eval``: what it says of itself, and the commands that are found in the folder."""

from __future__ import annotations

import typer

from flows.cli.shared.commands import collected, examples_text
from flows.cli.shared.help_page import ExamplesFirst
from flows.support.versions import VERSION

app = typer.Typer(
    name="compaction-eval",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Says which context-compaction method keeps what matters, on stored sessions of coding agents.

    `compaction-eval lost SESSION` says what one session's last compaction lost. To compare methods start with
    `compaction-eval run`: it compares all of them on the sample sessions of the package, without a key and
    without a network, and prints the leaderboard. Then give it a folder of your own sessions.

    Exit codes: 0 done; 1 broken; 2 bad usage or bad study; 3 done, but some items failed or were set aside;
    4 stopped at the budget; 5 a bar that was set was not reached (--fail-…).

    \b
    Examples:
      compaction-eval run
      compaction-eval run ~/.claude/projects
      compaction-eval lost ~/.claude/projects/my-project/session.jsonl
    """,
)

for name, help, commands in collected():
    examples = examples_text(one.examples[0] for one in commands)
    parent = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=f"{help}\n{examples}") if name else app
    for one in commands:
        parent.command(one.name, cls=ExamplesFirst, epilog=one.epilog, short_help=one.short_help)(one.function)
    if name:
        app.add_typer(parent, name=name, short_help=" ".join(help.partition("\n\n")[0].split()))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"compaction-eval {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Options of the command itself."""
