"""Prefect's API in the process of a run: its flows have their states and records without a server.

It has no address and listens to nobody, so it needs no secret. Of Prefect's API it has what flows and tasks of this
package ask for; it emits no events, and no service runs beside it. Imported after Prefect has been set up.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine
from typing import Any

from fastapi import FastAPI, Request, Response
from prefect.client.orchestration import PrefectClient
from prefect.context import AsyncClientContext, ContextModel
from prefect.server.api import admin, artifacts, flow_runs, flows, task_runs
from prefect.server.database import provide_database_interface
from prefect.settings import (
    PREFECT_API_KEY,
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_LOGGING_TO_API_ENABLED,
    PREFECT_SERVER_ALLOW_EPHEMERAL_MODE,
    temporary_settings,
)
from sqlalchemy.exc import DBAPIError

from flows.support.errors import EvalError

ASK_AGAIN, BROKEN = 503, 500
"""Status codes; Prefect's client asks again after the first."""


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
    app.add_exception_handler(DBAPIError, _refuse)
    client = PrefectClient(app, httpx_settings={"base_url": "http://prefect"})
    client.manage_lifespan = False  # nothing is to be started or ended with it
    async with _Client(client):
        await work


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer where the database has refused: while another run writes SQLite does, for a moment.

    It answers as Prefect's server does, whose module brings the routes of all its API.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    is_lasting = isinstance(cause, sqlite3.OperationalError) and not cause.sqlite_errorname.startswith("SQLITE_BUSY")
    return Response(status_code=BROKEN if is_lasting else ASK_AGAIN)
