"""``lost``: what the last compaction of one session lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.shared import completing
from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.cli.shared.study_options import Given, takes_study

if TYPE_CHECKING:
    from judge.outcomes import Topic


Session = Annotated[str | None, typer.Argument(metavar="SESSION", help="The log of one session, of any format.")]
Agent = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Instead of a log: the newest session of an agent: claude_code, codex, cursor, opencode and others; an "
        "unknown name is answered with all.",
    ),
]
SessionId = Annotated[str | None, typer.Option("--session", metavar="ID", help="Of a file with several.")]
AtMessage = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=10**9,
        help="Look at the session as it was after N messages (default: where its last compaction was)",
    ),
]
Compacted = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="What another tool left of it: messages in any format, or a text. Without --at it was made at the end "
        "of the session.",
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="A,B(X=1),@SET",
        help="What methods of ours, or of a set, leave of it, without a language model.",
        autocompletion=completing.strategies,
    ),
]
ShowAll = Annotated[
    bool, typer.Option("--all", help="All statements, also those that are kept (default: the first ten that are not)")
]
FailIfLost = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="End with exit code 5 when one of these is lost, stale or denied: constraints, open, decisions, "
        "files, errors, values.",
    ),
]


@command(
    "lost --agent claude_code",
    "lost session.jsonl --all",
    "lost session.jsonl --at 120 --method head_tail,factory_style_anchored",
    "lost session.jsonl --compacted summary.md --fail-if-lost constraints,files",
    order=5,
)
@takes_study("tokenizer")
def lost(
    given: Given,
    session: Session = None,
    agent: Agent = None,
    session_id: SessionId = None,
    at: AtMessage = None,
    compacted: Compacted = None,
    method: Method = None,
    show_all: ShowAll = False,
    fail_if_lost: FailIfLost = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: o.AsJson = False,
    verbose: o.Verbose = False,
) -> None:
    """Say what a compaction kept and lost of one session: constraints first, then open work, decisions, files, values.

    No store, no server, no key. Each line has the number of the message (from 0) in which something stood, who said it,
    from where on it was needed again, and the nearest lines of what was left. Credentials are masked.
    """
    import os
    import sys

    from compaction.tokens import DEFAULT_ENCODING, TiktokenCounter
    from flows.pipeline.single_session import find_input, session_outcomes
    from flows.redaction import Redactor
    from flows.reporting.lost_statements import as_document, gone_of, render_markdown, render_text
    from flows.sources import SourceError
    from flows.sources.agents import newest_session
    from flows.support.errors import WORSE, UsageError

    topics = _topics(fail_if_lost or "")
    if (session is None) == (agent is None):
        raise UsageError("give the log of a session, or --agent NAME for the newest one of an agent")
    try:
        source = find_input(session) if session else newest_session(agent or "", Path.home(), os.environ)
    except SourceError as error:
        raise UsageError(str(error)) from None
    found = session_outcomes(
        source,
        TiktokenCounter(given.value("tokenizer") or DEFAULT_ENCODING),
        Redactor(),
        session_id=session_id or "",
        at=at,
        compacted=compacted,
        methods=method or "",
    )
    if as_json:
        o.echo_json(as_document(found))
    elif as_markdown:
        o.echo(render_markdown(found, show_all=show_all))
    else:
        o.echo(render_text(found, o.terminal_width(), show_all=show_all))
    if gone := gone_of(found, topics):
        print(f"not reached: {gone}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(WORSE)


def _topics(text: str) -> set[Topic]:
    """The topics of ``--fail-if-lost``; one of them may be named too."""
    from compaction.closest import closest_or_all
    from flows.support.errors import UsageError
    from judge.outcomes import TOPICS

    known = {name: topic for topic in TOPICS for name in (topic, topic.removesuffix("s"))}
    named = [name.strip() for name in text.split(",") if name.strip()]
    for name in named:
        if name not in known:
            raise UsageError(f"--fail-if-lost: unknown {name!r}{closest_or_all(name, TOPICS)}")
    return {known[name] for name in named}
