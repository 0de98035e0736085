"""One store and one live view of it for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser, open_browser
from tests.flows.reporting.html.report_store import copy_store
from tests.flows.viewing.live_view import viewed


@pytest.fixture(scope="package")
def store(request: pytest.FixtureRequest) -> Store:
    return copy_store(request)


@pytest.fixture(scope="package")
def address(store: Store) -> Iterator[str]:
    with viewed(store) as found:
        yield found


@pytest.fixture(scope="package")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the rater who is at ``graded``."""
    return tmp_path_factory.mktemp("labels") / "ada.csv"


@pytest.fixture(scope="package")
def graded(store: Store, labels: Path) -> Iterator[str]:
    """The address of a view that takes grades."""
    with viewed(store, "--labels", str(labels)) as found:
        yield found


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@contextmanager
def visited(browser: Browser, address: str, link: str, shown: str) -> Iterator[Browser]:
    """A live page, opened anew and shown; meanwhile it asks nobody else for anything, and runs no text."""
    browser.size(1280)
    browser.driver.get("about:blank")
    browser.logged(), browser.asked_for()
    browser.driver.get(f"{address}/{link}")
    browser.until(shown)
    yield browser
    assert [url for url in browser.asked_for() if not url.startswith(f"{address}/")] == []
    assert browser.run("return window.hacked ?? null") is None


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Browser]:
    """The page of the store."""
    with visited(chromium, address, "", "typeof pairs !== 'undefined' && pairs !== null") as found:
        yield found


@pytest.fixture
def rating(chromium: Browser, graded: str) -> Iterator[Browser]:
    """The page that asks for grades."""
    with visited(chromium, graded, "#grade", "document.querySelector('fieldset.grade')") as found:
        yield found
