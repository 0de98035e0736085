from __future__ import annotations

import pytest

from compaction import Message, ToolCall
from compaction.measures.said import Names, acted_text, defined_names, name_forms, said_text, telling_lines
from compaction.reading.file_paths import Roots

ROOTS = Roots(("/srv/mill",), "/srv/mill")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /srv/mill/src/rows.py:12", {"src/rows.py"}),
        ("--- a/src/rows.py\n+++ b/src/rows.py", {"src/rows.py"}),
        ("./src/rows.py, and rows.py.", {"src/rows.py", "rows.py"}),
        ("from .github/workflows/ci.yml", {".github/workflows/ci.yml"}),
        ('import x from "../config/redis.ts"', set()),
        ("true/false and/or 2024/05/01", set()),
        ("/usr/bin/python /etc/hosts /dev/null", set()),
        ("call read_rows(RowReader)", {"read_rows", "RowReader"}),
        ("self.row_count is stable", {"row_count"}),
        ("to_csv and __init__ and parser", set()),
        ("commit 3f9c2e1 of deadbee", {"3f9c2e1"}),
        ("pid 48213 on port 10000 at 12345", {"48213"}),
        ("book HAT136 with SHA256, credit_card_4421486", {"HAT136", "credit_card_4421486"}),
        ("at https://a.example/v1/models.", {"https://a.example/v1/models"}),
        ("at https://a.example/ there", set()),
    ],
)
def test_names_are_those_that_only_this_work_has(text: str, found: set[str]) -> None:
    assert Names(ROOTS).of(text) == found


def test_a_path_can_be_said_by_its_end_and_other_names_cannot() -> None:
    assert name_forms("src/io/rows.py") == ("src/io/rows.py", "io/rows.py", "rows.py")
    assert name_forms("src/io/fits") == ("src/io/fits", "io/fits")
    assert name_forms("read_rows") == ("read_rows",)
    assert name_forms("https://a.example/v1/models") == ("https://a.example/v1/models",)


def test_code_names_count_as_defined_where_a_text_defines_them() -> None:
    shown = (
        "    12\tdef read_rows(path):\n  const innerName = 1\nconst outerName = 2\nMAX_ROWS = 5\n"
        "  <Box flexDirection='x'>\n"
        "    return sort_rows(rows)\nFAILED tests/test_a.py::test_the_order - KeyError"
    )
    assert defined_names(shown) == {"read_rows", "outerName", "MAX_ROWS", "test_the_order"}


def test_lines_are_long_varied_and_without_their_number() -> None:
    code = "return sorted(rows, key=lambda row: row.number)"
    assert telling_lines(f"   12\t    {code}  \n{'-' * 60}\nshort line\n/srv/mill/src/a/very/long/path/to/rows.py") == {
        code
    }
    assert telling_lines("from typing import Dict, List, Optional, Tuple") == set()
    assert telling_lines("from mill.rows import RowReader, read_rows, sort") != set()


def test_a_message_is_read_with_the_unescaped_arguments_of_its_calls_and_acts_without_reasoning() -> None:
    call = ToolCall("c", "edit", '{"path": "a.py", "edits": [{"old": "x\\ny", "n": 48213}], "all": true}')
    message = Message("assistant", "done", reasoning="why", tool_calls=(call,))
    assert said_text(message) == "why\ndone\na.py\nx\ny\n48213"
    assert acted_text(message) == "done\na.py\nx\ny\n48213"
    assert acted_text(Message("assistant", "done", reasoning="why")) == "done"
