"""Turns reports into text tables."""

from __future__ import annotations

from typing import Iterable, List, Sequence, Tuple

from ledger.amount import Balance
from ledger.reports import BalanceRow, IncomeStatement, RegisterRow


def table(rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Columns as wide as their widest cell; the columns in `right` are aligned to the right."""
    cells = [list(row) for row in rows]
    if not cells:
        return ""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = []
    for row in cells:
        parts = [c.rjust(widths[i]) if i in right else c.ljust(widths[i]) for i, c in enumerate(row)]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _amounts(balance: Balance) -> List[str]:
    return [str(amount) for amount in balance] or ["0"]


def balance_text(rows: Sequence[BalanceRow]) -> str:
    lines: List[Tuple[str, str]] = []
    for row in rows:
        label = "  " * (row.depth - 1) + row.account.rsplit(":", 1)[-1]
        for i, amount in enumerate(_amounts(row.balance)):
            lines.append((label if i == 0 else "", amount))
    return table(lines, right=(1,))


def register_text(rows: Sequence[RegisterRow]) -> str:
    lines = []
    for row in rows:
        running = ", ".join(_amounts(row.running))
        lines.append((row.date.isoformat(), row.description[:32], row.account, str(row.amount), running))
    return table(lines, right=(3, 4))


def income_text(statement: IncomeStatement) -> str:
    lines: List[Tuple[str, str]] = []
    for title, side in (("Income", statement.income), ("Expenses", statement.expenses)):
        lines.append((title, ""))
        for account, balance in side:
            for i, amount in enumerate(_amounts(balance)):
                lines.append(("  " + account.split(":", 1)[-1] if i == 0 else "", amount))
    for i, amount in enumerate(_amounts(statement.net)):
        lines.append(("Net" if i == 0 else "", amount))
    return table(lines, right=(1,))
