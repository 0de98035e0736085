"""Errors, failing tests, totals and exit codes are read from tool output, and source code is not."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.reading.call_outcomes import exit_code
from compaction.reading.run_reports import failing_tests, test_totals
from compaction.reading.tool_output import error_lines


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("exception", "ValueError: unknown region 'eu-9'"),
        ("exception", "redis.exceptions.ConnectionError: Error 111 connecting to cache:6379"),
        ("exception", "Uncaught TypeError: Cannot read properties of undefined (reading 'id')"),
        ("exception", "panic: runtime error: index out of range [3] with length 3"),
        ("compiler", "src/api/user.ts(41,9): error TS2345: Argument of type 'string' is not assignable."),
        ("compiler", "src/api/user.ts:41:9 - error TS2304: Cannot find name 'Usr'."),
        ("compiler", "error[E0308]: mismatched types"),
        ("compiler", "main.c:12:5: error: expected ';' before 'return'"),
        ("compiler", 'app/models.py:88: error: Incompatible return value type (got "int")  [return-value]'),
        ("compiler", "app/models.py:3:1: F401 'os' imported but unused"),
        ("compiler", "cmd/serve.go:27:10: undefined: NewPool"),
        ("test", "FAILED tests/test_cart.py::test_total - AssertionError: assert 3 == 4"),
        ("test", "--- FAIL: TestRetry (0.02s)"),
        ("test", "E       AssertionError: assert 401 == 200"),
        ("package", "npm ERR! code ERESOLVE"),
        ("git", "fatal: not a git repository (or any of the parent directories): .git"),
        ("shell", "bash: line 1: jq: command not found"),
        ("shell", "cat: conf/app.yaml: No such file or directory"),
        ("shell", "/usr/bin/python3: No module named pytest"),
        ("http", "POST /api/auth/login 401"),
        ("http", '127.0.0.1 - - [03/Mar/2026 10:00:00] "GET /health HTTP/1.1" 503 -'),
        ("http", "< HTTP/1.1 429 Too Many Requests"),
        ("program", "Error: Cannot find the migration 0007_orders"),
    ],
)
def test_a_line_is_an_error_of_this_kind(kind: str, line: str) -> None:
    (found,) = error_lines(f"starting up\n{line}\nall else is well\n")
    assert (found.kind, found.line) == (kind, line)


@pytest.mark.parametrize(
    "line",
    [
        '    raise ValueError("no error here")',
        '   412→    if err != nil { return fmt.Errorf("error: %w", err) }',
        "    17\texcept RuntimeError: pass",
        "src/app.py:88:    raise KeyError(name)  # error: unknown",
        "src/app.ts:12:  throw new Error('TypeError: bad');",
        'logger.error("Error: could not connect")',
        "        ValueError: if the name is empty",
        "+    print('Error: boom')",
        "// Error: see the docs",
        "class RetryError(Exception):",
        "0 errors, 0 warnings",
        "✓ answers 404 Not Found for an unknown id (4 ms)",
        "def test_error_is_raised():",
        "const error: string = 'x';",
        "See ERRORS.md for what each error means.",
    ],
)
def test_a_line_that_only_speaks_of_errors_is_none(line: str) -> None:
    assert error_lines(f"head\n{line}\nmiddle\n{line}\n") == []


def test_a_traceback_gives_its_last_line_even_when_the_exception_has_an_odd_name() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/app/main.py", line 3, in <module>\n    import_orders()\n'
        '  File "/app/orders.py", line 9, in import_orders\n    raise Conflict(ident)\n'
        "app.orders.Conflict: order 17 exists\nbye\n"
    )
    (found,) = error_lines(text)
    assert (found.kind, found.line) == ("exception", "app.orders.Conflict: order 17 exists")


def test_a_node_error_counts_indented_only_above_its_stack() -> None:
    stack = "   TypeError: fetch failed\n       at post (src/api.js:4:11)\n"
    assert [e.line for e in error_lines(stack)] == ["TypeError: fetch failed"]
    assert error_lines("   TypeError: fetch failed\n   is what the docs say\n") == []


def test_colours_are_taken_off_and_a_line_that_comes_twice_counts_once() -> None:
    found = error_lines("\x1b[31mError: disk is full\x1b[0m\nError: disk is full\n")
    assert [e.line for e in found] == ["Error: disk is full"]


def test_a_long_line_is_cut_to_300_characters() -> None:
    (found,) = error_lines("ValueError: " + "x" * 5000)
    assert len(found.line) == 300


PYTEST = """\
tests/test_cart.py F.
=================================== FAILURES ===================================
E       assert 3 == 4
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - assert 3 == 4
FAILED tests/test_cart.py::test_tax[de-19 %] - KeyError: 'de'
ERROR tests/test_mail.py - ModuleNotFoundError: No module named 'smtp'
=================== 2 failed, 14 passed, 1 error in 0.31s ====================
"""
UNITTEST = """\
FAIL: test_login (tests.test_auth.AuthTest)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/app/tests/test_auth.py", line 12, in test_login
    self.assertEqual(code, 200)
