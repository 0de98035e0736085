"""The sheet that people fill in: safe in a spreadsheet, and read back without a guess."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.store.human_labels import AnswerLabels
from flows.support.errors import UsageError
from flows.validation.label_sheet import (
    LabelTargets,
    SheetItem,
    escape_cell,
    format_guide,
    format_sheet,
    read_sheet,
    unescape_cell,
)
from judge import load_rubric

CRITERIA = ("facts", "files")
KNOWN = LabelTargets(
    {"a1": frozenset(CRITERIA), "a2": frozenset({"facts"})}, frozenset(CRITERIA), frozenset({("first", "a1")})
)
ITEMS = [
    SheetItem("a1", "artifact", "Which files?", "=cmd|' /C calc'!A0", '-1\r\nand "more", \tcells', frozenset(CRITERIA)),
    SheetItem("a2", "recall", "Why?", "'quoted'", "@SUM(1)", frozenset({"facts"})),
]


def cells(sheet: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(sheet.decode("utf-8-sig"), newline="")))


def sheet(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_sheet_opens_in_a_spreadsheet_runs_nothing_there_and_says_what_is_not_asked() -> None:
    raw = format_sheet(ITEMS, CRITERIA, "first", "=ada")
    assert raw.startswith(b"\xef\xbb\xbf")
    head, *rows = cells(raw)
    assert head == [
        "sample",
        "answer_id",
        "probe_type",
        "question",
        "true_answer",
        "answer",
        "facts",
        "files",
        "rater",
        "notes",
    ]
    assert [row[6:8] for row in rows] == [["", ""], ["", "n/a"]]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) for row in rows for cell in row)
    assert [unescape_cell(row[4]) for row in rows] == [item.true_answer for item in ITEMS]
    assert [unescape_cell(row[5]) for row in rows] == [item.answer for item in ITEMS]


@given(st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_any_text_comes_back_from_a_sheet_as_it_was(text: str) -> None:
    item = SheetItem("a1", "recall", text, text, text, frozenset())
    row = cells(format_sheet([item], (), "first"))[1]
    assert [unescape_cell(cell) for cell in row[3:6]] == [text] * 3
    assert escape_cell(text)[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n")


def test_a_filled_sheet_is_read_partial_as_it_is(tmp_path: Path) -> None:
    text = (
        "sample,answer_id,facts,files,rater,notes\r\nfirst,a1,4,,ada,'=why\r\n,a2,2.5,n/a,,\r\n,,,,,\r\nfirst,a1,,,bo,"
    )
    assert read_sheet(sheet(tmp_path, text), KNOWN, "kim") == [
        AnswerLabels("a1", "ada", {"facts": 4.0}, "first", "=why"),
        AnswerLabels("a2", "kim", {"facts": 2.5}),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_sheet_may_be_as_other_spreadsheets_save_it(tmp_path: Path, delimiter: str, encoding: str) -> None:
    text = "answer_id,facts,rater\na1,X,Zoë\n".replace(",", delimiter).replace("X", "3,5")
    assert read_sheet(sheet(tmp_path, text, encoding), KNOWN) == [AnswerLabels("a1", "Zoë", {"facts": 3.5})]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('"a\n1",9,,ada', "line 2, column facts: expected a number from 0 to 5, found '9'"),
        ("a1,good,,ada", "line 2, column facts: expected a number from 0 to 5, found 'good'"),
        ("a1,nan,,ada", "line 2, column facts: expected a number from 0 to 5, found 'nan'"),
        ("a2,3,3,ada", "line 2, column files: not asked of this answer; expected n/a"),
        ("a9,3,,ada", "line 2, column answer_id: no scored answer 'a9' in this store"),
        ("a1,3,,", "line 2, column rater: expected a name; or give one for all rows with --rater"),
        ("a1,3,,ada,7,8", "line 2: 2 more cells than columns"),
        ("a1,3,,ada\na2,1,,ada\na1,4,,ada", "line 4: 'ada' labels the answer of line 2 again"),
        ('a1,3,,"a\nb"\na1,6,,ada', "line 4, column facts: expected a number from 0 to 5, found '6'"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_sheet(sheet(tmp_path, f"answer_id,facts,files,rater\n{row}\n"), KNOWN)
    assert said in str(raised.value)


def test_all_that_is_wrong_is_named_at_once_up_to_a_number(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        read_sheet(sheet(tmp_path, "answer_id,facts,rater\n" + "a1,7,ada\n" * 23), KNOWN)
    assert str(raised.value).count("column facts") == 20
    assert "and 3 more" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: no column answer_id"),
        ("answer_id,fact,rater\n", "line 1: unknown column 'fact'; criteria are: facts, files"),
        ("answer_id,facts,facts\n", "line 1: column 'facts' stands twice"),
        ("answer_id,rater\n", "line 1: no column of a criterion"),
    ],
)
def test_a_header_that_cannot_be_used_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_sheet(sheet(tmp_path, text), KNOWN)


def test_a_sample_that_did_not_draw_the_answer_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 2, column sample: no sample 'other'"):
        read_sheet(sheet(tmp_path, "sample,answer_id,facts,rater\nother,a1,3,ada\n"), KNOWN)


def test_a_file_that_is_no_text_or_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="save the sheet as CSV UTF-8"):
        read_sheet(sheet(tmp_path, "answer_id,Zoë\n", "latin-1"), KNOWN)
    with pytest.raises(UsageError, match="No such file"):
        read_sheet(tmp_path / "none.csv", KNOWN)


def test_the_guide_has_every_anchor_and_where_the_criterion_is_asked() -> None:
    rubric = load_rubric()
    text = format_guide(list(rubric.criteria.values()), rubric.asked, rubric.name)
    for criterion in rubric.criteria.values():
        assert all(anchor in text for anchor in criterion.anchors.values())
        assert f"## {criterion.id}" in text
    assert "asked of: artifact, continuation)" in text.partition("## context_artifact_state")[2]
