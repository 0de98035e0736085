"""Reads the journal format of docs/journal-format.md."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path
from typing import List, Optional, Tuple, Union

from ledger.amount import Amount
from ledger.errors import BalanceError, ParseError
from ledger.model import ROOTS, Journal, Transaction, elide

HEADER = re.compile(r"^(?P<date>\d{4}-\d{2}-\d{2})(?:\s+(?P<status>[*!]))?\s+(?P<description>.*\S)\s*$")
POSTING = re.compile(r"^(?:\s{2,}|\t)(?P<account>[A-Z][\w&-]*(?:\s\w+)*(?::[\w&-]+(?:\s\w+)*)*)(?:\s{2,}(?P<rest>.*\S))?\s*$")
AMOUNT = re.compile(r'^(?P<number>[+-]?[\d,]*\.?\d+)\s*(?P<commodity>[A-Z]{3}|"[^"]+")$')

Raw = Tuple[str, Optional[Amount], Optional[Amount]]


def parse_amount(text: str) -> Amount:
    found = AMOUNT.match(text.strip())
    if not found:
        raise ValueError(f"not an amount: {text!r}")
    return Amount(Decimal(found["number"].replace(",", "")), found["commodity"].strip('"'))


def parse_file(path: Union[str, Path]) -> Journal:
    return parse(Path(path).read_text(encoding="utf-8"), str(path))


def parse(text: str, path: str = "<text>") -> Journal:
    journal = Journal(path)
    header: Optional[Tuple[int, "re.Match[str]"]] = None
    raw: List[Raw] = []

    def finish() -> None:
        nonlocal header, raw
        if header is None:
            return
        line, match = header
        if len(raw) < 2:
            raise ParseError("a transaction needs at least two postings", path, line)
        try:
            date = dt.date.fromisoformat(match["date"])
        except ValueError as error:
            raise ParseError(str(error), path, line) from None
        try:
            postings = elide(raw)
            transaction = Transaction(date, match["description"], postings, match["status"] or "", line)
            transaction.check()
        except BalanceError as error:
            raise BalanceError(f"{path}: {error}") from None
        journal.transactions.append(transaction)
        header, raw = None, []

    for number, full in enumerate(text.splitlines(), start=1):
        line = full.split(";", 1)[0].rstrip()
        if not line.strip():
            if not full.strip():
                finish()
            continue
        if line[0].isspace():
            if header is None:
                raise ParseError("a posting outside of a transaction", path, number)
            raw.append(_posting(line, path, number))
            continue
        finish()
        match = HEADER.match(line)
        if not match:
            raise ParseError(f"not a transaction: {line!r}", path, number)
        header = (number, match)
    finish()
    journal.transactions.sort(key=lambda t: t.date)
    return journal


def _posting(line: str, path: str, number: int) -> Raw:
    match = POSTING.match(line)
    if not match:
        raise ParseError(f"not a posting: {line.strip()!r}", path, number)
    account = match["account"]
    if account.split(":", 1)[0] not in ROOTS:
        raise ParseError(f"unknown kind of account: {account!r}", path, number)
    rest = match["rest"]
    if rest is None:
        return account, None, None
    amount_text, _, price_text = rest.partition("@")
    try:
        amount = parse_amount(amount_text)
        price = parse_amount(price_text) if price_text.strip() else None
    except ValueError as error:
        raise ParseError(str(error), path, number) from None
    return account, amount, price
