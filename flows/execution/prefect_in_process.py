"""Prefect's API in the process of a run: its flows have their states and records without a server.

It has no address and listens to nobody, so it needs no secret. Of Prefect's API it has what flows and tasks of this
package ask for; it emits no events, and no service runs beside it. Imported after Prefect has been set up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from fastapi import FastAPI
from prefect.client.orchestration import PrefectClient
from prefect.context import AsyncClientContext, ContextModel
from prefect.server.api import admin, artifacts, flow_runs, flows, task_runs
from prefect.server.api.server import custom_internal_exception_handler
from prefect.server.database import provide_database_interface
from prefect.settings import (
    PREFECT_API_KEY,
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_LOGGING_TO_API_ENABLED,
    PREFECT_SERVER_ALLOW_EPHEMERAL_MODE,
    temporary_settings,
)

from flows.support.errors import EvalError


class _Client(AsyncClientContext):
    """Has all of Prefect in this context use a client of ours."""

    def __init__(self, client: PrefectClient) -> None:
        ContextModel.__init__(self, client=client)


def run_in_process(work: Coroutine[Any, Any, None]) -> None:
    """Run a flow to its end with Prefect's API in this process, and with the database of Prefect's folder.

    Raises EvalError when that cannot be used.
    """
    settings = {
        PREFECT_SERVER_ALLOW_EPHEMERAL_MODE: False,
        PREFECT_LOGGING_TO_API_ENABLED: False,
        PREFECT_API_KEY: "a key without an address: no event is sent",
    }
    with temporary_settings(settings, restore_defaults={PREFECT_API_URL}):
        asyncio.run(_with_api(work))


async def _with_api(work: Coroutine[Any, Any, None]) -> None:
    try:
        await provide_database_interface().create_db()
    except Exception as error:
        work.close()
        reason = str(error).strip().partition("\n")[0]
        raise EvalError(
            f"Prefect's database cannot be used: {reason}; its folder is {PREFECT_HOME.value()} (PREFECT_HOME)"
        ) from error
    app = FastAPI(openapi_url=None)
    for part in (admin, artifacts, flow_runs, flows, task_runs):
        app.router.routes += part.router.routes  # to include a router is to make each of its routes once more
    app.add_exception_handler(Exception, custom_internal_exception_handler)  # another run writes: ask once more
    client = PrefectClient(app, httpx_settings={"base_url": "http://prefect"})
    client.manage_lifespan = False  # nothing is to be started or ended with it
    async with _Client(client):
        await work
