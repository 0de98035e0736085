"""Reports of test runs: the failing tests with the reasons, and the number that passed."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_REASON = 300
"""Characters of a reason that are kept."""

_ANSI = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
_HINTS = ("FAIL", "ERROR", "not ok", "● ", "✖ ", "✗ ", "× ", "failing", "(fail) ")

_PYTEST = re.compile(r"(?:FAILED|ERROR) (\S+?(?:::.+?)?)(?: - (.*))?$")
_PYTEST_ID = re.compile(r"\S+\.py(?:::\S.*)?$")
_PYTEST_LIVE = re.compile(r"(\S+\.py::\S+(?: .{0,200}\])?) (?:FAILED|ERROR)(?:\s+\[ *\d+%\])?\s*$")
_UNITTEST = re.compile(r"(?:FAIL|ERROR): (\w+) \(([\w.]+)\)")
_GO = re.compile(r"\s*--- FAIL: (\S+)(?: \([\d.]+s\))?$")
_CARGO = re.compile(r"test (\S+)(?: - should panic)? \.\.\. FAILED$")
_TAP = re.compile(r"\s*not ok \d+(?: -)? (.+?)(?: # (?!TODO|SKIP).*)?$", re.IGNORECASE)
_JEST = re.compile(r"\s*● (.+ › .+)$")
_VITEST = re.compile(r"\s*(?:FAIL|×|✗) {1,2}(\S+\.\w+ > .+?)(?: \d+ms)?$")
_SPEC = re.compile(r"\s*[✖✗×] (?!failing tests)(.+?)(?: \([\d.]+m?s\))?(?: \d+ms)?$")
_JEST_FILE = re.compile(r"\s*FAIL +(\S+\.(?:test|spec)\.\w+)(?: \(.{1,30}\)| \[ .+ \])?$")
_MOCHA = re.compile(r" {2}(\d+)\) (.+)$")
_REASON = re.compile(r"\s*(?:E   +)?((?:[A-Za-z_$][\w$.]*(?:Error|Exception)(?: \[\w+\])?|Error|AssertionError)\b.*)")


def without_colours(text: str) -> str:
    """The text without a terminal's control sequences."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def failing_tests(text: str) -> list[tuple[str, str]]:
    """The failing tests with the reason that the report gives, or an empty one.

    Reads pytest, unittest, node:test (TAP and spec), jest, vitest, mocha, go test and cargo test.
    """
    text = without_colours(text)
    if not any(hint in text for hint in _HINTS):
        return []
    lines = text.split("\n")
    found: dict[str, str] = {}
    # Crosses mark failures of many kinds; they mark tests where a test runner's own summary stands below.
    crosses = "ℹ fail " in text or "Test Files " in text or "Test Suites: " in text
    for i, test, reason in _failures(lines, crosses):
        said = reason or found.get(test) or _reason_after(lines, i)
        found[test] = said[:MAX_REASON].strip()
    if any("::" in test for test in found):
        # A report names a failing file only where the test in it is not named.
        found = {t: r for t, r in found.items() if "::" in t or not any(o.startswith(t + "::") for o in found)}
    return list(found.items())


def _failures(lines: list[str], crosses: bool) -> Iterator[tuple[int, str, str]]:
    mocha = False
    for i, whole in enumerate(lines):
        line = whole[:1000].rstrip()
        if not line:
            continue
        if line.endswith(" failing") and line.strip().split(" ")[0].isdigit():
            mocha = True
        match: re.Match[str] | None
        if line.startswith(("FAILED ", "ERROR ")):
            match = _PYTEST.match(line)
            if match and _PYTEST_ID.match(match[1]):
                yield i, match[1], match[2] or ""
        elif ".py::" in line and ("FAILED" in line or "ERROR" in line):
            match = _PYTEST_LIVE.match(line)
            if match:
                yield i, match[1], ""
        elif line.startswith(("FAIL: ", "ERROR: ")):
            match = _UNITTEST.match(line)
            if match:
                yield i, f"{match[2]}.{match[1]}" if not match[2].endswith("." + match[1]) else match[2], ""
        elif "FAIL" in line or "not ok " in line:
            yield from ((i, name, "") for name in _marked(line))
        elif "●" in line or "✖" in line or "✗" in line or "×" in line:
            match = _JEST.match(line) or (crosses and (_VITEST.match(line) or _SPEC.match(line))) or None
            if match and not match[1].startswith(("Console", "Test suite failed")):
                yield i, match[1].strip(), ""
        elif line.startswith("(fail) "):
            yield i, re.sub(r" \[[\d.]+m?s\]$", "", line[7:]), ""
        elif mocha and _MOCHA.match(line):
            match = _MOCHA.match(line)
            following = lines[i + 1].strip() if i + 1 < len(lines) else ""
            title = match[2] if match else ""
            yield i, f"{title} {following[:-1]}" if following.endswith(":") else title, ""


def _marked(line: str) -> Iterator[str]:
    for pattern in (_GO, _CARGO, _VITEST, _JEST_FILE, _TAP):
        match = pattern.match(line)
        if match:
            if not match[1].lower().startswith(("# todo", "# skip")):
                yield match[1].strip()
            return


