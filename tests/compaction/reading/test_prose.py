from compaction.reading.prose import sentences, shorten, specific_terms, terms


def test_prose_is_split_and_code_blocks_are_left_out() -> None:
    text = (
        "First I look at it. Then:\n```python\nx = 'not. prose.'\n```\n- **Keep** the API as it is\n## A heading here"
    )
    assert sentences(text) == ["First I look at it.", "Keep the API as it is", "A heading here"]


def test_a_bracket_that_a_sentence_goes_on_behind_ends_none() -> None:
    assert sentences("How are agents (Claude Code, Codex, etc.) detected? (See the docs.) Tell me all.") == [
        "How are agents (Claude Code, Codex, etc.) detected?",
        "(See the docs.",
        "Tell me all.",
    ]


def test_terms_are_distinct_lower_case_and_without_stop_words() -> None:
    assert terms("The pool in config/redis.ts uses the POOL of 12 sockets") == (
        "pool",
        "config/redis.ts",
        "12",
        "sockets",
    )


def test_dunder_names_stay_whole() -> None:
    assert sentences("The module `__init__.py` is missing here.") == ["The module `__init__.py` is missing here."]


def test_specific_terms_are_names_that_only_this_matter_has() -> None:
    assert specific_terms("Call getUser in src/a.py, see HTTP 401 and snake_case words") == (
        "getuser",
        "src/a.py",
        "http",
        "401",
        "snake_case",
    )


def test_shortening_cuts_at_a_word() -> None:
    assert shorten("one two  three\nfour", 12) == "one two…"


def test_nasty_text_takes_linear_time() -> None:
    assert len(sentences("a" * 2_000_000)) == 0
    assert sentences("`" * 100_000 + "." * 100_000) == []
    assert len(terms("x." * 200_000)) >= 1
