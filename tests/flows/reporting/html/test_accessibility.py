"""The page by the rules of axe-core: nothing that it calls serious or critical, wide and light, narrow and dark."""

from __future__ import annotations

from importlib.resources import files

import pytest

from flows.reporting.html import ReportFile, library
from tests.flows.reporting.html.report_browser import CHROMIUM, DRIVER, WHY_NOT, Browser
from tests.flows.reporting.html.report_store import ORDINARY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=WHY_NOT),
    pytest.mark.skipif(not library.is_installed(), reason=f"needs {library.INSTALL}"),
]
LINKS = {
    "leaderboard": "#leaderboard",
    "method": "#/head_tail",
    "session": f"#/head_tail/{ORDINARY}",
    "point": f"#/head_tail/{ORDINARY}/1",
    "answer": f"#/head_tail/{ORDINARY}/1/recall",
    "side by side": f"#beside/{ORDINARY}/1/all/recall/codex_local/head_tail",
    "timeline": f"#timeline/{ORDINARY}/head_tail",
}
AUDIT = """
    const done = arguments[arguments.length - 1];
    axe.run(document, {resultTypes: ["violations"]}).then((found) => done(found.violations.flatMap((rule) =>
        rule.nodes.map((node) => [rule.impact, rule.id, node.html.slice(0, 120), node.failureSummary]))),
        (error) => done([["critical", "axe-core itself", "", String(error)]]));
"""


def serious(page: Browser) -> list[list[str]]:
    """What axe-core calls serious or critical: impact, rule, element, why."""
    if not page.run("return typeof axe !== 'undefined'"):
        page.run(files("selenium_axe_python").joinpath("axe-core/axe.min.js").read_text(encoding="utf-8"))
    return [one for one in page.driver.execute_async_script(AUDIT) if one[0] in {"serious", "critical"}]


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)], ids=["wide and light", "narrow and dark"])
def test_nothing_is_serious(chromium: Browser, written: ReportFile, link: str, width: int, dark: bool) -> None:
    chromium.size(width, dark=dark)
    chromium.open(written.path)
    chromium.draw_all()
    chromium.go(link)
    assert serious(chromium) == []


def test_a_fault_is_found(page: Browser) -> None:
    page.run("document.querySelector('h1').before(document.createElement('input'))")
    page.run("document.querySelector('h1').style.color = '#bbb'")
    assert {one[1] for one in serious(page)} == {"color-contrast", "label"}
