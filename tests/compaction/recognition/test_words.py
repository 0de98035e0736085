import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from compaction.recognition.words import MAX_SURFACES, lines, stem, tokens


def texts(text: str) -> set[str]:
    return {token.text for token in tokens(text)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("502MB", "502 MB"),
        ("1,024 files", "1024 files"),
        ("the 3rd run", "run 3"),
        ("two retries", "2 retry"),
        ("Aug 18", "August 18"),
        ("it’s failing", "it's failed"),
        ("v1.50", "v1.50"),
    ],
)
def test_two_wordings_have_the_same_tokens(one: str, other: str) -> None:
    assert texts(one) & texts(other) >= texts(one) - {"mb"}


def test_words_are_stemmed_in_threads_as_in_one() -> None:
    words = [f"{word}{ending}" for word in ("compact", "relat", "generous", "test") for ending in ("ing", "ion", "ly")]
    alone = [stem.__wrapped__(word) for word in words]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(stem.__wrapped__, words * 200))
    finally:
        sys.setswitchinterval(before)
    assert found == alone * 200


def test_a_date_is_its_day_month_and_year() -> None:
    assert texts("18 August 2025") <= texts("2025-08-18")


@pytest.mark.parametrize("written", ["src/app/rows.py:120:def", "@src/app/rows.py", "path=src/app/rows.py"])
def test_a_path_is_found_within_what_stands_around_it(written: str) -> None:
    assert {"src/app/rows.py", "rows.py"} <= texts(written)


def test_a_name_is_also_the_words_that_it_is_made_of() -> None:
    assert {"readrows_fast", "read", "row", "fast"} <= texts("readRows_fast")


def test_words_of_scripts_without_spaces_are_pairs_and_others_stand_as_they_are() -> None:
    assert texts("修正了错误") == {"修正", "正了", "了错", "错误"}
    assert texts("ошибка исправлена") == {"ошибка", "исправлена"}


def test_a_line_of_many_words_is_cut_and_a_sentence_ends_one() -> None:
    assert [len(line) for line in lines("word " * 50)] == [MAX_SURFACES, MAX_SURFACES, 10]
    assert list(lines("one two. three\nfour")) == [["one", "two"], ["three"], ["four"]]


@pytest.mark.parametrize("text", ["-" * 200_000, "a-" * 100_000, "1," * 100_000, "_" * 200_000, "@a/" * 60_000])
def test_long_runs_of_signs_take_linear_time(text: str) -> None:
    assert list(lines(text)) is not None
    tokens(text[:5_000])
