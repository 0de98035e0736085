"""One store and one live view of it for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
