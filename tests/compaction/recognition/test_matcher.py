"""Statements are found where they can be read; the windows are checked against a slow, plain search."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.recognition import READABLE, Claim, Matcher, TextIndex, readable
from compaction.recognition.line_search import LineSearch, weighed
from compaction.recognition.relatives import Relatives
from compaction.recognition.words import lines, tokens, tokens_of
from compaction.transcript import Message, ToolCall

FILLER = tuple(
    Message("assistant", f"Looking at module number {n}.\nNothing of interest in handler_{n} today.", seq=n)
    for n in range(30, 60)
)
HISTORY = (
    Message("user", "Please make the importer reject rows without a currency.", seq=0),
    Message(
        "assistant",
        "I chose Decimal instead of float for amounts, because cents were lost.\nNow the tests.",
        tool_calls=(ToolCall("1", "bash", '{"command": "pytest tests/test_import.py -k currency"}'),),
        seq=1,
    ),
    Message("tool", "E   ValueError: row 17 has no currency\n1 failed, 41 passed in 502ms", tool_call_id="1", seq=2),
    *(Message(m.role, m.text, seq=3 + n) for n, m in enumerate(FILLER)),
)
CHOICE, ERROR = "Amounts are kept as Decimal, not float, since cents got lost.", "ValueError: row 17 has no currency"


def support(statement: str, evidence: Sequence[int], context: Sequence[Message]) -> float:
    return readable(statement, evidence, context, HISTORY).support


def made(text: str) -> Message:
    return Message("user", text, covers=tuple(range(len(HISTORY))))


def test_what_stays_as_it_was_is_readable_and_says_where() -> None:
    found = readable(CHOICE, [1], HISTORY[:3], HISTORY)
    assert found.support >= 0.9
    assert "Decimal instead of float" in found.lines


def test_what_is_gone_is_not_readable() -> None:
    assert support(CHOICE, [1], HISTORY[3:]) <= 0.1
    assert readable(CHOICE, [1], (), HISTORY).lines == ""


@pytest.mark.parametrize(
    "summary",
    [
        "Amounts are Decimal instead of float, because cents were lost.",
        "## Decisions\n- Decimal instead of float for amounts (cents were lost)",
        '{"decisions": ["Decimal instead of float for amounts because cents were lost"]}',
        "| choice | reason |\n|---|---|\n| Decimal instead of float for amounts | cents were lost |",
        "amounts: Decimal instead of float\nreason: cents lost",
    ],
)
def test_the_form_of_a_summary_does_not_matter(summary: str) -> None:
    assert support(CHOICE, [1], [made(summary)]) >= 0.9


def test_a_summary_in_its_own_words_counts() -> None:
    assert support(CHOICE, [1], [made("We keep amounts as decimals: with floats some cents had got lost.")]) >= READABLE


def test_its_words_scattered_over_messages_are_no_statement() -> None:
    assert support(CHOICE, [1], [made(word) for word in CHOICE.split()]) < READABLE


def test_a_masked_result_keeps_nothing_and_its_call_stays_readable() -> None:
    context = [*HISTORY[:2], HISTORY[2].with_text("[output omitted]"), *HISTORY[3:]]
    assert support(ERROR, [2], context) < READABLE
    assert support("pytest ran tests/test_import.py with -k currency", [1], context) >= 0.9


def found_by(claim: Claim, context: Sequence[Message], history: Sequence[Message] = HISTORY) -> float:
    matcher = Matcher(history, TextIndex(history, [context]))
    return matcher.at(len(history), [context]).find(claim)[0].support


@pytest.mark.parametrize("claim", [Claim(ERROR), Claim("The import broke", (2,), quotes=(ERROR,))])
def test_a_statement_or_its_quotation_word_by_word_is_readable(claim: Claim) -> None:
    assert found_by(claim, [made("So:\n  ValueError:  Row 17 has\tno currency!")]) == 1


@pytest.mark.parametrize(
    ("said", "is_readable"),
    [
        ("numpy 1.26.4 is installed", True),
        ("numpy 1.26.5 is installed", False),
        ("numpy 11.26.4 is installed", False),
        ("numpy is installed,\nscipy is at 1.26.4", False),
    ],
)
def test_what_must_stand_to_the_letter_does_on_one_line(said: str, is_readable: bool) -> None:
    history = (Message("tool", "numpy 1.26.4\nscipy 1.14.0", seq=0),)
    exact = Claim("numpy 1.26.4", (0,), exact=("numpy", "1.26.4"))
    assert (found_by(exact, [made(said)], history) >= READABLE) is is_readable


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("rows.py was changed", "src/app/rows.py: changed"),
        ("reverted commit 3f9c2ab", "3f9c2ab77de01 was reverted as a commit"),
        ("numpy 1.26.4 fails", "fails with numpy==1.26.4"),
        ("the importer rejects it", "rejected by importing"),
    ],
)
def test_ends_of_paths_beginnings_of_hashes_and_forms_of_words_count(statement: str, said: str) -> None:
    history = (Message("assistant", statement, seq=0), *FILLER)
    assert readable(statement, [], [made(said)], history).support >= READABLE


_words = st.sampled_from("alpha beta gamma delta rows.py lib/rows.py app/src/rows.py 17 42 epsilon zeta".split())
_messages = st.lists(st.lists(st.lists(_words, max_size=5).map(" ".join), max_size=6).map("\n".join), max_size=5)
_paths = ("app/src/rows.py", "lib/rows.py", "src/rows.py")


@given(_messages, _messages, _messages, _messages, st.sampled_from(_paths), st.lists(_words, min_size=1, max_size=5))
@settings(max_examples=150, deadline=None)
def test_what_comes_after_the_cut_and_other_contexts_change_nothing(
    before: list[str], behind: list[str], said: list[str], others: list[str], path: str, words: list[str]
) -> None:
    session = [Message("assistant", text, seq=n) for n, text in enumerate([*before, *behind])]
    history, context, other = session[: len(before)], [*map(made, said)], [*map(made, others)]
    claims = [Claim(" ".join(words), (0,)), Claim(path, exact=(words[0],))]

    def read(index: TextIndex, contexts: Sequence[Sequence[Message]]) -> list[object]:
        point = Matcher(session, index).at(len(history), contexts)
        return [
            *(point.find(claim)[-1] for claim in claims),
            point.find_file(path, words[:1])[-1],
            point.last_with(words[:1])[-1],
        ]

    alone = read(TextIndex(history, [context]), [context])
    assert read(TextIndex(session, [other, context[::-1], context]), [other, context]) == alone


@given(_messages, st.lists(_words, min_size=1, max_size=5).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_the_best_window_is_the_one_that_a_search_of_all_finds(texts: list[str], statement: str) -> None:
    history = [Message("assistant", text, seq=n) for n, text in enumerate(texts)]
    index = TextIndex(history)
    search = LineSearch(index, Relatives(index.token_ids), len(history), np.zeros(0, np.int32))
    asked = tokens(statement)
    weights = list(map(search.weigh, asked))
    units, table = search.table(asked)
    best, _ = search.best_by_document(units, weighed(search.windows(units, table, 3), np.array(weights, np.float32)))
    for message in history:
        said = [{t.text for word in line for t in tokens_of(word)} for line in lines(message.text)]
        said = [line for line in said if line]
        windows = [set().union(*said[n : n + 3]) for n in range(len(said))]
        wanted = max((sum(w for t, w in zip(asked, weights, strict=True) if t.text in s) for s in windows), default=0)
        assert best[index.document(message)] == pytest.approx(wanted, abs=1e-4)
