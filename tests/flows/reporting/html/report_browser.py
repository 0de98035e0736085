"""A page in a headless Chromium: what it looks like, what it logs, and what it asks for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from flows.database.scores_db import connect
from flows.reporting.text_tables import fetch_rows
from flows.store.store import Store

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
WHY_NOT = "needs Chromium and its driver: apt-get install chromium chromium-driver"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


class Browser:
    """A browser, and shorthands for what the tests ask."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, link: str = "") -> None:
        """A page, anew; what was logged before is forgotten."""
        self.driver.get("about:blank")
        self.logged(), self.asked_for()
        self.driver.get(f"file://{quote(str(page))}{link}")
        self.until("typeof pairs !== 'undefined' && pairs !== null")

    def go(self, link: str) -> None:
        """A place within the page, once it is shown: not what stood there before it."""
        shown = "document.body.ariaBusy = 'true'; const before = location.href; location.hash = arguments[0];"
        self.run(shown + "if (location.href === before) route()", link)
        self.until("document.body.ariaBusy === 'false'")

    def run(self, script: str, *values: Any) -> Any:
        """What a script gives."""
        return self.driver.execute_script(script, *values)

    def choose(self, id: str, value: str) -> None:
        """Set a field as a reader does."""
        script = "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        events = "for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, { bubbles: true }));"
        self.run(script + events, id, value)

    def until(self, condition: str) -> None:
        """Wait for a condition in JavaScript."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 60, 0.05).until(lambda driver: driver.execute_script(f"return !!({condition})"))

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The window's size, and the theme that the system has."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})

    def logged(self) -> list[str]:
        """What the console has since the last time: errors, warnings, refusals of the policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self) -> list[str]:
        """Addresses that were asked for since the last time, that of the page itself and data of its own left out."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("file:", "data:", "blob:"))]

    def draw_all(self) -> None:
        """Every chart, also those far down the page."""
        self.run("return Promise.all([...document.querySelectorAll('[data-chart]')].map(draw)).then(() => null)")
        self.until("document.querySelectorAll('[data-chart]:not([data-drawn])').length === 0")

    def texts(self, selector: str) -> list[str]:
        """The visible texts of elements."""
        text = "(one) => (one.innerText ?? one.textContent).trim()"
        return self.run(f"return [...document.querySelectorAll(arguments[0])].map({text})", selector)


@contextmanager
def open_browser(profile: Path, *flags: str) -> Iterator[Browser]:
    """A browser of its own, with an empty profile and perhaps more flags."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, *flags, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    os.environ.setdefault("SE_OFFLINE", "true")  # the driver that is there, and no search for another
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(60)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


def rows(store: Store, query: str) -> list[dict[str, Any]]:
    with connect(store.database) as connection:
        return fetch_rows(connection, query).dicts()


def cells(page: Browser, table: str) -> list[list[str]]:
    """The visible texts of a table's rows."""
    script = """
        const rows = [...document.querySelectorAll(arguments[0])].filter((row) => !row.hidden);
        return rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
    """
    return page.run(script, f"#{table} tbody tr")
