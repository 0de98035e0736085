"""Makes the pages that say what the code says, and lays out the documentation for the site.

``methods.md`` comes from the registry of strategies, ``rubric.md`` from the rubrics, ``queries.md`` from
``sql/queries/ready``, ``schema.md`` from the comments in ``sql``, ``command.md`` from the command's own help. Of these
only ``methods.md`` is committed; ``compaction-eval describe`` prints them all::

    python -m flows.cli.pages.docs_pages docs              # writes docs/methods.md and the picture of docs/sql.md anew
    python -m flows.cli.pages.docs_pages docs build/docs   # copies docs, and adds what is made
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from compaction import Strategy, load_registry
from compaction.closest import did_you_mean
from compaction.sets import sets_of
from flows.cli.pages.schema_page import draw_references, schema_page
from flows.database.ready_queries import ready_queries
from flows.reporting.text_tables import markdown
from flows.support.errors import UsageError
from judge.embedded.judge import FORMULAS, UNMEASURED
from judge.rubric import list_rubrics, load_rubric

COLUMNS = "100"
"""Width of the help texts."""

_METHODS = """\
# Every method

A section for each strategy, from the code (`compaction-eval describe methods` prints this page). A method on the
leaderboard is a strategy with parameters: `head_tail(tail=20)`. What each is modelled on and where it differs, how to
compose them, run the originals or add your own: [strategies and their sources](strategies.md). `@…` are the
[sets](strategies.md#sets) that have it.

"needs a summariser" says that the strategy asks a model for a summary: the embedded engine's, which only extracts
lines, unless `--summarizer` or `--model` names a language model. "needs a key" says that a provider does the
compaction.

What needs a summariser also takes `focus="…"` and `prompt_file="FILE"`
([a prompt of your own](strategies.md#a-prompt-and-a-focus-of-your-own)).
"""

_BELOW_MESSAGES = """\
## What is no method here

Four well-known ways of keeping less of a context work below the message, and have no row.

- **H2O** (arXiv 2306.14048), **StreamingLLM** (2309.17453) and **SnapKV** (2404.14469) throw out keys and values of
  a running model's cache: H2O keeps the newest positions and those that got most attention so far, StreamingLLM the
  newest and the first few ("attention sinks"), SnapKV those to which the end of the prompt attends. They need the
  model's weights and its attention, choose anew in each layer or head, and leave no other text: nothing can be read
  off, sent to a provider or shown to a judge. `head_tail` and `recency` are no stand-ins for them.
- **LLMLingua** (2310.05736) drops tokens within a text that a small language model finds easy to guess. What it
  leaves is text, but what goes is decided by that model, whose weights this project does not bring. Call it in a
  [strategy of your own](strategies.md#a-strategy-of-your-own): messages with another text count as edited.
"""

_RUBRIC = """\
# The rubric

What an answer is scored on: each criterion 0 to 5, with wording for the anchors. From the files in `judge/rubrics`
(`compaction-eval describe rubric` prints this page). A rubric is data: copy one, change it, and name the file with
`--rubric`. A changed rubric makes another judge version, whose scores stand beside the others' and are never mixed
with them.

A dimension of an answer is the weighted mean of its scored criteria, its overall the mean of its dimensions; see
[the statistics](statistics.md#two-figures-of-a-method). Which criteria are asked depends on the probe type: an
answer about one error message is not asked which files were created. Constraints are asked for with one criterion,
whose dimension is a column of its own and no part of overall; a rubric that has none does not score them.
"""

_QUERIES = """\
# Eleven queries

What results are asked most, each a file of `sql/queries/ready` that runs as it stands (`compaction-eval describe
queries` prints this page). `compaction-eval query NAME` runs one, `--set NAME=VALUE` sets a parameter, `--judge` picks
a judge; in Python `results.query("NAME")` gives [a frame](notebooks.md).
"""

_COMMAND = """\
# The command

`compaction-eval COMMAND --help`, for every command.
Results go to stdout, progress and errors to stderr. With `--json` a command prints one JSON document and nothing else
on stdout: rows as a list of objects, everything else as an object. [Exit codes](operating.md#exit-codes).

Completion of commands, options, strategies, queries, and of the methods, judges and tables of the store that is
named:

<!-- not run: it changes the shell's own files -->
```sh
compaction-eval --install-completion
```
"""


def methods_page() -> str:
    """One section a strategy."""
    return "\n".join([_METHODS, *map(_method, (one for _, one in sorted(load_registry().items()))), _BELOW_MESSAGES])


def _method(strategy: Strategy) -> str:
    wants = {"nothing": "", "model": "needs a summariser", "key": f"needs a key of {strategy.needs_key}"}
    peer = "" if strategy.peer == "own" else f"after {strategy.peer} {strategy.peer_version}".strip()
    facts = [
        peer or "own",
        wants[strategy.needs],
        f"mode {strategy.mode}" if strategy.mode else "",
        ", ".join(f"`{name}`" for name in sets_of(strategy)),
    ]
    rows = [[f"`{name}`", f"`{_value(value)}`"] for name, value in strategy.params.items()]
    parts = [f"## {strategy.id}\n", f"*{'; '.join(filter(None, facts))}*\n", _prose(strategy.doc)]
    if rows:
        parts.append(markdown(["parameter", "default"], rows, [False, False]))
    if strategy.variants:
        shown = ", ".join(
            f"`{strategy.id}({','.join(f'{name}={_value(value)}' for name, value in one.items())})`"
            for one in strategy.variants
        )
        parts.append(f"Also as {shown}\n")
    return "\n".join(parts)


def rubric_page() -> str:
    """Make one section a rubric: its criteria by dimension, and the criteria of each probe type."""
    return "\n".join([_RUBRIC, *(part for name in list_rubrics() for part in _rubric(name))])


def _rubric(name: str) -> Iterator[str]:
    rubric = load_rubric(name)
    yield f"## {rubric.name}\n"
    dimensions: dict[str, list[Any]] = {}
    for criterion in rubric.criteria.values():
        dimensions.setdefault(criterion.dimension, []).append(criterion)
    for dimension, criteria in dimensions.items():
        scores = sorted({score for one in criteria for score in one.anchors})
        rows = [
            [f"`{one.id}`", one.question, *(one.anchors.get(score, "") for score in scores), f"{one.weight:g}"]
            for one in criteria
        ]
        yield f"### {dimension.replace('_', ' ').capitalize()}\n"
        yield markdown(
            ["criterion", "question", *map(str, scores), "weight"], rows, [False] * (len(scores) + 2) + [True]
        )
    kinds = list(rubric.asked)
    rows = [[f"`{id}`", *("×" if id in rubric.asked[kind] else "" for kind in kinds)] for id in rubric.criteria]
    yield "### Asked of which probe type\n"
    yield markdown(["criterion", *kinds], rows, [False] * (len(kinds) + 1))
    rows = [[f"`{id}`", *_formula(id)] for id in rubric.criteria]
    yield "### How the embedded judge scores it\n"
    yield "Score = 5 × share; [what support is](embedded-engine.md#states).\n"
    yield markdown(["criterion", "share", "unscored when"], rows, [False] * 3)


def _formula(criterion: str) -> tuple[str, str]:
    formula = FORMULAS.get(criterion)
    if formula is None:
        return "", f"always: {UNMEASURED.get(criterion, 'the embedded judge has no formula for it')}"
    share = f"{inspect.getdoc(formula.share) or ''}".rstrip(".").lower()
    return f"{share}: {formula.about}", formula.unscored_when or "never"


def queries_page() -> str:
    """One section a query: what it answers, how to read it, its parameters and columns, and the query."""
    parts = [_QUERIES]
    for query in ready_queries().values():
        parts.append(f"## {query.name}\n\n{query.title}: {query.question}\n\n{_prose(query.reading)}")
        for what, entries in (("parameter", query.parameters), ("column", query.columns)):
            if entries:
                rows = [[f"`{name}`", text] for name, text in entries.items()]
                parts.append(markdown([what, "is"], rows, [False, False]))
        body = re.sub(r"\A(?:--.*\n)+", "", query.sql).strip()
        parts.append(f"```sql\n{body}\n```\n")
    return "\n".join(parts)


def command_page() -> str:
    """The help of every command."""
    from flows.cli.app import app

    parts = [_COMMAND]
    for path in commands(typer.main.get_command(app)):
        shown = CliRunner().invoke(
            app, [*path, "--help"], prog_name="compaction-eval", env={"COLUMNS": COLUMNS, "TERMINAL_WIDTH": COLUMNS}
        )
        text = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
        parts.append(f"## {' '.join(path)}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def notebook(page: str) -> str:
    """The page ``notebooks.md`` as a notebook: its texts, its Python, and what it shows of the answers."""
    cells: list[dict[str, Any]] = []
    for part in re.split(r"^(```(?:python|text)\n.*?^```\n)", page, flags=re.MULTILINE | re.DOTALL):
        fence = re.fullmatch(r"```(python|text)\n(.*?)```\n", part, re.DOTALL)
        if fence is None:
            if text := part.strip():
                cells.append({"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)})
            continue
        lines = fence[2].rstrip("\n").splitlines(keepends=True)
        if fence[1] == "python":
            cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines})
        else:
            shown = {"text/plain": lines}
            cells[-1]["outputs"] = [
                {"data": shown, "execution_count": None, "metadata": {}, "output_type": "execute_result"}
            ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, in the order of the help."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))
        else:
            yield (*path, name)


PAGES: Mapping[str, Callable[[], str]] = {
    "methods.md": methods_page,
    "rubric.md": rubric_page,
    "queries.md": queries_page,
    "schema.md": schema_page,
    "command.md": command_page,
}
"""Page → what makes it."""

COMMITTED = "methods.md"
"""The made page that is committed, because people look for it."""

PICTURED = "sql.md"
"""The page with a picture of how the tables hang together."""

NOTEBOOK = "results.ipynb"
"""The page ``notebooks.md`` as a notebook."""


def find_sections(name: str) -> dict[str, str]:
    """Page → its whole text if this is its name, else its section of this name; other pages are left out.

    Raises:
        UsageError: No page and no section has the name.
    """
    if f"{name}.md" in PAGES:
        return {name: PAGES[f"{name}.md"]()}
    pages = {page.removesuffix(".md"): dict(_sections(make())) for page, make in PAGES.items()}
    if found := {page: sections[name] for page, sections in pages.items() if name in sections}:
        return found
    near = did_you_mean(name, [*pages, *(known for sections in pages.values() for known in sections)])
    raise UsageError(f"nothing is called {name!r}{near}; compaction-eval list, query and --help say what there is")


def _sections(text: str) -> Iterator[tuple[str, str]]:
    headings = list(re.finditer(r"^(#{2,3}) (.+)$", text, re.MULTILINE))
    for number, heading in enumerate(headings):
        end = next((one.start() for one in headings[number + 1 :] if len(one[1]) <= len(heading[1])), len(text))
        yield heading[2].strip("`"), text[heading.start() : end].rstrip() + "\n"


def _prose(text: str) -> str:
    """A docstring as Markdown: single backquotes, a line a paragraph."""
    paragraphs: Iterable[str] = re.split(r"\n\s*\n", text.strip())
    return "".join(f"{' '.join(part.split())}\n\n" for part in paragraphs).replace("``", "`").rstrip("\n") + "\n"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def lay_out_site(docs: Path, folder: Path) -> None:
    """Write the sources of the site: the committed docs, the made pages and the notebook."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(docs, folder)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")
    page = (docs / "notebooks.md").read_text(encoding="utf-8")
    (folder / NOTEBOOK).write_text(notebook(page), encoding="utf-8")


def with_picture(page: str) -> str:
    """The page ``sql.md`` with the picture of its tables as they are now."""
    return re.sub(r"(?<=^```mermaid\n).*?(?=^```$)", lambda _: draw_references(), page, count=1, flags=re.M | re.S)


def main() -> None:
    """Write ``methods.md`` and the picture of ``sql.md`` anew; with a second folder, lay out the site there."""
    docs, *targets = map(Path, sys.argv[1:])
    if targets:
        lay_out_site(docs, targets[0])
    else:
        (docs / COMMITTED).write_text(PAGES[COMMITTED](), encoding="utf-8")
        (docs / PICTURED).write_text(with_picture((docs / PICTURED).read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
