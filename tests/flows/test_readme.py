"""The README's examples run. What it shows of commands is compared in ``test_pages.py``."""

from __future__ import annotations

import re

from compaction import load_registry
from compaction.registry import REGISTRY
from tests.flows.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


CODE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_strategy_in_the_readme_registers() -> None:
    [code] = [code for code in CODE if "@strategy" in code]
    try:
        exec(compile(code, "README.md", "exec", dont_inherit=True), {})
        assert load_registry()["last_messages"].params == {"keep": 10}
    finally:
        REGISTRY.pop("last_messages", None)


def test_every_document_that_the_readme_names_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
