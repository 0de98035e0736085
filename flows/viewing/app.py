"""The addresses of ``view``, below its token: the page, the charts' library, and data as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from flows.reporting.html import library
from flows.reporting.html.page import chart_script
from flows.support.errors import EvalError
from flows.viewing.grading import Grading
from flows.viewing.guard import GRADES
from flows.viewing.live_store import LiveStore

if TYPE_CHECKING:
    from starlette.requests import Request

    Answer = Callable[[Request], Any]

CLOSED = "grades are taken only by: compaction-eval view --labels FILE, or --statements FILE"


def make_app(live: LiveStore, grading: Grading | None = None) -> Starlette:
    """The app that answers from a store, and takes grades where there is a file for them.

    It asks nobody who they are; ``flows.viewing.guard`` does.
    """
    answers = _answers(live, grading)

    async def data(request: Request) -> Response:
        answer = answers.get(request.path_params["name"])
        found = await run_in_threadpool(answer, request) if answer else None
        if found is None:
            return PlainTextResponse("not in this store", 404)
        return Response(orjson.dumps(found, default=str), media_type="application/json")

    async def take(request: Request) -> Response:
        if grading is None:
            return PlainTextResponse(CLOSED, 405)
        try:
            grades = orjson.loads(await request.body())
        except orjson.JSONDecodeError:
            return PlainTextResponse("expected JSON", 400)
        return Response(
            orjson.dumps(await run_in_threadpool(grading.add, _read(request, "judge"), grades)),
            media_type="application/json",
        )

    async def page(request: Request) -> Response:
        return Response(await run_in_threadpool(live.page, _read(request, "judge")), media_type="text/html")

    async def charts(_: Request) -> Response:
        if not library.is_installed():
            return PlainTextResponse(library.INSTALL, 404)
        return Response(await run_in_threadpool(chart_script), media_type="text/javascript")

    async def say(_: Request, error: Exception) -> Response:
        return PlainTextResponse(str(error), 400)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/charts.js", charts),
            Route(GRADES, take, methods=["POST"]),
            Route("/data/{name}", data),
        ],
        exception_handlers={EvalError: say},
    )


def _answers(live: LiveStore, grading: Grading | None) -> dict[str, Answer]:
    """Return what answers ``data/NAME``, by name."""
    return {
        "sessions": lambda r: live.sessions(_read(r, "judge"), _read(r, "method"), _read(r, "other"), _read(r, "find")),
        "session": lambda r: live.session(_read(r, "judge"), _read(r, "session")),
        "timeline": lambda r: live.timeline(_read(r, "judge"), _read(r, "session")),
        "point": lambda r: live.point(
            _read(r, "judge"),
            _read(r, "session"),
            _number(_read(r, "cycle")),
            [*map(_number, _read(r, "contexts").split("."))],
        ),
        "message": lambda r: live.message(_read(r, "session"), _number(_read(r, "seq"))),
        "query": lambda r: live.query(_read(r, "sql")),
        "nights": lambda _: live.nights(),
        "relations": lambda _: live.relations(),
        "grade": lambda r: grading.item(_read(r, "judge"), _read(r, "id"), _read(r, "after")) if grading else {},
    }


def _read(request: Request, name: str) -> str:
    return request.query_params.get(name, "")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
