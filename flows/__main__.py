"""The command ``compaction-eval`` (``python -m flows``)."""

from __future__ import annotations

import typer

from flows import __version__
from flows.commands.doctor import doctor
from flows.commands.run import ingest, run
from flows.commands.show import leaderboard, list_, sql

app = typer.Typer(
    name="compaction-eval",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="""Says which context-compaction method keeps what matters, on stored sessions of coding agents.

    Start with `compaction-eval run`: it compares all methods on the sample sessions of the package, without a key and
    without a network, and prints the leaderboard. Then give it a folder of your own sessions.

    Exit codes: 0 done; 1 broken; 2 bad usage or bad study; 3 done, but some items failed or were set aside.
    """,
)
app.command()(run)
app.command()(ingest)
app.command()(leaderboard)
app.command()(sql)
app.command("list")(list_)
app.command()(doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"compaction-eval {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Options of the command itself."""


def main() -> None:
    """Run the command."""
    app()


if __name__ == "__main__":
    main()
