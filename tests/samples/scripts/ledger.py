"""Multi-currency reports for a double-entry ledger: two designs, a changed requirement, one test left failing."""

META = dict(
    format="codex_rollout",
    project="ledger",
    title="Reports in one currency with exchange rates from a file",
    started="2026-04-13T13:05:00Z",
    workdir="/srv/ledger",
    author="Ruben Albers <ruben@example.org>",
    first_commit="ledger 0.7.0",
    agents_md="""- Python 3.9 must work: no match statement, no `X | Y` in runtime annotations without the future import.
- Money is `decimal.Decimal`. Never float.
- Tests: `python -m pytest`. Every bug gets a test first.
- Names and signatures in `ledger/api.py` are public. Do not change them.""",
    system_prompt="You are a coding agent that works in the person's repository through a terminal. Read before you "
    "change, keep the changes small, run the tests, and say plainly what was done and what was not. Keep a plan with "
    "update_plan when the work has several steps.",
)

RATES = '''"""Exchange rates from a file.

The file is CSV with a head line: `date,base,quote,rate`, where one unit of `base` costs `rate` units of `quote` from
that day on, until a later line says otherwise.
"""

from __future__ import annotations

import bisect
import csv
import datetime as dt
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Dict, List, Tuple, Union

from ledger.amount import Amount
from ledger.errors import LedgerError

COLUMNS = ["date", "base", "quote", "rate"]


class RateError(LedgerError):
    """The rate file is wrong, or has no rate for what is asked."""


class Rates:
    """Rates per pair of currencies, in the order of their days."""

    def __init__(self) -> None:
        self._days: Dict[Tuple[str, str], List[dt.date]] = {}
        self._values: Dict[Tuple[str, str], List[Decimal]] = {}

    def add(self, day: dt.date, base: str, quote: str, rate: Decimal) -> None:
        self._insert(day, (base, quote), rate)
        self._insert(day, (quote, base), 1 / rate)

    def _insert(self, day: dt.date, pair: Tuple[str, str], rate: Decimal) -> None:
        days = self._days.setdefault(pair, [])
        at = bisect.bisect_left(days, day)
        days.insert(at, day)
        self._values.setdefault(pair, []).insert(at, rate)

    def rate(self, base: str, quote: str, day: dt.date) -> Decimal:
        """The rate that holds on `day`: the newest one that is not after it."""
        if base == quote:
            return Decimal(1)
        days = self._days.get((base, quote), [])
        at = bisect.bisect_left(days, day) - 1
        if at < 0:
            raise RateError(f"no rate from {base} to {quote} on {day}")
        return self._values[(base, quote)][at]

    def convert(self, amount: Amount, quote: str, day: dt.date) -> Amount:
        """The amount in `quote`, with all its digits; rounding is the report's business."""
        return Amount(amount.number * self.rate(amount.commodity, quote, day), quote)


def load_rates(path: Union[str, Path]) -> Rates:
    rates = Rates()
    with open(path, encoding="utf-8", newline="") as handle:
        reader = csv.DictReader(handle)
        if reader.fieldnames != COLUMNS:
            raise RateError(f"{path}: the head line must be {','.join(COLUMNS)}")
        for row in reader:
            try:
                rate = Decimal(row["rate"])
                day = dt.date.fromisoformat(row["date"])
            except (InvalidOperation, TypeError, ValueError) as error:
                raise RateError(f"{path}:{reader.line_num}: {error}") from None
            if rate <= 0:
                raise RateError(f"{path}:{reader.line_num}: a rate must be above zero")
            rates.add(day, row["base"], row["quote"], rate)
    return rates
'''

