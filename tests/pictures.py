"""``python -m tests.pictures STORE``: the pictures of README and docs, taken anew from the page of a store.

Those of the repository are of the sample (``compaction-eval run``). Needs Chromium and its driver.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flows.reporting.html import write_report
from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser, open_browser

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
BESIDE = """
    const session = data.sessions.find((one) => one.here.length);
    const places = methods.flatMap((name, place) => (name.includes("(") ? [] : [place])).slice(0, 3);
    return besideLink({ session: session.id, cycle: session.here[0], mode: "all", key: "-", places });
"""
"""The address of the first session's first point, beside the first three methods without parameters."""


@dataclass(frozen=True)
class Picture:
    """A part of the page as it looks in a window of this size."""

    name: str
    selector: str
    width: int = 1400
    height: int = 900
    is_dark: bool = False
    script: str = ""
    """Gives an address within the page; empty: the report."""


PICTURES = (
    Picture("opening", "#summary"),
    Picture("leaderboard", "#leaderboard"),
    Picture("side-by-side", "#drill", script=BESIDE),
    Picture("phone", "#summary", width=390, height=1500, is_dark=True),
)


def take(browser: Browser, page: Path, picture: Picture) -> bytes:
    """The picture as WebP, no higher than its window."""
    browser.size(picture.width, picture.height, dark=picture.is_dark)
    browser.open(page)
    if picture.script:
        browser.go(browser.run(picture.script))
    place = "const { top, height } = document.querySelector(arguments[0]).getBoundingClientRect(); return [top, height]"
    browser.until("document.querySelector('#front svg')" if not picture.script else "!drill.hidden")
    browser.run("scrollTo(0, 0)")
    top, height = browser.run(place, picture.selector)
    clip = {"x": 0, "y": top, "width": picture.width, "height": min(height + 8, picture.height), "scale": 1}
    options = {"format": "webp", "quality": 80, "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(browser.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def main(store: str) -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_browser(Path(folder, "profile")) as browser:
        written = write_report(Store.open(store), Path(folder, "page.html"))
        for picture in PICTURES:
            data = take(browser, written.path, picture)
            (FOLDER / f"{picture.name}.webp").write_bytes(data)
            print(f"docs/pictures/{picture.name}.webp: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
