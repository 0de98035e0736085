"""Command line of ledger."""

from __future__ import annotations

import argparse
import datetime as dt
import sys
from typing import List, Optional

from ledger import __version__, layout, parser, reports
from ledger.errors import LedgerError


def build_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="ledger", description="Double-entry bookkeeping in plain text files.")
    top.add_argument("--version", action="version", version=__version__)
    top.add_argument("journal", help="the journal file")
    commands = top.add_subparsers(dest="command", required=True)

    balance = commands.add_parser("balance", help="balances of the accounts")
    balance.add_argument("account", nargs="?", default="")
    balance.add_argument("--to", dest="end", type=dt.date.fromisoformat)
    balance.add_argument("--depth", type=int, default=0)

    register = commands.add_parser("register", help="postings to an account")
    register.add_argument("account")
    register.add_argument("--from", dest="start", type=dt.date.fromisoformat)
    register.add_argument("--to", dest="end", type=dt.date.fromisoformat)

    income = commands.add_parser("income", help="income and expenses of a period")
    income.add_argument("--from", dest="start", type=dt.date.fromisoformat)
    income.add_argument("--to", dest="end", type=dt.date.fromisoformat)

    commands.add_parser("check", help="only read the journal and say what is in it")
    return top


def main(argv: Optional[List[str]] = None) -> int:
    args = build_parser().parse_args(argv)
    try:
        journal = parser.parse_file(args.journal)
        if args.command == "balance":
            text = layout.balance_text(reports.balance_report(journal, args.account, args.end, args.depth))
        elif args.command == "register":
            text = layout.register_text(reports.register_report(journal, args.account, args.start, args.end))
        elif args.command == "income":
            text = layout.income_text(reports.income_statement(journal, args.start, args.end))
        else:
            text = (
                f"{len(journal.transactions)} transactions, {len(journal.accounts())} accounts, "
                f"commodities: {', '.join(journal.commodities())}"
            )
    except (LedgerError, OSError) as error:
        print(f"ledger: {error}", file=sys.stderr)
        return 1
    print(text)
    return 0
