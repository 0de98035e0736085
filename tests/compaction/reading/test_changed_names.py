"""Which names an edit defines."""

from __future__ import annotations

import pytest

from compaction.reading.changed_names import changed_definitions


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("const area = (side) => side * side", "area"),
        ("export const load: Loader = async (path = '.') => {", "load"),
        ("const onClick = useCallback(() => {", "onClick"),
        ("const parse = function (text) {", "parse"),
        ("const loader = new Loader(tui, (line) => dim(line));", None),
        ("const names = rows.map((row) => row.name)", None),
        ("let timer = setTimeout(() => {}, 5)", None),
    ],
)
def test_a_variable_is_a_function_where_its_value_is_one_and_not_where_a_call_is_given_one(
    line: str, name: str | None
) -> None:
    put_in, _ = changed_definitions(line, "", "src/app.ts")
    assert put_in == ({name} if name else set())
