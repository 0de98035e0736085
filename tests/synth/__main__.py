"""``python -m tests.synth``: made-up session logs of any number, whose statistics follow real ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from compaction.closest import did_you_mean
from flows.cli.shared import options as o
from flows.execution.pools.local import cores
from flows.sessions.session_parts import read_parts
from flows.store.store import Store, is_object_store, store_path
from flows.support.errors import EvalError, UsageError
from flows.support.progress import Report, make_report
from tests.synth.corpus import Compression, Corpus, check_empty, check_room, write
from tests.synth.measure import measure_profile
from tests.synth.profile import Profile, load_profile, shipped
from tests.synth.writers import FORMATS

STUDY = 36_611
"""Messages of the study whose size a corpus has by default."""


@o.report_errors
def synth(
    out_dir: Annotated[
        str | None,
        typer.Argument(metavar="OUT_DIR", help="A new or empty folder for the logs.", show_default=False),
    ] = None,
    messages: Annotated[int, typer.Option(metavar="N", min=1, max=10**9, help="Messages to write.")] = STUDY,
    scale: Annotated[int, typer.Option(metavar="N", min=1, max=10**6, help="So many times --messages.")] = 1,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Another seed makes another corpus.")
    ] = 0,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="PROFILE.json|STORE",
            help="Follow this profile, or the sessions of this store (default: the profile beside this module)",
            show_default=False,
        ),
    ] = None,
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="A,B",
            help=f"Log formats: {', '.join(FORMATS)}.",
        ),
    ] = ",".join(FORMATS),
    compress: Annotated[
        str, typer.Option(metavar="|".join(get_args(Compression)), help="Compress every file; readers take all three.")
    ] = "none",
    profile_of: Annotated[
        str | None,
        typer.Option(
            "--profile-of",
            metavar="STORE",
            help="Write no logs, but the profile of this store's sessions (numbers only) to --output.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE.json", help="Where the profile goes.", show_default=False),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=1024, help="Processes (default: one a core)", show_default=False),
    ] = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    """Write made-up session logs whose statistics follow real ones, to measure how the pipeline grows.

    The same seed, profile and version write the same bytes. All text is made up; a profile holds numbers alone.
    """
    report = make_report(quiet or as_json)
    if profile_of is not None:
        _write_profile(profile_of, output, out_dir, report, as_json)
        return
    if out_dir is None or output is not None:
        raise UsageError("synth: give OUT_DIR to write logs, or --profile-of STORE --output FILE.json for a profile")
    out = Path(out_dir).expanduser()
    check_empty(out)
    corpus = Corpus(_profile(source, report), messages * scale, seed, _formats(formats), _compression(compress))
    needed = check_room(corpus, out)
    report.say(f"synth: {corpus.messages:,} messages, about {needed / 1e6:,.0f} MB, into {out}")
    start = time.monotonic()
    with report.stage("synth", corpus.messages, "messages") as shown:
        done = write(corpus, out, shown.advance, concurrency or cores())
    seconds = time.monotonic() - start
    if as_json:
        body = {"folder": str(out), "sessions": done.sessions, "messages": done.messages, "bytes": done.n_bytes}
        o.echo_json({**body, "seconds": round(seconds, 2)})
    else:
        o.echo(
            f"{out}: {done.sessions:,} sessions, {done.messages:,} messages, {done.n_bytes / 1e6:,.1f} MB "
            f"in {seconds:,.1f} s"
        )


def _write_profile(store: str, output: str | None, out_dir: str | None, report: Report, as_json: bool) -> None:
    if output is None or out_dir is not None:
        raise UsageError("synth --profile-of STORE: give --output FILE.json, and no OUT_DIR")
    profile = _measured(store, report)
    try:
        profile.write(Path(output).expanduser())
    except OSError as error:
        raise EvalError(f"{output}: cannot be written: {error.strerror or error}") from None
    if as_json:
        o.echo_json({"output": output, **profile.measured})
    else:
        found = profile.measured
        o.echo(f"{output}: profile of {found['sessions']:,} sessions, {found['messages']:,} messages")


def _measured(location: str, report: Report) -> Profile:
    store = Store.open(location)
    total = sum(len(part.sessions) for part in read_parts(store))
    with report.stage("profile", total, "sessions") as shown:
        return measure_profile(store, shown.advance)


def _profile(source: str | None, report: Report) -> Profile:
    if source is None:
        return shipped()
    is_store = is_object_store(source) or store_path(source).is_dir()
    return _measured(source, report) if is_store else load_profile(store_path(source))


def _formats(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, (name.strip() for name in text.split(",")))))
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        meant = did_you_mean(unknown[0], FORMATS) if unknown else ""
        raise UsageError(f"--format {text}: synth writes {', '.join(FORMATS)}{meant}")
    return names


def _compression(text: str) -> Compression:
    if text not in get_args(Compression):
        raise UsageError(
            f"--compress {text}: expected {', '.join(get_args(Compression))}{did_you_mean(text, get_args(Compression))}"
        )
    return cast("Compression", text)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.command()(synth)

if __name__ == "__main__":
    app(prog_name="python -m tests.synth")