TEST_RATES = '''import datetime as dt
from decimal import Decimal

import pytest

from ledger.amount import Amount
from ledger.rates import RateError, Rates, load_rates


@pytest.fixture
def rates():
    table = Rates()
    table.add(dt.date(2026, 1, 1), "EUR", "USD", Decimal("1.10"))
    table.add(dt.date(2026, 3, 1), "EUR", "USD", Decimal("1.20"))
    table.add(dt.date(2026, 2, 1), "EUR", "USD", Decimal("1.15"))
    return table


@pytest.mark.parametrize(
    ("day", "rate"),
    [("2026-01-01", "1.10"), ("2026-01-31", "1.10"), ("2026-02-01", "1.15"), ("2026-02-28", "1.15"), ("2026-12-31", "1.20")],
)
def test_the_newest_rate_that_is_not_after_the_day(rates, day, rate):
    assert rates.rate("EUR", "USD", dt.date.fromisoformat(day)) == Decimal(rate)


def test_same_currency_needs_no_rate(rates):
    assert rates.rate("JPY", "JPY", dt.date(1999, 1, 1)) == 1


def test_the_other_direction(rates):
    amount = rates.convert(Amount(Decimal("11.00"), "USD"), "EUR", dt.date(2026, 1, 15))
    assert amount.number.quantize(Decimal("0.01")) == Decimal("10.00")


def test_no_rate_before_the_first_day(rates):
    with pytest.raises(RateError, match="no rate from EUR to USD on 2025-12-31"):
        rates.rate("EUR", "USD", dt.date(2025, 12, 31))


def test_file(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text("date,base,quote,rate\\n2026-01-01,EUR,JPY,183.40\\n")
    assert load_rates(path).rate("EUR", "JPY", dt.date(2026, 1, 1)) == Decimal("183.40")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day,base,quote,rate\\n", "head line must be"),
        ("date,base,quote,rate\\n2026-01-01,EUR,JPY,abc\\n", ":2:"),
        ("date,base,quote,rate\\n2026-01-01,EUR,JPY,-1\\n", "above zero"),
        ("date,base,quote,rate\\n2026-13-01,EUR,JPY,1\\n", ":2:"),
    ],
)
def test_bad_file(tmp_path, text, message):
    path = tmp_path / "rates.csv"
    path.write_text(text)
    with pytest.raises(RateError, match=message):
        load_rates(path)
'''

CONVERT = '''"""Reports in one currency.

What is shown must add up: the line of an account is the sum of the lines below it, and the net is the sum of the lines
above it. So each account is converted and rounded once, and everything else is a sum of rounded numbers.
"""

from __future__ import annotations

import datetime as dt
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Dict, List, Optional, Tuple

from ledger.amount import Amount, Balance, minor_units
from ledger.model import Journal
from ledger.rates import Rates
from ledger.reports import BalanceRow, IncomeStatement


def round_amount(amount: Amount) -> Amount:
    """Round to the digits of the currency."""
    step = Decimal(1).scaleb(-minor_units(amount.commodity))
    return Amount(amount.number.quantize(step, rounding=ROUND_HALF_EVEN), amount.commodity)


def _total(balance: Balance, currency: str, rates: Rates, day: dt.date) -> Amount:
    total = Amount(Decimal(0), currency)
    for amount in balance:
        total += rates.convert(amount, currency, day)
    return round_amount(total)


def _leaves(journal: Journal, account: str, start: Optional[dt.date], end: Optional[dt.date]) -> Dict[str, Balance]:
    leaves: Dict[str, Balance] = {}
    for _, posting in journal.postings(account, start, end):
        leaves.setdefault(posting.account, Balance()).add(posting.amount)
    return leaves


def _last_day(journal: Journal, end: Optional[dt.date]) -> dt.date:
    return end or max(t.date for t in journal.transactions)


def balance_in(
    journal: Journal, currency: str, rates: Rates, account: str = "", end: Optional[dt.date] = None, depth: int = 0
) -> List[BalanceRow]:
    """The balance report in one currency, at the rates of its last day."""
    day = _last_day(journal, end)
    totals: Dict[str, Balance] = {}
    for name, balance in _leaves(journal, account, None, end).items():
        amount = _total(balance, currency, rates, day)
        parts = name.split(":")
        for i in range(len(parts)):
            totals.setdefault(":".join(parts[: i + 1]), Balance()).add(amount)
    rows = []
    for name in sorted(totals):
        level = name.count(":") + 1
        if not ((depth and level > depth) or totals[name].is_zero()):
            rows.append(BalanceRow(name, level, totals[name]))
    return rows


def income_in(
    journal: Journal, currency: str, rates: Rates, start: Optional[dt.date] = None, end: Optional[dt.date] = None
) -> IncomeStatement:
    """The income statement in one currency, at the rates of its last day."""
    day = _last_day(journal, end)
    sides: Dict[str, List[Tuple[str, Balance]]] = {"Income": [], "Expenses": []}
    net = Balance()
    for name, balance in sorted(_leaves(journal, "", start, end).items()):
        root = name.split(":", 1)[0]
        if root in sides:
            amount = _total(balance, currency, rates, day)
            sides[root].append((name, Balance([amount])))
            net.add(-amount)
    return IncomeStatement(start, end, sides["Income"], sides["Expenses"], net)
'''

