import datetime as dt

from ledger.parser import parse
from ledger.reports import balance_report, income_statement, register_report

JOURNAL = parse(
    """
2026-01-01 Salary
    Assets:Bank        3000.00 EUR
    Income:Salary

2026-01-05 Rent
    Expenses:Home:Rent  950.00 EUR
    Assets:Bank

2026-02-07 Hosting
    Expenses:Work        20.00 USD
    Liabilities:Card

2026-02-11 Job in Osaka
    Assets:Tokyo      90000 JPY
    Income:Freelance
"""
)


def shown(rows):
    return {row.account: [str(a) for a in row.balance] for row in rows}


def test_balance_adds_the_accounts_below():
    rows = shown(balance_report(JOURNAL))
    assert rows["Assets"] == ["2050.00 EUR", "90000 JPY"]
    assert rows["Expenses:Home"] == ["950.00 EUR"]


def test_balance_until_a_day():
    assert "Expenses:Work" not in shown(balance_report(JOURNAL, end=dt.date(2026, 1, 31)))


def test_balance_depth():
    assert set(shown(balance_report(JOURNAL, depth=1))) == {"Assets", "Expenses", "Income", "Liabilities"}


def test_register_keeps_a_running_balance():
    rows = register_report(JOURNAL, "Assets:Bank")
    assert [str(a) for a in rows[-1].running] == ["2050.00 EUR"]


def test_income_is_positive():
    statement = income_statement(JOURNAL)
    assert {name: [str(a) for a in b] for name, b in statement.income}["Income:Salary"] == ["3000.00 EUR"]
    assert [str(a) for a in statement.net] == ["2050.00 EUR", "90000 JPY", "-20.00 USD"]
