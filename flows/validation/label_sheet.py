"""The sheet that people fill in: written for a spreadsheet, read back row by row.

Texts in it are of strangers. A cell that a spreadsheet would take for a formula gets an apostrophe in front, and so
does one that begins with an apostrophe, so that reading takes away exactly one and gives the text back.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flows.sessions.task_type_labels import MOST_BYTES
from flows.store.human_labels import AnswerLabels
from flows.support.errors import UsageError
from judge import Criterion
from judge.given_files import read_given

FIXED = ("sample", "answer_id", "probe_type", "question", "true_answer", "answer", "context_file")
"""Columns before the criteria; ``context_file`` only where contexts are written."""
LAST = ("rater", "notes")
NOT_ASKED = "n/a"
SHOWN = 20
"""Problems of a file that are named."""

# The last four are of full width, which some spreadsheets read alike.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
_NOTHING = ("", NOT_ASKED, "na", "-", "'-", "–")


@dataclass(frozen=True, slots=True)
class SheetItem:
    """One row of the sheet, to be labelled. Nothing in it names the method."""

    answer_id: str
    probe_type: str
    question: str
    true_answer: str
    answer: str
    asked: frozenset[str]
    """Criteria that the rubric asks of this probe type."""
    context_file: str = ""


def format_sheet(items: Sequence[SheetItem], criteria: Sequence[str], sample_id: str, rater: str = "") -> bytes:
    """Write the sheet as CSV in UTF-8, with a byte order mark for spreadsheets."""
    with_context = any(item.context_file for item in items)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    fixed = FIXED if with_context else FIXED[:-1]
    writer.writerow([*fixed, *criteria, *LAST])
    for item in items:
        texts = [sample_id, item.answer_id, item.probe_type, item.question, item.true_answer, item.answer]
        texts += [item.context_file] if with_context else []
        asked = ["" if criterion in item.asked else NOT_ASKED for criterion in criteria]
        writer.writerow([*map(escape_cell, texts), *asked, escape_cell(rater), ""])
    return b"\xef\xbb\xbf" + out.getvalue().encode("utf-8", "replace")


def escape_cell(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula."""
    clean = text.replace("\0", "\N{SYMBOL FOR NULL}")
    return f"'{clean}" if clean.startswith(_FORMULA) else clean


def unescape_cell(cell: str) -> str:
    """The text of a cell that ``escape_cell`` made."""
    return cell[1:] if cell.startswith("'") else cell


def format_guide(
    criteria: Sequence[Criterion], asked: Mapping[str, Iterable[str]], rubric: str, *, with_context: bool = False
) -> str:
    """The instructions for people: the anchors of every criterion, as Markdown."""
    context = "The compacted context that the answer was given from is not shown, because it would tell the method."
    if with_context:
        context = "The compacted context that the answer was given from is in `context_file`, as a judge is shown it."
    lines = [
        "# How to label",
        "",
        f"Rubric {rubric}. Every row is one answer to a question about a session of a coding agent; `true_answer` is "
        f"what the session proves. {context} Score what the answer says against the true answer, each criterion for "
        "itself, 0 to 5; halves are fine. The anchors say what 0, 3 and 5 look like; 1, 2 and 4 lie between them.",
        "",
        f"Leave `{NOT_ASKED}` as it is, leave a cell empty where you cannot tell, put your name into `rater`. Rows "
        "stand in random order: if you have no time for all of them, label from the top. Do not sort by what you "
        "think of them, and do not look up an `answer_id`.",
        "",
    ]
    for one in criteria:
        types = ", ".join(kind for kind, ids in asked.items() if one.id in ids)
        lines += [f"## {one.id}", "", f"{one.question} (dimension {one.dimension}; asked of: {types})", ""]
        lines += [f"- {score}: {text}" for score, text in sorted(one.anchors.items())]
        lines += [""]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class LabelTargets:
    """The store's criteria, answers and samples, to check a sheet."""

    asked: Mapping[str, frozenset[str]]
    """Answer → criteria that a judge was asked about it."""
    criteria: frozenset[str]
    drawn: frozenset[tuple[str, str]]
    """Samples with the answers that they drew."""


