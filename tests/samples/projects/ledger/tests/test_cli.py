from pathlib import Path

import pytest

from ledger.cli import main

EXAMPLE = str(Path(__file__).parents[1] / "examples" / "household.journal")


def test_check(capsys):
    assert main([EXAMPLE, "check"]) == 0
    assert "commodities: EUR, JPY, USD" in capsys.readouterr().out


def test_balance(capsys):
    assert main([EXAMPLE, "balance", "Assets", "--depth", "2"]) == 0
    assert "Bank" in capsys.readouterr().out


def test_missing_file(capsys):
    assert main(["no-such.journal", "check"]) == 1
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["income"], ["register", "Assets:Cash"], ["balance"]])
def test_reports_run(command, capsys):
    assert main([EXAMPLE, *command]) == 0
    assert capsys.readouterr().out.strip()
