"""The documentation: what is made from the code is as the code is, its code can be read, and no link is broken."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from compaction import compact, make_method
from compaction.registry import REGISTRY
from compaction.testing import history, talk
from flows.cli.pages.docs_pages import COMMITTED, NOTEBOOK, PAGES, PICTURED, lay_out_site, notebook, with_picture
from flows.database.sql_model import table_references
from tests.flows.cli.pages.blocks import COMMAND, DOCS, WRITTEN, blocks
from tests.flows.conftest import ROOT, Command


def test_the_workflow_runs_the_script_and_takes_no_more_rights_than_it_needs() -> None:
    yaml = pytest.importorskip("yaml")  # Prefect brings it
    found = yaml.safe_load((DOCS / "ci" / "compaction.yml").read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps = found["jobs"]["scorecard"]["steps"]
    assert any("sh docs/ci/gate.sh " in step.get("run", "") for step in steps)
    assert all("@v" in step["uses"] for step in steps if "uses" in step)


@pytest.mark.parametrize("language", ["python", "toml"])
def test_python_and_toml_of_the_pages_can_be_read(language: str) -> None:
    found = [block for page in WRITTEN for block, _ in blocks(page) if block.language == language]
    assert len(found) > 3
    for block in found:
        if language == "toml":
            tomllib.loads(block.text)
        else:
            compile(block.text, str(block), "exec", dont_inherit=True)


def test_commands_stand_in_blocks_that_say_what_they_are() -> None:
    """So that a reader, and this test, can tell them from what a command prints."""
    wrong = [
        str(one)
        for page in WRITTEN
        for one, _ in blocks(page)
        if one.language in ("", "text") and COMMAND.search(one.text)
    ]
    assert wrong == []


def test_of_the_made_pages_one_is_committed_as_the_code_is() -> None:
    assert [name for name in (*PAGES, NOTEBOOK) if (DOCS / name).exists()] == [COMMITTED]
    made = PAGES[COMMITTED]()
    assert (DOCS / COMMITTED).read_text("utf-8") == made, "make it again: python -m flows.cli.pages.docs_pages docs"


def test_the_picture_of_the_tables_has_every_reference_and_is_committed() -> None:
    page = (DOCS / PICTURED).read_text("utf-8")
    assert with_picture(page) == page, "make it again: python -m flows.cli.pages.docs_pages docs"
    drawn = set(re.findall(r"^    (\w+) \|\|--o\{ (\w+) : (\w+)$", page, re.MULTILINE))
    assert ("sessions", "points", "session_id") in drawn
    assert drawn == {(to, of, by) for of, columns in table_references().items() for by, to in columns.items()}


def test_links_of_a_plain_checkout_lead_to_what_is_there() -> None:
    wrong = []
    for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]:
        for link in re.findall(
            r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S)
        ):
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if "://" not in link and not (target.exists() and (not anchor or anchor in _anchors(target))):
                wrong.append(f"{page.name}: {link}")
    assert wrong == []


def _anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    ("name", "pages"),
    [("head_tail", ["methods"]), ("leaderboard", ["queries", "schema", "command"]), ("rubric", ["rubric"])],
)
def test_describe_prints_what_every_page_says_of_a_name(name: str, pages: list[str], command: Command) -> None:
    said = command("describe", name)
    found = json.loads(command("describe", name, "--json").stdout)
    assert [one["page"] for one in found] == pages
    assert said.stdout.strip() == "\n".join(one["text"] for one in found).strip()
    assert all(name in one["text"].splitlines()[0].lower() for one in found)


def test_describe_says_what_was_probably_meant(command: Command) -> None:
    said = command("describe", "head_tial")
    assert said.exit_code == 2
    assert "(did you mean head_tail?)" in said.stderr


def test_the_notebook_is_the_page_whose_cells_are_tested() -> None:
    cells = json.loads(notebook((DOCS / "notebooks.md").read_text("utf-8")))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.text.rstrip("\n") for block, _ in blocks(DOCS / "notebooks.md") if block.language == "python"]
    assert sum(len(cell["outputs"]) for cell in cells if cell["cell_type"] == "code") >= 4


class Links(HTMLParser):
    """What a page of the site refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.to_pages: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.to_pages.append(found["href"] or "")
        elif tag in ("script", "img", "iframe") and found.get("src"):
            self.loaded.append(found["src"] or "")
        elif tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon", "preconnect"):
            self.loaded.append(found["href"] or "")


@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="the extra docs is not installed")
def test_the_site_builds_strictly_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    config = (ROOT / "zensical.toml").read_text("utf-8")
    (tmp_path / "zensical.toml").write_text(config)
    lay_out_site(DOCS, tmp_path / "build" / "docs")
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / "build" / "site"
    in_navigation = set(re.findall(r'"([\w-]+\.md)"', config))
    assert in_navigation == {path.name for path in (tmp_path / "build" / "docs").glob("*.md")}
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        links = Links()
        links.feed(page.read_text("utf-8"))
        assert [one for one in links.loaded if urlsplit(one).scheme] == [], page
        for link in links.to_pages:
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            target = (page.parent / unquote(parts.path)).resolve()
            if not (target.is_file() or (target / "index.html").is_file()):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


@pytest.mark.parametrize(
    ("page", "id", "flags"),
    [("extending.md", "every_other", ("invalid_context",)), ("strategies.md", "our_short_results", ())],
)
def test_a_strategy_of_the_pages_runs_as_the_page_says(page: str, id: str, flags: tuple[str, ...]) -> None:
    [code] = [block.text for block, _ in blocks(DOCS / page) if f'@strategy("{id}"' in block.text]
    try:
        exec(compile(code, page, "exec", dont_inherit=True), {})
        left = compact(history(talk("s u " + "a1 " * 12 + "u")), make_method(id))
    finally:
        REGISTRY.pop(id, None)
    assert left.flags == flags
