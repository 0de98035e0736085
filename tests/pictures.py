"""``python -m tests.pictures STORE``: the pictures of README and docs, taken anew from the live view of a store.

Those of the repository are of the sample (``compaction-eval run``). Needs Chromium and its driver.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser, open_browser
from tests.flows.viewing.live_view import rows, viewed

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"


@dataclass(frozen=True)
class Picture:
    """A part of the page as it looks in a window of this size."""

    name: str
    link: str = ""
    """Address within the page, with {session}, {first}, {second} and {third} method; blank: the report."""
    selector: str = "#drill"
    width: int = 1400
    height: int = 900
    is_dark: bool = False


PICTURES = (
    Picture("opening", selector="#summary"),
    Picture("leaderboard", selector="#leaderboard"),
    Picture("phone", selector="#summary", width=390, height=1500, is_dark=True),
    Picture("method", "#/{second}"),
    Picture("session", "#/{second}/{session}"),
    Picture("answer", "#/{second}/{session}/1/recall"),
    Picture("side-by-side", "#beside/{session}/1/all/-/{first}/{second}/{third}"),
    Picture("timeline", "#timeline/{session}/{second}"),
    Picture("judge", selector="#judge"),
    Picture("nights", "#nights", height=500),
    Picture("sql", "#sql/FROM%20fronts", height=700),
    Picture("grading", "#grade", is_dark=True),
)


def named(store: Store) -> dict[str, str]:
    """The names of ``Picture.link``: the three first methods without parameters, and a session with two points."""
    board = "SELECT method FROM fronts WHERE NOT contains(method, '(') ORDER BY line LIMIT 3"
    [session] = rows(
        store,
        "SELECT session_id FROM points JOIN sessions USING (session_id) WHERE task_type IS NOT NULL "
        "GROUP BY ALL HAVING count(*) = 2 ORDER BY ALL LIMIT 1",
    )
    methods = dict(zip(("first", "second", "third"), rows(store, board), strict=True))
    return {name: quote(row["method"], safe="") for name, row in methods.items()} | {
        "session": quote(session["session_id"], safe="")
    }


def take(browser: Browser, address: str, picture: Picture) -> bytes:
    """The picture as WebP, no higher than its window."""
    browser.size(picture.width, picture.height, dark=picture.is_dark)
    browser.driver.get("about:blank")  # a page of the same address would not be loaded anew
    browser.driver.get(f"{address}/{picture.link}")
    browser.until("document.querySelector('#front svg')" if not picture.link else "!drill.hidden")
    browser.until("document.body.ariaBusy !== 'true'")
    place = "const { top, height } = document.querySelector(arguments[0]).getBoundingClientRect(); return [top, height]"
    browser.run("scrollTo(0, 0)")
    top, height = browser.run(place, picture.selector)
    clip = {"x": 0, "y": top, "width": picture.width, "height": min(height + 8, picture.height), "scale": 1}
    options = {"format": "webp", "quality": 80, "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(browser.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def main(root: str) -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    store = Store.open(root)
    names = named(store)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_browser(Path(folder, "profile")) as browser,
        viewed(store, "--labels", str(Path(folder, "grades.csv"))) as address,
    ):
        for picture in PICTURES:
            linked = Picture(**{**vars(picture), "link": picture.link.format_map(names)})
            data = take(browser, address, linked)
            (FOLDER / f"{picture.name}.webp").write_bytes(data)
            print(f"docs/pictures/{picture.name}.webp: {len(data) / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
