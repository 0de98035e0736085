import datetime as dt
from decimal import Decimal

import pytest

from ledger.errors import BalanceError, ParseError
from ledger.parser import parse, parse_amount


def test_transaction_with_an_amount_left_out():
    journal = parse("2026-01-03 * Rent\n    Expenses:Rent    950.00 EUR\n    Assets:Bank\n")
    (transaction,) = journal.transactions
    assert transaction.date == dt.date(2026, 1, 3)
    assert str(transaction.postings[1].amount) == "-950.00 EUR"


def test_comments_do_not_count():
    journal = parse("; head\n2026-01-03 Rent ; why\n    Expenses:Rent  9 EUR ; x\n    ; y\n    Assets:Bank\n")
    assert journal.transactions[0].description == "Rent"


def test_price_balances_two_commodities():
    journal = parse("2026-02-10 X\n    Assets:Cash  108.42 USD\n    Assets:Bank  -100 EUR @ 1.0842 USD\n")
    assert journal.commodities() == ["EUR", "USD"]


@pytest.mark.parametrize("text", ["10", "EUR", "1.2.3 EUR", "10 eur", ""])
def test_not_an_amount(text):
    with pytest.raises(ValueError):
        parse_amount(text)


def test_thousands_separator():
    assert parse_amount("-1,234,567.89 EUR").number == Decimal("-1234567.89")


def test_unbalanced_transaction_names_the_line():
    with pytest.raises(BalanceError, match="line 1: 'X' does not balance, off by 1.00 EUR"):
        parse("2026-01-01 X\n    Expenses:A  3 EUR\n    Assets:B  -2 EUR\n")


def test_unknown_root():
    with pytest.raises(ParseError, match="<text>:2: unknown kind of account"):
        parse("2026-01-01 X\n    Stuff:A  3 EUR\n    Assets:B\n")


def test_one_posting_is_not_enough():
    with pytest.raises(ParseError, match="at least two postings"):
        parse("2026-01-01 X\n    Assets:B  3 EUR\n")
