"""Postings, transactions and the journal."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Iterator, List, Optional, Tuple

from ledger.amount import Amount, Balance
from ledger.errors import BalanceError

ROOTS = ("Assets", "Liabilities", "Equity", "Income", "Expenses")


@dataclass(frozen=True)
class Posting:
    account: str
    amount: Amount
    price: Optional[Amount] = None

    @property
    def root(self) -> str:
        return self.account.split(":", 1)[0]

    @property
    def weight(self) -> Amount:
        """What the posting counts when the transaction is balanced."""
        if self.price is None:
            return self.amount
        return Amount(self.amount.number * self.price.number, self.price.commodity)


@dataclass(frozen=True)
class Transaction:
    date: dt.date
    description: str
    postings: Tuple[Posting, ...]
    status: str = ""
    line: int = 0

    def residual(self) -> Balance:
        return Balance(posting.weight for posting in self.postings)

    def check(self) -> None:
        residual = self.residual()
        if not residual.is_zero():
            missing = ", ".join(str(a) for a in residual)
            raise BalanceError(f"line {self.line}: {self.description!r} does not balance, off by {missing}")


@dataclass
class Journal:
    path: str
    transactions: List[Transaction] = field(default_factory=list)

    def postings(
        self,
        account: str = "",
        start: Optional[dt.date] = None,
        end: Optional[dt.date] = None,
    ) -> Iterator[Tuple[Transaction, Posting]]:
        """Postings to `account` and the accounts below it, from `start` to `end` (both included)."""
        for transaction in self.transactions:
            if start is not None and transaction.date < start:
                continue
            if end is not None and transaction.date > end:
                continue
            for posting in transaction.postings:
                if not account or posting.account == account or posting.account.startswith(account + ":"):
                    yield transaction, posting

    def accounts(self) -> List[str]:
        return sorted({posting.account for _, posting in self.postings()})

    def commodities(self) -> List[str]:
        return sorted({posting.amount.commodity for _, posting in self.postings()})


def elide(postings: List[Tuple[str, Optional[Amount], Optional[Amount]]]) -> Tuple[Posting, ...]:
    """Fill in the one amount that may be left out."""
    open_at = [i for i, (_, amount, _) in enumerate(postings) if amount is None]
    if len(open_at) > 1:
        raise BalanceError("only one posting may leave its amount out")
    done = [Posting(account, amount, price) for account, amount, price in postings if amount is not None]
    if not open_at:
        return tuple(done)
    rest = list(Balance(p.weight for p in done).negated())
    if not rest:
        rest = [Amount(Decimal(0), done[0].amount.commodity)]
    account = postings[open_at[0]][0]
    filled = [Posting(account, amount) for amount in rest]
    return tuple(done[: open_at[0]] + filled + done[open_at[0] :])