AssertionError: 401 != 200

Ran 5 tests in 0.004s

FAILED (failures=1, skipped=1)
"""
TAP = """\
TAP version 13
ok 1 - parses dates
not ok 2 - keeps the offset
  ---
  error: 'expected +02:00'
  ...
# tests 2
# pass 1
# fail 1
"""
NODE_SPEC = (
    "✔ parses dates (1.2ms)\n✖ keeps the offset (0.8ms)\n  Error: expected +02:00\nℹ tests 2\nℹ pass 1\nℹ fail 1\n"
)
JEST = """\
FAIL src/cart.test.ts
  ● cart › adds tax

    Error: expected 19, got 0

Tests:       1 failed, 6 passed, 7 total
"""
GO = """\
=== RUN   TestPool
=== RUN   TestRetry
--- PASS: TestPool (0.00s)
--- FAIL: TestRetry (0.02s)
    retry_test.go:31: got 2 attempts, want 3
FAIL
"""
CARGO = """\
test pool::reuses ... ok
test pool::closes ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored
"""
MOCHA = "  6 passing (20ms)\n  1 failing\n\n  1) cart\n       adds tax:\n     AssertionError: expected 19 to equal 0\n"


@pytest.mark.parametrize(
    ("text", "failing", "totals"),
    [
        (
            PYTEST,
            [
                ("tests/test_cart.py::test_total", "assert 3 == 4"),
                ("tests/test_cart.py::test_tax[de-19 %]", "KeyError: 'de'"),
                ("tests/test_mail.py", "ModuleNotFoundError: No module named 'smtp'"),
            ],
            (14, 3),
        ),
        (UNITTEST, [("tests.test_auth.AuthTest.test_login", "AssertionError: 401 != 200")], (3, 1)),
        (TAP, [("keeps the offset", "expected +02:00")], (1, 1)),
        (NODE_SPEC, [("keeps the offset", "Error: expected +02:00")], (1, 1)),
        (
            JEST,
            [("src/cart.test.ts", "Error: expected 19, got 0"), ("cart › adds tax", "Error: expected 19, got 0")],
            (6, 1),
        ),
        (GO, [("TestRetry", "retry_test.go:31: got 2 attempts, want 3")], (1, 1)),
        (CARGO, [("pool::closes", "")], (1, 1)),
        (MOCHA, [("cart adds tax", "AssertionError: expected 19 to equal 0")], (6, 1)),
    ],
    ids=["pytest", "unittest", "tap", "node spec", "jest", "go", "cargo", "mocha"],
)
def test_a_report_names_what_fails_and_counts(
    text: str, failing: list[tuple[str, str]], totals: tuple[int, int]
) -> None:
    assert failing_tests(text) == failing
    assert test_totals(text) == totals


def test_crosses_outside_of_a_test_report_are_no_tests() -> None:
    assert failing_tests("× Getting requirements to build wheel did not run successfully.\n✗ not aligned\n") == []


def test_without_a_report_there_are_no_totals() -> None:
    assert test_totals("14 passed over the bridge\nok  \tpkg/a\t0.2s\n") is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exit code 1\nboom", 1),
        ("Exit code: 0\nWall time: 0 seconds", 0),
        ("Chunk ID: 9\nProcess exited with code 2\nOutput:\n", 2),
        ("<returncode>127</returncode>\n<output>\n", 127),
        ("text\n[Command finished with exit code -1]", -1),
        ("text\n\nCommand exited with code 2", 2),
        ("[The command completed with exit code 1.]", 1),
        ('{"output": "", "metadata": {"exit_code": 3}}', 3),
        ("the exit code is documented below", None),
        ("all good", None),
    ],
)
def test_exit_codes_are_read_as_the_harnesses_write_them(text: str, code: int | None) -> None:
    assert exit_code(text) == code


READERS: list[Callable[[str], object]] = [error_lines, failing_tests, test_totals, exit_code]


@given(
    st.text(max_size=300)
    | st.text(alphabet=st.sampled_from("Error: FAIL not ok\n\t.:=/'\"()[]{}0123456789"), max_size=300)
)
@settings(max_examples=200, deadline=None)
def test_no_text_makes_a_reader_raise(text: str) -> None:
    for reader in READERS:
        reader(text)


@pytest.mark.parametrize(
    "unit",
    [
        "error ",
        "Error: ",
        "a.b/",
        "Traceback (most recent call last):\n",
        "Traceback (most recent call last)",
        "FAILED ",
        "1 passed ",
        "1 passed\n",
        "not ok 1 ",
        "'",
        "ERROR a::b ",
        "/a/b/c.py:1: error: x\n",
        "aError",
        "404 Not Found ",
    ],
)
@pytest.mark.timeout(60)
def test_hostile_output_is_read_in_linear_time(unit: str) -> None:
    """A square of this length would run into the timeout."""
    for reader in READERS:
        reader(unit * (1_000_000 // len(unit)))