def _reason_after(lines: list[str], start: int) -> str:
    """The first line after a failure that names an error, or that indented text gives."""
    test_lines = lines[start + 1 : start + 40]
    for line in test_lines:
        short = line[:1000]
        match = _REASON.match(short)
        if match:
            return match[1]
        stripped = short.strip()
        if stripped.startswith(("error: '", 'error: "')):
            return stripped[8:].rstrip("'\"")
        if re.match(r"\s+\S+_test\.go:\d+: ", short):
            return stripped
        if short.startswith(("FAIL", "not ok", "ok ", "--- ", "test ")):
            break
    return ""


_NUMBER = r"(\d{1,7})"
_PYTEST_TOTAL = re.compile(
    r"=*\s*(?:\d+ \w+, )*?\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|warnings?|deselected)\b.* in [\d.:]+"
)
_RAN = re.compile(r"Ran (\d+) tests? in ")
_UNITTEST_END = re.compile(r"(?:FAILED|OK)(?: \((.*)\))?$")
_JEST_TOTAL = re.compile(r"Tests:?\s+(?:.*?)\d+ (?:passed|failed)\b")
_CARGO_TOTAL = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed")
_BUN_TOTAL = re.compile(r"\s*(\d+) (pass|fail)$")


def test_totals(text: str) -> tuple[int, int] | None:
    """Count the passed and the failed tests; None without a report.

    Of several pytest or jest reports in one text the last one holds; cargo's and go's are added up.
    """
    text = without_colours(text)
    for read in (_summary_totals, _cargo_totals, _tap_totals, _mocha_totals, _unittest_totals, _go_totals):
        totals = read(text)
        if totals is not None:
            return totals
    return None


test_totals.__test__ = False  # type: ignore[attr-defined]  # pytest would take the function for a test


def _count(text: str, words: str) -> int:
    return sum(int(m) for m in re.findall(rf"(?<![\w.]){_NUMBER} (?:{words})\b", text))


def _summary_totals(text: str) -> tuple[int, int] | None:
    """Return the totals of pytest, jest and vitest, which write a line like ``2 failed, 14 passed``."""
    if " passed" not in text and " failed" not in text and " error" not in text:
        return None
    last: str | None = None
    for hint in (" passed", " failed", " error"):
        position = text.rfind(hint)
        while position >= 0:
            start = text.rfind("\n", 0, position) + 1
            end = text.find("\n", position)
            line = text[start : end if end >= 0 else len(text)][:500].strip()
            if _PYTEST_TOTAL.match(line) or _JEST_TOTAL.match(line):
                last = line
                break
            position = text.rfind(hint, 0, start) if start else -1
        if last is not None:
            break
    return None if last is None else (_count(last, "passed"), _count(last, "failed|errors?"))


def _cargo_totals(text: str) -> tuple[int, int] | None:
    found = _CARGO_TOTAL.findall(text) if "test result: " in text else []
    return (sum(int(p) for p, _ in found), sum(int(f) for _, f in found)) if found else None


def _tap_totals(text: str) -> tuple[int, int] | None:
    """Return node:test's totals, after ``#`` in TAP and after ``ℹ`` in the spec reporter; and bun's."""
    for mark in ("# ", "ℹ "):
        passed = re.findall(rf"^{mark}pass {_NUMBER}$", text, re.MULTILINE) if f"{mark}pass " in text else []
        failed = re.findall(rf"^{mark}fail {_NUMBER}$", text, re.MULTILINE) if f"{mark}fail " in text else []
        if passed and failed:
            return int(passed[-1]), int(failed[-1])
    if " pass\n" in text and " fail\n" in text:
        counts = {m[2]: int(m[1]) for m in map(_BUN_TOTAL.match, text[-2000:].split("\n")) if m}
        if len(counts) == 2:
            return counts["pass"], counts["fail"]
    return None


def _mocha_totals(text: str) -> tuple[int, int] | None:
    if " passing (" not in text:
        return None
    passed = re.findall(rf"^ +{_NUMBER} passing \(", text, re.MULTILINE)
    failed = re.findall(rf"^ +{_NUMBER} failing$", text, re.MULTILINE)
    return (int(passed[-1]), int(failed[-1]) if failed else 0) if passed else None


def _unittest_totals(text: str) -> tuple[int, int] | None:
    ran = list(_RAN.finditer(text)) if "Ran " in text else []
    if not ran:
        return None
    total = int(ran[-1][1])
    for line in text[ran[-1].end() : ran[-1].end() + 1000].split("\n"):
        match = _UNITTEST_END.match(line.strip())
        if match:
            counts = dict(re.findall(r"(\w+)=(\d+)", match[1] or ""))
            failed = int(counts.get("failures", 0)) + int(counts.get("errors", 0))
            skipped = int(counts.get("skipped", 0))
            return max(total - failed - skipped, 0), failed
    return None


def _go_totals(text: str) -> tuple[int, int] | None:
    """Return the number of go tests by their result lines, which only ``-v`` prints for tests that passed."""
    if "=== RUN " not in text:
        return None
    passed = len(re.findall(r"^--- PASS: ", text, re.MULTILINE))
    return passed, len(re.findall(r"^--- FAIL: ", text, re.MULTILINE))
