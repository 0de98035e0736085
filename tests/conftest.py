"""What holds for every test."""

from __future__ import annotations

import gc
import sys

import pytest


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays to the end.

    Thousands of collected tests and the modules of large libraries are looked through in every full collection.
    """
    if "prefect" in sys.modules:
        raise pytest.UsageError(
            "a test module imports Prefect while tests are collected; Prefect then has read its settings before the "
            "tests' server is known: import it, and flows that do (flows.execution.prefect_tasks, flows.evaluate …), "
            "within the test"
        )
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let it see everything again, so that libraries that look for leaks at the end find none."""
    gc.unfreeze()
