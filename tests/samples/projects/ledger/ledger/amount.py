"""Amounts: a decimal number of one commodity, and sums over several commodities."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Dict, Iterable, Iterator, Tuple

# How many digits after the point each currency is shown with; others get two.
MINOR_UNITS = {"JPY": 0, "KRW": 0, "CLP": 0, "KWD": 3, "BHD": 3, "TND": 3}


def minor_units(commodity: str) -> int:
    return MINOR_UNITS.get(commodity, 2)


@dataclass(frozen=True)
class Amount:
    """A number of something."""

    number: Decimal
    commodity: str

    def __neg__(self) -> "Amount":
        return Amount(-self.number, self.commodity)

    def __add__(self, other: "Amount") -> "Amount":
        if other.commodity != self.commodity:
            raise ValueError(f"cannot add {other.commodity} to {self.commodity}")
        return Amount(self.number + other.number, self.commodity)

    def __str__(self) -> str:
        return f"{self.number:.{minor_units(self.commodity)}f} {self.commodity}"


class Balance:
    """A sum of amounts, kept per commodity; zero entries do not count."""

    def __init__(self, amounts: Iterable[Amount] = ()) -> None:
        self._numbers: Dict[str, Decimal] = {}
        for amount in amounts:
            self.add(amount)

    def add(self, amount: Amount) -> None:
        total = self._numbers.get(amount.commodity, Decimal(0)) + amount.number
        if total:
            self._numbers[amount.commodity] = total
        else:
            self._numbers.pop(amount.commodity, None)

    def update(self, other: "Balance") -> None:
        for amount in other:
            self.add(amount)

    def get(self, commodity: str) -> Decimal:
        return self._numbers.get(commodity, Decimal(0))

    def negated(self) -> "Balance":
        return Balance(-amount for amount in self)

    def is_zero(self) -> bool:
        return not self._numbers

    def __iter__(self) -> Iterator[Amount]:
        for commodity in sorted(self._numbers):
            yield Amount(self._numbers[commodity], commodity)

    def __len__(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Balance) and self._numbers == other._numbers

    def items(self) -> Iterable[Tuple[str, Decimal]]:
        return sorted(self._numbers.items())

    def __repr__(self) -> str:
        return f"Balance({', '.join(str(a) for a in self)})"
