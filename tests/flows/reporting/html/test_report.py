"""The page of a store, as it is written; how it looks and behaves is in ``test_report_browser.py``."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from flows.reporting.html import library, write_report
from flows.reporting.html.detail import runs
from flows.reporting.html.formats import (
    format_count,
    format_share,
    format_short,
    format_signed,
    format_usd,
)
from flows.reporting.html.visible import MOST_CHARS, clip, show_invisible
from flows.reporting.html.words import LANGUAGES, load_catalogue
from flows.reporting.recommendation import Wanted, recommend
from flows.reporting.text_tables import Layout, two_decimals
from flows.store.store import Store
from tests.flows.conftest import Command
from tests.sql.loaded import make_loaded
from tests.sql.tiny import graded, tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two sessions whose figures are known, without texts of sessions."""
    root = make_loaded(tiny(), tmp_path_factory.mktemp("report")).parent
    (root / "store.json").write_text('{"format": 3, "tokenizer": "o200k_base"}')
    return root


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    """Its page, without charts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "is_installed", lambda: False)
        write_report(Store.open(str(folder)), folder / "page.html")
    return (folder / "page.html").read_text("utf-8")


def catalogue(language: str) -> dict[str, Any]:
    return tomllib.loads(files("flows.reporting.html").joinpath("words", f"{language}.toml").read_text("utf-8"))


def test_every_language_says_everything_with_the_same_values() -> None:
    english = catalogue("en")
    for language in LANGUAGES:
        other = catalogue(language)
        assert {name: list(texts) for name, texts in other.items()} == {n: list(texts) for n, texts in english.items()}
        for section, texts in english.items():
            for name, text in texts.items():
                found = other[section][name]
                assert sorted(set(re.findall(r"\{\w+\}", found))) == sorted(set(re.findall(r"\{\w+\}", text))), name


def test_a_language_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ValueError, match="no language 'xx'; there are: en, zh"):
        load_catalogue("xx")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb", "a\nb"),
        ("abc\u202egnp", "abc‹U+202E›gnp"),
        ("\x1b[31m\x00", "‹U+001B›[31m‹U+0000›"),
        ("\u2066x\u2069\ufeff\u200b", "‹U+2066›x‹U+2069›‹U+FEFF›‹U+200B›"),
        ("\U000e0041", "‹U+E0041›"),
        ("\ud800", "‹U+D800›"),
        ("👩\u200d💻 <b>", "👩\u200d💻 <b>"),
    ],
)
def test_characters_that_nobody_sees_are_shown_by_their_names(text: str, shown: str) -> None:
    assert show_invisible(text) == shown


def test_of_a_long_text_the_beginning_and_the_end_stay() -> None:
    text, left_out = clip("a" * 3000 + "b" * 3000)
    assert left_out == 6000 - MOST_CHARS
    assert text.startswith("aaa")
    assert text.endswith("bbb")
    assert len(text) == MOST_CHARS + len("\n⋯\n")
    assert clip("short") == ("short", 0)


def test_positions_as_stretches() -> None:
    assert runs([3, 1, 2, 7, 9, 8]) == [[1, 3], [7, 9]]
    assert runs([]) == []


def test_numbers_are_written_alike_everywhere() -> None:
    assert [
        two_decimals(4.335),
        two_decimals(None),
        format_signed(-0.001),
        format_signed(0.5),
        format_share(0.12345),
        format_count(36611.0),
    ] == [
        "4.33",
        "–",
        "+0.00",
        "+0.50",
        "12.3 %",
        "36,611",
    ]
    assert [format_usd(0.0), format_usd(0.00123), format_usd(1234.5), format_usd(None)] == [
        "0.00",
        "0.00123",
        "1,234.50",
        "–",
    ]
    assert format_short("a\n b" + "c" * 300) == "a b" + "c" * 156 + "…"


def test_the_page_loads_nothing_and_runs_nothing_but_what_its_policy_names(page: str) -> None:
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src &#39;none&#39;; script-src &#39;sha256-")
    assert "unsafe" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    named = {f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}" for text in scripts + styles}
    assert set(re.findall(r"sha256-[\w+/=]+", policy)) == named
    assert re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', page.replace("javascript:", "")) == []
    assert not re.findall(r"<[^>]+ on\w+=", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert not re.findall(r"<[^>]+ style=", page)


def test_without_the_library_the_page_says_so_and_has_every_table(page: str) -> None:
    assert page.count("pip install vl-convert-python") == 6
    for id in ("board", "weakest", "pairs", "tokens", "cycles", "split", "cost", "losses", "missing", "coverage"):
        assert page.count(f'id="t-{id}"') == 1


def test_embedded_scores_are_marked_before_any_figure(page: str) -> None:
    assert 0 < page.index("No language model gave these scores.") < page.index('id="t-board"')


def recommended_on(page: str) -> str:
    """The texts of the sections that recommend, with one blank where tags of blocks are."""
    sections = "".join(re.findall(r'<section id="(?:summary|recommend)".*?</section>', page, re.DOTALL))
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", sections.replace("<wbr>", ""))).split())


def test_the_recommendation_is_that_of_the_command_to_the_letter(folder: Path, page: str) -> None:
    shown = recommended_on(page)
    found = json.loads(recommend(folder / "scores.duckdb", Wanted(), layout=Layout("json")))
    [mine] = [one for one in found if one["judge_id"] == "j1"]
    assert len(mine["sentences"]) == 3
    assert " ".join(mine["sentences"]) in shown
    printed = recommend(folder / "scores.duckdb", Wanted(), "j1", Layout("markdown"))
    table = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in printed.splitlines() if line[:1] == "|"]
    names, _, *rows = table
    assert len(rows) >= 2
    assert " ".join(" ".join(filter(None, row)) for row in [names, *rows]) in shown
    assert '<a href="#recommend">' in page


def test_without_methods_to_compare_there_is_no_recommendation(tmp_path: Path) -> None:
    only = graded({"none": {("s1", "q"): 5.0, ("s2", "q"): 4.0}})
    root = make_loaded(only, tmp_path).parent
    (root / "store.json").write_text('{"format": 3, "tokenizer": "o200k_base"}')
    write_report(Store.open(str(root)), tmp_path / "page.html")
    assert "recommend" not in re.findall(r'(?:id="|href="#)([\w-]+)"', (tmp_path / "page.html").read_text("utf-8"))


def read_data(page: str) -> str:
    """The element with the data of the page's script, JSON."""
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return str(data)


