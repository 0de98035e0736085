"""One store and one live view of it for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flows.store.store import Store
from tests.flows.conftest import Kept
from tests.flows.reporting.html.report_browser import Browser, open_browser
from tests.flows.reporting.html.report_store import make_store
from tests.flows.viewing.live_view import viewed


@pytest.fixture(scope="package")
def store(prefect_server: str, kept_worker: Kept, tmp_path_factory: pytest.TempPathFactory) -> Store:
    with kept_worker.at_work():
        return Store.open(str(make_store(tmp_path_factory.mktemp("view"))))


@pytest.fixture(scope="package")
def address(store: Store) -> Iterator[str]:
    with viewed(store) as found:
        yield found


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Browser]:
    """The live page, opened anew; it may not have asked anybody else for anything, nor logged anything."""
    chromium.size(1280)
    chromium.driver.get("about:blank")
    chromium.logged(), chromium.asked_for()
    chromium.driver.get(f"{address}/")
    chromium.until("typeof pairs !== 'undefined' && pairs !== null")
    yield chromium
    assert [url for url in chromium.asked_for() if not url.startswith(f"{address}/")] == []
    assert chromium.run("return window.hacked ?? null") is None