def read_sheet(path: Path, known: LabelTargets, rater: str | None = None) -> list[AnswerLabels]:
    """The rows of a sheet that have a score.

    Args:
        path: CSV with commas, semicolons or tabs, UTF-8 or UTF-16; needs ``answer_id`` and columns of criteria.
        known: What there is to label.
        rater: Who labelled rows that do not say so; a name in the column goes before it.

    Raises:
        UsageError: the file cannot be read, or cells are wrong; names each by line and column.
    """
    text = _read_text(path)
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    problems: list[str] = []
    try:
        names = [name.strip() for name in next(reader, [])]
        _check_header(path, names, known)
        found: dict[tuple[str, str], tuple[int, AnswerLabels]] = {}
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if any(cell.strip() for cell in cells):
                _take_row(
                    dict(zip(names, cells, strict=False)), line, len(cells) - len(names), known, rater, found, problems
                )
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: not CSV: {error}") from None
    if problems:
        more = f"; and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
        raise UsageError(f"{path}: nothing was stored: {'; '.join(problems[:SHOWN])}{more}")
    return [label for _, label in found.values()]


def _read_text(path: Path) -> str:
    try:
        raw = read_given(path, MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        return raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8; save the sheet as CSV UTF-8") from None


def _check_header(path: Path, names: Sequence[str], known: LabelTargets) -> None:
    if "answer_id" not in names:
        raise UsageError(
            f"{path}, line 1: no column answer_id; expected a sheet as `compaction-eval calibrate --sample N` writes it"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    unknown = [name for name in names if name not in (*FIXED, *LAST, *known.criteria)]
    if twice or unknown:
        wrong = f"column {twice[0]!r} stands twice" if twice else f"unknown column {unknown[0]!r}"
        raise UsageError(f"{path}, line 1: {wrong}; criteria are: {', '.join(sorted(known.criteria))}")
    if not known.criteria.intersection(names):
        raise UsageError(f"{path}, line 1: no column of a criterion; they are: {', '.join(sorted(known.criteria))}")


def _take_row(
    row: Mapping[str, str],
    line: int,
    n_extra: int,
    known: LabelTargets,
    rater: str | None,
    found: dict[tuple[str, str], tuple[int, AnswerLabels]],
    problems: list[str],
) -> None:
    """Check one row; add it to ``found``, or its errors to ``problems``."""
    wrong: list[str] = []
    cells = {name: unescape_cell(cell).strip() for name, cell in row.items()}
    if n_extra > 0:
        wrong.append(f"line {line}: {n_extra} more cells than columns")
    answer_id, sample_id = cells["answer_id"], cells.get("sample") or None
    who = cells.get("rater") or rater or ""
    asked = known.asked.get(answer_id)
    scores = {}
    for name in sorted(known.criteria & cells.keys()):
        if cells[name].lower() in _NOTHING:
            continue
        if asked is not None and name not in asked:
            wrong.append(f"line {line}, column {name}: not asked of this answer; expected {NOT_ASKED}")
            continue
        score = _score(cells[name])
        if score is None:
            wrong.append(f"line {line}, column {name}: expected a number from 0 to 5, found {cells[name]!r}")
        else:
            scores[name] = score
    if scores and asked is None:
        wrong.append(f"line {line}, column answer_id: no scored answer {answer_id!r} in this store")
    if scores and sample_id and asked is not None and (sample_id, answer_id) not in known.drawn:
        wrong.append(f"line {line}, column sample: no sample {sample_id!r} of this store drew this answer")
    if scores and not who:
        wrong.append(f"line {line}, column rater: expected a name; or give one for all rows with --rater")
    if (answer_id, who) in found and scores:
        wrong.append(f"line {line}: {who!r} labels the answer of line {found[answer_id, who][0]} again")
    problems += wrong
    if scores and not wrong:
        label = AnswerLabels(answer_id, who, scores, sample_id, cells.get("notes", ""))
        found[answer_id, who] = line, label


def _score(cell: str) -> float | None:
    try:
        score = float(cell.replace(",", "."))
    except ValueError:
        return None
    return score if 0 <= score <= 5 else None