TEST_CONVERT = '''import datetime as dt
from decimal import Decimal

import pytest

from ledger.amount import Amount, Balance
from ledger.convert import balance_in, income_in, round_amount
from ledger.parser import parse
from ledger.rates import RateError, Rates

JOURNAL = parse(
    """
2026-01-10 Salary
    Assets:Bank        3000.00 EUR
    Income:Salary

2026-01-20 Job in Osaka
    Assets:Tokyo         90000 JPY
    Income:Freelance

2026-02-07 Hosting
    Expenses:Work:Hosting    24.99 USD
    Liabilities:Card

2026-02-09 Books
    Expenses:Work:Books      11.13 USD
    Liabilities:Card

2026-03-11 Job in Nara
    Assets:Tokyo         41555 JPY
    Income:Freelance
"""
)


@pytest.fixture
def rates():
    table = Rates()
    for day, usd, jpy in (("2026-01-01", "1.10", "183.4"), ("2026-02-01", "1.15", "181.2"), ("2026-03-01", "1.20", "184.9")):
        table.add(dt.date.fromisoformat(day), "EUR", "USD", Decimal(usd))
        table.add(dt.date.fromisoformat(day), "EUR", "JPY", Decimal(jpy))
    return table


def shown(rows):
    return {row.account: [str(a) for a in row.balance] for row in rows}


def test_one_currency_only(rates):
    for balances in shown(balance_in(JOURNAL, "EUR", rates)).values():
        assert len(balances) == 1
        assert balances[0].endswith(" EUR")


def test_parents_are_the_sum_of_what_is_shown_below(rates):
    rows = shown(balance_in(JOURNAL, "EUR", rates))
    below = [rows[name][0] for name in ("Expenses:Work:Books", "Expenses:Work:Hosting")]
    assert sum(Decimal(text.split()[0]) for text in below) == Decimal(rows["Expenses:Work"][0].split()[0])


def test_income_is_positive(rates):
    statement = income_in(JOURNAL, "EUR", rates)
    assert [b.get("EUR") > 0 for _, b in statement.income] == [True, True]


def test_net_is_the_sum_of_the_lines(rates):
    statement = income_in(JOURNAL, "EUR", rates)
    lines = sum(b.get("EUR") for _, b in statement.income) - sum(b.get("EUR") for _, b in statement.expenses)
    assert statement.net == Balance([Amount(lines, "EUR")])


def test_yen_have_no_cents(rates):
    rows = shown(balance_in(JOURNAL, "JPY", rates))
    assert "." not in rows["Assets:Bank"][0]


@pytest.mark.parametrize(
    ("number", "rounded"),
    [("0.125", "0.12"), ("0.135", "0.14"), ("-0.125", "-0.12"), ("2.345", "2.34"), ("2.3451", "2.35")],
)
def test_half_goes_to_the_even_digit(number, rounded):
    assert round_amount(Amount(Decimal(number), "EUR")).number == Decimal(rounded)


def test_missing_rate(rates):
    with pytest.raises(RateError, match="no rate from EUR to CHF"):
        balance_in(JOURNAL, "CHF", rates)
'''


