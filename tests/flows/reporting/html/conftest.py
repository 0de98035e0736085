"""One store, its page and a browser for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flows.reporting.html import ReportFile, write_report
from flows.store.store import Store
from tests.flows.reporting.html.report_browser import Browser, open_browser
from tests.flows.reporting.html.report_store import copy_store


@pytest.fixture(scope="package")
def store(request: pytest.FixtureRequest) -> Store:
    return copy_store(request)


@pytest.fixture(scope="package")
def written(store: Store) -> ReportFile:
    return write_report(store, store.root.parent / "page <b>.html")


@pytest.fixture(scope="package")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with open_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser, written: ReportFile) -> Browser:
    """The page, opened anew in a window of 1280 by 900 pixels."""
    chromium.size(1280)
    chromium.open(written.path)
    return chromium
