from decimal import Decimal

import pytest

from ledger.amount import Amount, Balance


def eur(text):
    return Amount(Decimal(text), "EUR")


def test_amounts_of_one_commodity_add_up():
    assert eur("1.10") + eur("2.20") == eur("3.30")


def test_amounts_of_two_commodities_do_not():
    with pytest.raises(ValueError, match="cannot add USD to EUR"):
        eur("1") + Amount(Decimal(1), "USD")


def test_balance_drops_zero_entries():
    balance = Balance([eur("5"), eur("-5"), Amount(Decimal(7), "USD")])
    assert [str(a) for a in balance] == ["7.00 USD"]


@pytest.mark.parametrize(
    ("number", "commodity", "text"),
    [("1234.5", "EUR", "1234.50 EUR"), ("1234.5", "KWD", "1234.500 KWD"), ("1234", "JPY", "1234 JPY")],
)
def test_shown_with_the_digits_of_the_currency(number, commodity, text):
    assert str(Amount(Decimal(number), commodity)) == text