def script(s):
    s.user(
        "The reports mix currencies, which nobody here can read. I need `balance` and `income` in one currency: "
        "`--in EUR --rates rates.csv`. The rates come from a file that our accounting exports, a CSV with the columns "
        "date,base,quote,rate (1 base = rate quote), not every day has a line, weekends are missing. Rounding: to the digits of the "
        "currency, half to even, and what is shown must add up, i.e. a parent is the sum of its children as printed. Without "
        "--in everything stays as it is. Mind AGENTS.md. No new dependencies."
    )
    s.say("I'll read the repo first, and check which Python and pytest I run with.")
    s.bash("git log --oneline && ls -p . ledger tests docs examples && wc -l ledger/*.py tests/*.py && python -V && pip list 2>/dev/null && cat AGENTS.md")
    s.parallel(lambda: [s.bash("cat README.md docs/journal-format.md pyproject.toml"), s.bash("cat -n ledger/amount.py")])
    s.parallel(lambda: [s.read("ledger/model.py"), s.read("ledger/reports.py")])
    s.parallel(lambda: [s.read("ledger/cli.py"), s.read("ledger/layout.py"), s.read("ledger/api.py"), s.read("ledger/parser.py")])
    s.bash("python -m pytest -v")
    s.say("29 pass. The tests are short, I read them too, they show how the reports are meant.")
    s.parallel(lambda: [s.read("tests/test_reports.py"), s.read("tests/test_cli.py"), s.read("tests/test_parser.py"), s.read("tests/test_amount.py")])
    s.bash("python -m ledger examples/household.journal register Assets; python -m ledger examples/household.journal register Liabilities")
    s.bash("python -m ledger examples/household.journal income; echo; python -m ledger examples/household.journal balance --depth 2")
    s.bash("cat examples/household.journal")
    s.think("Where to convert. A: at the posting, in the model; all reports then work unchanged. B: after the reports: separate step on leaf totals. Rounding requirement decides.")
    s.bash("git log -3 --stat --format='%h %ad %an %s' --date=short; python -m ledger examples/household.journal register Assets:Bank --from 2026-02-01; python -m ledger --help; python -m ledger x income --help")
    s.say(
        "There are two places where the conversion can sit, and the rounding rule decides between them:\n\n"
        "- **A, at the posting**: turn each posting into EUR before the reports add up. The reports stay untouched. But then each posting is "
        "rounded, or nothing is until printing, and in the second case the printed parents do not add up.\n"
        "- **B, per account**: sum each account in its own currencies, convert that sum, round once, and build parents and net from the "
        "rounded numbers. That needs report functions of its own, but \"what is shown adds up\" holds by construction.\n\n"
        "I take **B**: the smaller rounding error (one rounding per account instead of one per posting), and the printed sums are right. "
        "The price is a second pair of functions, `balance_in` and `income_in`, beside the present ones, which also keeps `api.py` "
        "as it is."
    )
    s.todo([
        ("rates.py: read the file, find the rate of a day", "in_progress"),
        ("convert.py: balance and income in one currency, rounding", "pending"),
        ("CLI options --in and --rates", "pending"),
        ("Tests and documentation", "pending"),
    ])
    s.write("ledger/rates.py", RATES)
    s.write("tests/test_rates.py", TEST_RATES)
    s.bash("python -m pytest -v tests/test_rates.py")
    s.say(
        "The file's first day and each day with a line of its own fail: `bisect_left(days, day) - 1` finds the newest rate **before** the "
        "day, not up to it. It has to be `bisect_right`."
    )
    s.edit("ledger/rates.py", "at = bisect.bisect_left(days, day) - 1", "at = bisect.bisect_right(days, day) - 1")
    s.bash("python -m pytest -v tests/test_rates.py")
    s.say("Now the conversion itself, and its tests.")
    s.write("ledger/convert.py", CONVERT)
    s.write("tests/test_convert.py", TEST_CONVERT)
    s.bash("python -m pytest -vv tests/test_convert.py")
    s.say(
        "A sign error of mine: `income_in` leaves the income as it is booked, negative, while `income_statement` turns it. The net is right, since "
        "it is built from the booked amounts; the test of the net fails only because it adds up the lines. I turn the sign of the income lines only.\n\n"
        "The third one, `no rate from USD to JPY`, is another matter: the file has EUR/USD and EUR/JPY, and I only look for the direct pair. "
        "Will accounting's export always be based on EUR? I don't know, so I go through whatever third currency has a rate for both, and fail if there is none."
    )
    s.edit("ledger/convert.py", "            sides[root].append((name, Balance([amount])))", "            sides[root].append((name, Balance([-amount if root == \"Income\" else amount])))")
    s.edit("ledger/rates.py", '''        days = self._days.get((base, quote), [])
        at = bisect.bisect_right(days, day) - 1
        if at < 0:
            raise RateError(f"no rate from {base} to {quote} on {day}")
        return self._values[(base, quote)][at]
''', '''        direct = self._newest(base, quote, day)
        if direct is not None:
            return direct
        for over in sorted({pair[1] for pair in self._days if pair[0] == base}):
            first, second = self._newest(base, over, day), self._newest(over, quote, day)
            if first is not None and second is not None:
                return first * second
        raise RateError(f"no rate from {base} to {quote} on {day}")

    def _newest(self, base: str, quote: str, day: dt.date) -> Optional[Decimal]:
        days = self._days.get((base, quote), [])
        at = bisect.bisect_right(days, day) - 1
        return self._values[(base, quote)][at] if at >= 0 else None
''')
    s.edit("ledger/rates.py", "from typing import Dict, List, Tuple, Union", "from typing import Dict, List, Optional, Tuple, Union")
    s.bash("""cat >> tests/test_rates.py <<'EOF'


def test_over_a_third_currency(rates):
    rates.add(dt.date(2026, 1, 1), "EUR", "JPY", Decimal("183.4"))
    day = dt.date(2026, 2, 3)
    assert rates.rate("USD", "JPY", day) == rates.rate("USD", "EUR", day) * Decimal("183.4")
    with pytest.raises(RateError, match="no rate from USD to CHF"):
        rates.rate("USD", "CHF", day)
EOF
python -m pytest -v""")
    s.todo([
        ("rates.py: read the file, find the rate of a day", "completed"),
        ("convert.py: balance and income in one currency, rounding", "completed"),
        ("CLI options --in and --rates", "in_progress"),
        ("Tests and documentation", "pending"),
    ])
    s.edit("ledger/cli.py", '''    commands.add_parser("check",''', '''    for report in (balance, income):
        report.add_argument("--in", dest="currency", metavar="CUR", help="show everything in this currency")
        report.add_argument("--rates", metavar="FILE", help="CSV with date,base,quote,rate")

    commands.add_parser("check",''')
    s.edit("ledger/cli.py", '''            text = layout.balance_text(reports.balance_report(journal, args.account, args.end, args.depth))''', '''            if args.currency:
                rates = _rates(args.rates)
                rows = convert.balance_in(journal, args.currency, rates, args.account, args.end, args.depth)
            else:
                rows = reports.balance_report(journal, args.account, args.end, args.depth)
            text = layout.balance_text(rows)''')
    s.edit("ledger/cli.py", '''            text = layout.income_text(reports.income_statement(journal, args.start, args.end))''', '''            if args.currency:
                statement = convert.income_in(journal, args.currency, _rates(args.rates), args.start, args.end)
            else:
                statement = reports.income_statement(journal, args.start, args.end)
            text = layout.income_text(statement)''')
    s.edit("ledger/cli.py", '''def main(argv''', '''def _rates(path: Optional[str]) -> Rates:
    return load_rates(path) if path else Rates()


def main(argv''')
    s.edit("ledger/cli.py", "from ledger import __version__, layout, parser, reports\nfrom ledger.errors import LedgerError", "from ledger import __version__, convert, layout, parser, reports\nfrom ledger.errors import LedgerError\nfrom ledger.rates import Rates, load_rates")
    s.write("examples/rates.csv", "date,base,quote,rate\n2025-12-31,EUR,USD,1.0741\n2025-12-31,EUR,JPY,182.95\n2026-01-30,EUR,USD,1.0812\n2026-01-30,EUR,JPY,181.40\n2026-02-27,EUR,USD,1.0907\n2026-02-27,EUR,JPY,183.62\n2026-03-31,EUR,USD,1.0866\n2026-03-31,EUR,JPY,184.15\n")
    s.bash("python -m ledger examples/household.journal balance --in EUR --rates examples/rates.csv; echo; python -m ledger examples/household.journal income --in EUR --rates examples/rates.csv --to 2026-03-31; python -m ledger examples/household.journal income --in CHF; echo exit=$?")
    s.say(
        "It runs. One thing to decide: `Rates()` when --rates is missing gives \"no rate from …\", which is right but not helpful. I leave that for "
        "now and add CLI tests."
    )
    s.bash("""cat >> tests/test_cli.py <<'EOF'


RATES = str(Path(__file__).parents[1] / "examples" / "rates.csv")


@pytest.mark.parametrize("command", ["income", "balance"])
def test_reports_in_one_currency(command, capsys):
    assert main([EXAMPLE, command, "--in", "EUR", "--rates", RATES]) == 0
    out = capsys.readouterr().out
    assert "EUR" in out
    assert "USD" not in out and "JPY" not in out


def test_a_missing_rate_is_said(capsys):
    assert main([EXAMPLE, "income", "--in", "CHF", "--rates", RATES]) == 1
    assert "no rate from" in capsys.readouterr().err
EOF
python -m pytest -v""")
    s.say("All green. Before I document it: is the sum of all roots zero, as it has to be in double-entry books?")
    s.bash("""python - <<'EOF'
from decimal import Decimal
from ledger import convert, parser, rates
journal = parser.parse_file("examples/household.journal")
table = rates.load_rates("examples/rates.csv")
rows = convert.balance_in(journal, "EUR", table, depth=1)
for row in rows:
    print(row.account, [str(a) for a in row.balance])
print("sum of the roots:", sum((a.number for row in rows for a in row.balance), Decimal(0)))
EOF""")
    s.say(
        "Not zero, and that is not a bug of the sums: the dollars of 2026-02-20 were bought at 1.0842 and are valued at the closing rate, so there is an "
        "exchange difference, plus some cents of rounding. A proper balance would show it as a line of its own. You did not ask for one; "
        "I note it as an open point. Otherwise the feature is complete; shall I write the documentation, or is there a change first?"
    )
    s.user(
        "Two changes after I talked to accounting:\n"
        "1. Income must use the rate of the day of each transaction, not the last day. Balance stays at the closing rate.\n"
        "2. Rounding is half *up* (away from zero), everywhere. My mistake.\n"
        "The exchange difference as a line: yes please, but only in balance, as `Equity:Exchange difference`, so that the roots "
        "sum to zero. And accounting's sheet says Freelance Q1 in EUR is 1,848.97 with the example journal and rates, please make that a test."
    )
    s.todo([
        ("rates.py: read the file, find the rate of a day", "completed"),
        ("CLI options --in and --rates", "completed"),
        ("Round half up", "in_progress"),
        ("Income at the rate of each transaction's day", "pending"),
        ("Balance: line Equity:Exchange difference", "pending"),
        ("Test with the number of accounting's sheet (Freelance Q1)", "pending"),
        ("Documentation", "pending"),
    ])
    s.parallel(lambda: [s.read("ledger/convert.py"), s.read("tests/test_convert.py"), s.bash("git diff -- ledger/cli.py")])
    s.say("Rounding first: test, then code. The cases with a half change, and I add negative ones, since \"up\" is ambiguous there and you said away from zero.")
    s.edit("tests/test_convert.py", '''    [("0.125", "0.12"), ("0.135", "0.14"), ("-0.125", "-0.12"), ("2.345", "2.34"), ("2.3451", "2.35")],
)
def test_half_goes_to_the_even_digit(number, rounded):''', '''    [("0.125", "0.13"), ("0.135", "0.14"), ("-0.125", "-0.13"), ("2.345", "2.35"), ("-2.344", "-2.34"), ("0.004", "0.00")],
)
def test_half_goes_away_from_zero(number, rounded):''')
    s.bash("python -m pytest -vv tests/test_convert.py")
    s.edit("ledger/convert.py", "rounding=ROUND_HALF_EVEN", "rounding=ROUND_HALF_UP")
    s.edit("ledger/convert.py", "from decimal import ROUND_HALF_EVEN, Decimal", "from decimal import ROUND_HALF_UP, Decimal")
    s.bash("python -m pytest tests/test_convert.py -v")
    s.say("But a number is formatted with an f-string in `Amount.__str__` as well, and that rounds half to even on its own. Is an unrounded number ever printed?")
    s.grep("__str__|:\\.\\{|quantize|round", "ledger")
    s.bash("""python - <<'EOF'
from decimal import Decimal
from ledger.amount import Amount
for text in ("0.125", "-0.125", "2.345", "1e2"):
    print(text, "->", Amount(Decimal(text), "EUR"))
EOF""")
    s.say(
        "`str` of 0.125 gives 0.12. In the converted reports everything went through `round_amount` before, so nothing changes there. Without `--in` a "
        "journal with three digits (`0.125 EUR`) would print half to even. You said \"everywhere\", and also \"without --in everything stays as it "
        "is\". I keep the second one, as changing it would alter existing reports, and list it as a question."
    )
    s.bash("python -m ledger examples/household.journal register Income; python -m ledger examples/household.journal register Expenses --from 2026-02-01")
    s.say("Now income by the day of the transaction. The test first: January yen at 183.4, March yen at 184.9.")
    s.bash("""cat >> tests/test_convert.py <<'EOF'


def test_income_uses_the_rate_of_each_day(rates):
    freelance = dict(income_in(JOURNAL, "EUR", rates).income)["Income:Freelance"]
    assert freelance.get("EUR") == round_amount(Amount(90000 / Decimal("183.4") + 41555 / Decimal("184.9"), "EUR")).number


def test_balance_uses_the_closing_rate(rates):
    rows = shown(balance_in(JOURNAL, "EUR", rates))
    assert rows["Assets:Tokyo"] == [str(round_amount(Amount(131555 / Decimal("184.9"), "EUR")))]
EOF
python -m pytest -v tests/test_convert.py""")
    s.edit("ledger/convert.py", '''    """The income statement in one currency, at the rates of its last day."""
    day = _last_day(journal, end)
    sides: Dict[str, List[Tuple[str, Balance]]] = {"Income": [], "Expenses": []}
    net = Balance()
    for name, balance in sorted(_leaves(journal, "", start, end).items()):
        root = name.split(":", 1)[0]
        if root in sides:
            amount = _total(balance, currency, rates, day)
            sides[root].append((name, Balance([-amount if root == "Income" else amount])))
            net.add(-amount)
''', '''    """The income statement in one currency: each posting at the rate of its day, each account rounded once."""
    exact: Dict[str, Amount] = {}
    for transaction, posting in journal.postings(start=start, end=end):
        if posting.root in ("Income", "Expenses"):
            amount = rates.convert(posting.amount, currency, transaction.date)
            exact[posting.account] = exact.get(posting.account, Amount(Decimal(0), currency)) + amount
    sides: Dict[str, List[Tuple[str, Balance]]] = {"Income": [], "Expenses": []}
    net = Balance()
    for name in sorted(exact):
        root = name.split(":", 1)[0]
        amount = round_amount(exact[name])
        sides[root].append((name, Balance([amount if root == "Income" else -amount])))
        net.add(-amount)
''')
    s.bash("python -m pytest -vv tests/test_convert.py")
    s.say("I turned the wrong side this time: the condition is the other way round now, income stayed negative and expenses became negative. Back to how it was.")
    s.edit("ledger/convert.py", '''Balance([amount if root == "Income" else -amount])''', '''Balance([-amount if root == "Income" else amount])''')
    s.bash("python -m pytest -v")
    s.say("Next the exchange difference. Tests first: the roots sum to zero; no such line when only a part of the accounts is shown; a case that I can check by hand.")
    s.bash("""cat >> tests/test_convert.py <<'EOF'


def roots(rows):
    return {row.account: row.balance.get("EUR") for row in rows if row.depth == 1}


def test_the_roots_sum_to_zero(rates):
    journal = parse("2026-01-05 X\\n    Assets:Cash  220 USD\\n    Assets:Bank  -200 EUR @ 1.10 USD\\n2026-03-05 Y\\n    Assets:Cash  -23 USD\\n    Expenses:Food\\n")
    assert sum(roots(balance_in(journal, "EUR", rates)).values()) == 0


def test_no_difference_line_for_a_part_of_the_accounts(rates):
    assert all("Exchange" not in row.account for row in balance_in(JOURNAL, "EUR", rates, "Assets"))


def test_difference_of_a_bought_currency(rates):
    journal = parse("2026-01-05 X\\n    Assets:Cash  220 USD\\n    Assets:Bank  -200 EUR @ 1.10 USD\\n2026-02-05 Y\\n    Assets:Cash  -23 USD\\n    Expenses:Food\\n")
    rows = shown(balance_in(journal, "EUR", rates))
    assert rows["Equity:Exchange difference"] == ["8.70 EUR"]
EOF
python -m pytest tests/test_convert.py""")
    s.say(
        "Two fail as they should (there is no such line yet). The balance values all accounts, Income and Expenses too, at the closing rate. "
        "So the difference comes only from transactions over two commodities and from rounding. I put the line in after the leaves are rounded."
    )
    s.edit("ledger/convert.py", '''    totals: Dict[str, Balance] = {}
    for name, balance in _leaves(journal, account, None, end).items():
        amount = _total(balance, currency, rates, day)
''', '''    totals: Dict[str, Balance] = {}
    leaves = {
        name: _total(balance, currency, rates, day) for name, balance in _leaves(journal, account, None, end).items()
    }
    if not account:
        rest = sum((amount.number for amount in leaves.values()), Decimal(0))
        leaves[DIFFERENCE] = Amount(-rest, currency)
    for name, amount in leaves.items():
''')
    s.edit("ledger/convert.py", "def round_amount(", 'DIFFERENCE = "Equity:Exchange difference"\n\n\ndef round_amount(')
    s.bash("python -m pytest -vv tests/test_convert.py")
    s.say(
        "Good. By hand: 197 USD at 1.15 are 171.30, minus 200.00 for the bank, plus 20.00 food, is -8.70, so the line is +8.70 (a loss, equity grows "
        "with negative amounts). Now the number from accounting's sheet."
    )
    s.bash("""cat >> tests/test_cli.py <<'EOF'


def test_freelance_as_in_the_sheet_of_accounting(capsys):
    assert main([EXAMPLE, "income", "--in", "EUR", "--rates", RATES, "--to", "2026-03-31"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "Freelance" in line)
    assert line.split()[1:] == ["1848.97", "EUR"]
EOF
python -m pytest -v tests/test_cli.py""")
    s.bash("""python - <<'EOF'
import datetime as dt
from decimal import Decimal
from ledger import parser, rates
from ledger.amount import Amount
from ledger.convert import round_amount
journal = parser.parse_file("examples/household.journal")
table = rates.load_rates("examples/rates.csv")
ways = {"day of the transaction": lambda d: d, "end of the quarter": lambda d: dt.date(2026, 3, 31)}
for name, day in ways.items():
    exact = [table.convert(p.amount, "EUR", day(t.date)) for t, p in journal.postings("Income:Freelance")]
    for a, (t, p) in zip(exact, journal.postings("Income:Freelance")):
        print("  ", t.date, p.amount, table.rate("EUR", "JPY", day(t.date)), a.number)
    once = round_amount(Amount(sum((a.number for a in exact), Decimal(0)), "EUR"))
    each = sum((round_amount(a).number for a in exact), Decimal(0))
    print(name, "| rounded once:", once, "| each posting rounded:", each)
EOF""")
    s.say(
        "Our number and the sheet's differ, and none of the four ways (rate of the day or of the quarter's end, rounded once or per posting) gives 1,848.97. "
        "So it is not the rounding: the sheet must use other rates (for instance the month's average) or another set of postings. I cannot "
        "find that out from here, and I will not bend the code towards a number I cannot explain."
    )
    s.grep("Freelance|JPY", "examples/household.journal")
    s.bash("cat examples/rates.csv; python -m pytest -vv tests/test_cli.py tests/test_convert.py")
    s.user(
        "Hm. I'll ask them, they are out until Wednesday. Leave the test in and let it fail, so that we don't forget it, but don't "
        "mark it xfail, I want to see it red. Please finish the rest: docs, and when --in is given without --rates say so properly. Also "
        "the version to 0.8.0. And one thing: --in eur in small letters should work."
    )
    s.edit("ledger/cli.py", '''def _rates(path: Optional[str]) -> Rates:
    return load_rates(path) if path else Rates()
''', '''def _rates(path: Optional[str], journal: Journal, currency: str) -> Rates:
    if path:
        return load_rates(path)
    others = [name for name in journal.commodities() if name != currency]
    if others:
        raise LedgerError(f"--in {currency} needs --rates FILE, the journal also has {', '.join(others)}")
    return Rates()
''')
    s.bash("sed -i 's/_rates(args.rates)/_rates(args.rates, journal, args.currency)/; s/dest=\"currency\", metavar/dest=\"currency\", type=str.upper, metavar/' ledger/cli.py && sed -i 's/^from ledger.rates import Rates, load_rates/from ledger.model import Journal\\nfrom ledger.rates import Rates, load_rates/' ledger/cli.py && sed -i 's/0\\.7\\.0/0.8.0/' pyproject.toml ledger/__init__.py && git diff ledger/cli.py pyproject.toml ledger/__init__.py")
    s.bash("python -m ledger examples/household.journal income --in eur; echo exit=$?; python -m ledger examples/household.journal income --in eur --rates examples/rates.csv; python -m ledger examples/household.journal balance --in eur --rates examples/rates.csv; python -m ledger --version")
    s.bash("""cat >> tests/test_cli.py <<'EOF'


def test_rates_are_asked_for(capsys):
    assert main([EXAMPLE, "income", "--in", "eur"]) == 1
    assert "--in EUR needs --rates FILE, the journal also has JPY, USD" in capsys.readouterr().err
EOF
python -m pytest -v""")
    s.write("docs/reports-in-one-currency.md", '''# Reports in one currency

    python -m ledger examples/household.journal balance --in EUR --rates examples/rates.csv

* The rate file is CSV: `date,base,quote,rate`. One unit of `base` costs `rate` units of `quote`, from that day until a later
  line. The other direction is computed. A day before the first line is an error, not a guess.
* `balance` uses the rates of the last day (`--to`, or the last transaction). `income` uses the rate of each transaction's day.
* Each account is rounded once, half away from zero, to the digits of the currency. Parents and the net are sums of the
  rounded numbers, so what is printed adds up.
* `balance` without an account shows `Equity:Exchange difference`: what is missing for the roots to sum to zero. It holds
  exchange gains and losses and the cents of rounding.
''')
    s.say("One red test, the one that shall be red. AGENTS.md asks for Python 3.9; there is only 3.11 here, so I can at least let the compiler check the grammar of 3.9 and look for newer library calls.")
    s.bash("""ls /usr/bin/python3.9; python - <<'EOF'
import ast, pathlib
for path in sorted(pathlib.Path("ledger").glob("*.py")):
    ast.parse(path.read_text(), feature_version=(3, 9))
    print("ok for 3.9:", path)
EOF
grep -nE "zip\\(.*strict|removeprefix|pairwise|tomllib|slots=True|kw_only" -r ledger || echo no newer calls""")
    s.bash("git diff --stat ledger/api.py && git status --short && cat -n ledger/convert.py")
    s.bash("cat -n ledger/rates.py && cat -n ledger/cli.py")
    s.bash("git diff tests/test_cli.py; cat tests/test_convert.py")
    s.edit("README.md", '''The format of the journal is in `docs/journal-format.md`.''', '''    python -m ledger examples/household.journal income --in EUR --rates examples/rates.csv

The format of the journal is in `docs/journal-format.md`, rates and rounding are in `docs/reports-in-one-currency.md`.''')
    s.bash("python -m pytest -v; git add -A && git commit -q -m 'Reports in one currency (0.8.0)' && git show --stat HEAD")
    s.bash("git show HEAD -- ledger docs README.md")
    s.bash("git show HEAD -- tests && python -m pytest -v tests/test_rates.py tests/test_convert.py")
    s.todo([
        ("Round half up", "completed"),
        ("Income at the rate of each transaction's day", "completed"),
        ("Balance: line Equity:Exchange difference", "completed"),
        ("Documentation, version 0.8.0, --in in small letters, clear error without --rates", "completed"),
        ("test_freelance_as_in_the_sheet_of_accounting fails: wait for accounting's answer (Wednesday)", "pending"),
        ("Decide: half up for the reports without --in too?", "pending"),
        ("Run the suite with a real Python 3.9", "pending"),
    ])
    s.say(
        "Committed as 0.8.0. `balance` and `income` take `--in CUR --rates FILE`; `api.py` and the reports without `--in` are unchanged.\n\n"
        "**Design**: per account, not per posting: one rounding each, half away from zero, parents and net are sums of what is printed. Income at the rate of "
        "each day, balance at the closing rate with `Equity:Exchange difference`.\n\n"
        "**Red on purpose**: `test_freelance_as_in_the_sheet_of_accounting`. The sheet says 1,848.97; no combination of rate day and rounding gives that, so accounting has to "
        "say which rates they use.\n\n**Open**: whether half up shall hold without `--in` too (`Amount.__str__` rounds half to even); a run on Python 3.9, I only checked the grammar."
    )
