"""The reports: plain data, no layout."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from ledger.amount import Amount, Balance
from ledger.model import Journal


@dataclass(frozen=True)
class BalanceRow:
    account: str
    depth: int
    balance: Balance


@dataclass(frozen=True)
class RegisterRow:
    date: dt.date
    description: str
    account: str
    amount: Amount
    running: Balance


@dataclass(frozen=True)
class IncomeStatement:
    start: Optional[dt.date]
    end: Optional[dt.date]
    income: List[Tuple[str, Balance]]
    expenses: List[Tuple[str, Balance]]
    net: Balance


def _parents(account: str) -> List[str]:
    parts = account.split(":")
    return [":".join(parts[: i + 1]) for i in range(len(parts))]


def balance_report(
    journal: Journal,
    account: str = "",
    end: Optional[dt.date] = None,
    depth: int = 0,
) -> List[BalanceRow]:
    """The balance of each account, with the accounts below it added in."""
    totals: Dict[str, Balance] = {}
    for _, posting in journal.postings(account, end=end):
        for name in _parents(posting.account):
            totals.setdefault(name, Balance()).add(posting.amount)
    rows = []
    for name in sorted(totals):
        level = name.count(":") + 1
        if (depth and level > depth) or totals[name].is_zero():
            continue
        rows.append(BalanceRow(name, level, totals[name]))
    return rows


def register_report(
    journal: Journal,
    account: str,
    start: Optional[dt.date] = None,
    end: Optional[dt.date] = None,
) -> List[RegisterRow]:
    """Each posting to the account, with the running balance."""
    running = Balance()
    rows = []
    for transaction, posting in journal.postings(account, start, end):
        running.add(posting.amount)
        now = Balance(running)
        rows.append(RegisterRow(transaction.date, transaction.description, posting.account, posting.amount, now))
    return rows


def income_statement(
    journal: Journal,
    start: Optional[dt.date] = None,
    end: Optional[dt.date] = None,
) -> IncomeStatement:
    """Income and expenses of a period; income is shown positive."""
    sides: Dict[str, Dict[str, Balance]] = {"Income": {}, "Expenses": {}}
    net = Balance()
    for _, posting in journal.postings(start=start, end=end):
        if posting.root not in sides:
            continue
        sides[posting.root].setdefault(posting.account, Balance()).add(posting.amount)
        net.add(-posting.amount)
    income = [(name, total.negated()) for name, total in sorted(sides["Income"].items())]
    return IncomeStatement(start, end, income, sorted(sides["Expenses"].items()), net)
