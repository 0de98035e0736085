import json
from pathlib import Path

import pytest

from flows.reporting.text_tables import Layout
from flows.store.store import STORE_FORMAT
from tests.flows.conftest import Command
from tests.sql.tiny import make, tiny

NAMES = ["method", "overall ±95%", *(f"openhands_v{n}_events" for n in range(12))]
CELLS = [[f"a_method_with_a_long_name(parameter={n}, another={n})", "4.50 ±0.30", *["5.00"] * 12] for n in range(50)]
NUMERIC = [False, *[True] * 13]


@pytest.mark.parametrize("width", [60, 80, 120, 200, 220])
def test_a_table_fits_its_terminal_and_its_names_tell_rows_apart(width: int) -> None:
    lines = Layout(width=width).table(NAMES, CELLS, NUMERIC).splitlines()
    assert max(map(len, lines)) <= width
    column = next(line for line in lines if "5.00" in line).index("4.50")
    told = "".join(line[:column].strip() for line in lines)
    assert all(f"a_method_with_a_long_name(parameter={n},another={n})" in told.replace(" ", "") for n in range(50))
    assert column >= 24


def test_what_does_not_fit_is_said_with_the_option_that_has_it() -> None:
    narrow = Layout(width=60, most=40, more="--wide").table(NAMES, CELLS, NUMERIC)
    shown = narrow.count("5.00") // 40
    assert 1 <= shown < 12
    assert narrow.splitlines()[-1] == f"{12 - shown} more columns and 10 more rows: --wide"
    whole = Layout(width=None).table(NAMES, CELLS, NUMERIC)
    assert (whole.count("5.00"), "more" in whole) == (12 * 50, False)


def test_a_store_is_named_below_its_tables_and_the_environment_may_name_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tiny(), tmp_path).parent
    (folder / "store.json").write_text(json.dumps({"format": STORE_FORMAT, "tokenizer": "o200k_base"}))
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("COMPACTION_EVAL_STORE", folder.name)
    assert command("leaderboard").stdout.splitlines()[-1] == f"Store: {folder.name}"
    assert "Store:" not in command("leaderboard", "--format", "csv").stdout
    assert command("sql", "FROM range(3)").stdout.splitlines()[-1] == f"Store: {folder.name}"