def swept_page(folder: Path, sweeps: Mapping[str, Sequence[int]]) -> str:
    """The page of a store with the controls, and a method for each value of ``tail`` of each summarizer."""
    names = {f"{summarizer}{tail}": (summarizer, tail) for summarizer, tails in sweeps.items() for tail in tails}
    means = {"none": 5.0, **{name: float(tail) for name, (_, tail) in names.items()}, "empty": 0.0}
    rows = graded({name: {("s1", "q"): mean, ("s2", "q"): mean} for name, mean in means.items()})
    for row in rows["methods"]:
        if row["method_id"] in names:
            summarizer, tail = names[row["method_id"]]
            row |= {"strategy": "cut", "params": json.dumps({"head": 2, "tail": tail}), "summarizer": summarizer}
    root = make_loaded(rows, folder).parent
    (root / "store.json").write_text('{"format": 3, "tokenizer": "o200k_base"}')
    write_report(Store.open(str(root)), root / "page.html")
    return (root / "page.html").read_text("utf-8")


def test_a_sweep_is_a_curve_of_its_values_and_two_values_are_none(tmp_path: Path) -> None:
    one = swept_page(tmp_path / "one", {"x": [3, 1, 2], "y": [1, 2]})
    assert 'data-chart="sweeps"' in one
    drawn = json.loads(read_data(one))["sweeps"]
    assert [(row["sweep"], row["value"], row["retention"]) for row in drawn] == [
        ("cut tail", "1", 0.2),
        ("cut tail", "2", 0.4),
        ("cut tail", "3", 0.6),
    ]
    two = swept_page(tmp_path / "two", {"x": [3, 1, 2], "y": [1, 2, 4]})
    assert {row["sweep"] for row in json.loads(read_data(two))["sweeps"]} == {
        "cut tail (head=2, x, prefix)",
        "cut tail (head=2, y, prefix)",
    }
    none = swept_page(tmp_path / "none", {"x": [1, 2]})
    assert 'data-chart="sweeps"' not in none
    assert json.loads(read_data(none))["sweeps"] == []


def test_what_is_not_in_the_store_is_said_with_the_command_that_makes_it(page: str) -> None:
    judge = page[page.index('<section id="judge"') :]
    assert "compaction-eval audit blinding" in judge
    assert 'id="t-agreement"' in judge, "people have labelled answers of this store"
    assert "compaction-eval report OUT.html --judge" in judge, "it has another judge"


def test_data_in_the_page_cannot_end_their_element(folder: Path, page: str) -> None:
    data = read_data(page)
    assert "<" not in data
    assert [row["method"] for row in json.loads(data)["board"]] == ["keep", "cut"]
    [pairs] = re.findall(r'data-pack="pairs">(.*?)</script>', page)
    unpacked = json.loads(gzip.decompress(base64.b64decode(pairs)))
    assert len({len(column) for column in unpacked.values()}) == 1


def test_the_command_says_what_it_wrote(
    folder: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "is_installed", lambda: False)
    out = tmp_path / "new" / "page.html"
    result = command("report", out, "--store", folder, "--lang", "zh", "--no-texts")
    assert result.exit_code == 0, result.output
    assert f"{out}: 0." in result.output
    assert "judge embedded" in result.output
    assert "pip install vl-convert-python" in result.output
    html = out.read_text("utf-8")
    assert '<html lang="zh">' in html
    assert "这些分数不是语言模型给出的。" in html
    assert "--no-texts" in html


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["page.html", "--judge", "nobody"],
            "error: no scores of a judge 'nobody' in this store; judges with scores: ",
        ),
        (["."], "error: .: this is a folder; name a file to write, such as report.html"),
        (["page.html", "--max-mb", "0.1"], "error: the page needs "),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    folder: Path, arguments: list[str], said: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The process would remember the real one.
    monkeypatch.setattr("flows.reporting.html.page.chart_script", lambda: "x" * 200_000)
    monkeypatch.setattr(library, "is_installed", lambda: True)
    monkeypatch.setattr(library, "version", lambda: "none")
    result = command("report", *arguments, "--store", folder)
    assert result.exit_code == 2
    assert result.output.startswith(said)
    assert list(tmp_path.iterdir()) == []
