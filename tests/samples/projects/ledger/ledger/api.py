"""Public functions for other programs; signatures in here do not change."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import List, Optional, Union

from ledger import parser, reports
from ledger.model import Journal


def load(path: Union[str, Path]) -> Journal:
    """Read and check a journal."""
    return parser.parse_file(path)


def balances(journal: Journal, account: str = "", end: Optional[dt.date] = None) -> List[reports.BalanceRow]:
    return reports.balance_report(journal, account, end)


def register(journal: Journal, account: str) -> List[reports.RegisterRow]:
    return reports.register_report(journal, account)


def income(journal: Journal, start: Optional[dt.date] = None, end: Optional[dt.date] = None) -> reports.IncomeStatement:
    return reports.income_statement(journal, start, end)
