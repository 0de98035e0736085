"""The providers' batch interfaces over a real socket, with everything that can become of a batch.

``BatchProvider`` is a ``MockProvider`` whose batch interface keeps lists, pages them, checks what it is given as the
real ones do, and breaks where a test wants it to. ``paid`` counts how often each request was worked off: twice is money
lost.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from typing import Any, Literal

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.flows.llm import shapes, strict
from tests.flows.llm.server import HttpError, MockProvider
from tests.flows.llm.shapes import Json

Fate = Literal["good", "rejected", "broken", "expired", "missing", "refusal", "empty", "wrong_model", "truncated"]
"""Of one request: answered; refused as invalid; an internal error; not served; not in the results at all; answered in a
way that is of no use."""
ANSWERED = frozenset({"good", "refusal", "empty", "wrong_model", "truncated"})
Point = Literal["upload", "create", "created", "look", "download", "list"]
"""Where a test may step in. ``create``: before the batch exists; ``created``: after it does, before the answer."""


@dataclass
class BatchProvider(MockProvider):
    """A provider with batches."""

    fate: Callable[[str, Json], Fate] = lambda key, body: "good"
    """What becomes of a request, by its custom id and body."""
    ends_as: Literal["completed", "failed", "expired", "cancelled"] = "completed"
    on: dict[Point, Callable[[Request], None]] = field(default_factory=dict)
    """May raise HttpError, or ConnectionResetError: the connection is reset."""
    most_requests: int = 50_000
    page: int = 2
    """Batches of one page of a list, at most."""
    cut: int = 0
    """So many downloads break off in the middle, without an error."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.paid: Counter[str] = Counter()
        """By custom id."""
        self.sizes: list[int] = []
        """Requests of each batch."""
        self.bodies: dict[str, Json] = {}
        """By custom id."""
        self.made: list[Json] = []
        """Of each batch, what it was made from, without its requests."""

    def _make_app(self) -> Starlette:
        app = super()._make_app()
        app.router.routes[:0] = [
            self._route("/v1/files", "POST", "upload", self._upload),
            self._route("/v1/files/{id}/content", "GET", "download", self._download),
            self._route("/v1/batches", "POST", "create", self._create),
            self._route("/v1/batches", "GET", "list", self._list),
            self._route("/v1/batches/{id}", "GET", "look", self._look),
            self._route("/v1/messages/batches", "POST", "create", self._create_messages),
            self._route("/v1/messages/batches", "GET", "list", self._list_messages),
            self._route("/v1/messages/batches/{id}", "GET", "look", self._look_messages),
            self._route("/v1/messages/batches/{id}/results", "GET", "download", self._results_messages),
        ]
        return app

    def _route(self, path: str, method: str, point: Point, answer: Callable[[Request, bytes], Response]) -> Route:
        async def endpoint(request: Request) -> Response:
            raw = await request.body()
            self.receive(request, raw)
            anthropic = path.startswith("/v1/messages")
            try:
                await asyncio.to_thread(self._step_in, point, request)
                response = await asyncio.to_thread(answer, request, raw)
                if point == "create":
                    await asyncio.to_thread(self._step_in, "created", request)
            except HttpError as error:
                return shapes.error(anthropic, error.status, error.error, error.headers)
            except ConnectionResetError:
                return self._reset(request)
            return response

        return Route(path, endpoint, methods=[method])

    def _step_in(self, point: Point, request: Request) -> None:
        if point in self.on:
            self.on[point](request)

    # OpenAI

    def _upload(self, request: Request, raw: bytes) -> Response:
        form = message_from_bytes(b"Content-Type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + raw)
        parts: dict[Any, Any] = {part.get_param("name", header="content-disposition"): part for part in form.walk()}
        if parts["purpose"].get_payload().strip() != "batch":
            raise HttpError(400, "purpose: expected batch")
        content = parts["file"].get_payload(decode=True)
        name = parts["file"].get_filename()
        id = f"file-{len(self.files) + 1}"
        self.files[id] = content
        return shapes.reply(
            {
                "id": id,
                "object": "file",
                "bytes": len(content),
                "created_at": int(time.time()),
                "filename": name,
                "purpose": "batch",
                "status": "processed",
            }
        )

    def _download(self, request: Request, raw: bytes) -> Response:
        content = self.files.get(request.path_params["id"])
        if content is None:
            raise HttpError(404, "No such File object")
        return Response(self._maybe_cut(content), media_type="application/octet-stream")

    def _maybe_cut(self, content: bytes) -> bytes:
        if self.cut:
            self.cut -= 1
            return content[: len(content) * 2 // 3]
        return content

    def _create(self, request: Request, raw: bytes) -> Response:
        asked = orjson.loads(raw)
        if asked["completion_window"] != "24h":
            raise HttpError(400, "completion_window: expected 24h")
        lines = [orjson.loads(line) for line in self.files[asked["input_file_id"]].split(b"\n") if line]
        id = f"batch_{len(self.batches) + 1}"
        batch: Json = {
            "id": id,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "status": "validating",
            "created_at": int(time.time()),
            "errors": None,
            "output_file_id": None,
            "error_file_id": None,
            "metadata": asked.get("metadata"),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            "_looks": 0,
        }
        wrong = self._wrong(lines, asked["endpoint"])
        if wrong or self.ends_as == "failed":
            error = {
                "code": "invalid_batch",
                "message": wrong or "Enqueued token limit reached",
                "line": None,
                "param": None,
            }
            batch |= {"_end": "failed", "_done": [], "errors": {"object": "list", "data": [error]}}
        else:
            batch |= {"_end": self.ends_as, "_done": [self._worked_off(line, asked["endpoint"]) for line in lines]}
        self.batches[id] = batch
        self.sizes.append(len(lines))
        self.made.append({name: value for name, value in asked.items() if name != "input_file_id"})
        return self._shown(batch)

    def _wrong(self, lines: Sequence[Json], endpoint: str) -> str:
        if len(lines) > self.most_requests:
            return f"the file has {len(lines)} requests, more than {self.most_requests}"
        try:
            strict.check_openai_batch(lines, endpoint)
        except strict.Refusal as refusal:
            return refusal.message
        return ""

    def _worked_off(self, line: Json, endpoint: str) -> tuple[Fate, Json]:
        key, body = line["custom_id"], line["body"]
        refusal = self._refusal(endpoint, body)
        fate: Fate = "rejected" if refusal else self.fate(key, body)
        shown: Json = {"id": "batch_req_1", "custom_id": key, "response": None, "error": None}
        self.bodies[key] = body
        if fate in ANSWERED:
            self.paid[key] += 1
            answer = self.responses if endpoint == "/v1/responses" else self.chat
            said = self._said(answer, body, fate)
            shown["response"] = {"status_code": 200, "request_id": "r", "body": said}
        elif fate == "expired":
            shown["error"] = {"code": "batch_expired", "message": "This request could not be executed in time."}
        else:
            status = 400 if fate == "rejected" else 500
            said_no = refusal.error(False) if refusal else {"message": f"{fate}: no answer"}
            response = shapes.error(False, status, said_no)
            shown["response"] = {"status_code": status, "request_id": "r", "body": orjson.loads(response.body)}
        return fate, shown

    def _refusal(self, endpoint: str, body: Json) -> strict.Refusal | None:
        """Why the real provider would refuse a request of a batch; a batch's own headers stand for its requests'."""
        headers = {"authorization": "Bearer k", "x-api-key": "k", "anthropic-version": "2023-06-01"}
        try:
            strict.check(endpoint, headers, orjson.dumps(body), self.takes)
        except strict.Refusal as refusal:
            self.refusals.append(str(refusal))
            return refusal
        return None

    def _said(self, answer: Callable[[Json], Response], body: Json, fate: Fate) -> Json:
        said: Json = orjson.loads(answer({**body, "_fault": fate}).body)
        if fate == "truncated" and "choices" in said:
            said["choices"][0]["finish_reason"] = "length"
        elif fate == "truncated":
            said |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
            said |= {"stop_reason": "max_tokens"} if said.get("type") == "message" else {}
        return said

    def _shown(self, batch: Json) -> Response:
        return shapes.reply({name: value for name, value in batch.items() if not name.startswith("_")})

    def _batch(self, request: Request) -> Json:
        batch: Json | None = self.batches.get(request.path_params["id"])
        if batch is None:
            raise HttpError(404, f"No batch found with id '{request.path_params['id']}'.")
        return batch

    def _look(self, request: Request, raw: bytes) -> Response:
        batch = self._batch(request)
        batch["_looks"] += 1
        if batch["_looks"] > self.polls and "_end" in batch:
            self._end(batch)
        elif batch["status"] == "validating":
            batch["status"] = "in_progress"
        return self._shown(batch)

    def _end(self, batch: Json) -> None:
        batch["status"] = batch.pop("_end")
        done = [(fate, line) for fate, line in batch["_done"] if fate != "missing"]
        good = [line for fate, line in done if fate in ANSWERED]
        bad = [line for fate, line in done if fate not in ANSWERED]
        for name, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                batch[name] = f"file-{len(self.files) + 1}"
                # In another order than that of the requests, as the real ones do.
                self.files[batch[name]] = b"".join(_json(line) for line in reversed(lines))
        batch["request_counts"] = {"total": len(batch["_done"]), "completed": len(good), "failed": len(bad)}

    def _list(self, request: Request, raw: bytes) -> Response:
        page, more = self._paged(request, "after")
        shown = [{name: value for name, value in batch.items() if not name.startswith("_")} for batch in page]
        first, last = (shown[0]["id"], shown[-1]["id"]) if shown else (None, None)
        return shapes.reply({"object": "list", "data": shown, "has_more": more, "first_id": first, "last_id": last})

    def _paged(self, request: Request, cursor: str) -> tuple[list[Json], bool]:
        batches = list(reversed(self.batches.values()))
        after = request.query_params.get(cursor)
        if after:
            batches = batches[[batch["id"] for batch in batches].index(after) + 1 :]
        return batches[: self.page], len(batches) > self.page

    # Anthropic

    def _create_messages(self, request: Request, raw: bytes) -> Response:
        asked = orjson.loads(raw)["requests"]
        try:
            strict.check_anthropic_batch(asked)
        except strict.Refusal as refusal:
            raise HttpError(refusal.status, refusal.message) from None
        if len(asked) > self.most_requests:
            raise HttpError(400, "requests: too many")
        id = f"msgbatch_{len(self.batches) + 1}"
        batch = {"id": id, "_created": time.time(), "_looks": 0, "_ended": False, "_done": []}
        for one in asked:
            key, body = one["custom_id"], one["params"]
            self.bodies[key] = body
            refusal = self._refusal("/v1/messages", body)
            fate: Fate = "rejected" if refusal else self.fate(key, body)
            if fate in ANSWERED:
                self.paid[key] += 1
                result = {"type": "succeeded", "message": self._said(self.messages, body, fate)}
            elif fate == "expired":
                result = {"type": "expired"}
            else:
                status = 400 if fate == "rejected" else 500
                said_no = refusal.error(True) if refusal else {"message": f"{fate}: no answer"}
                said = shapes.error(True, status, said_no)
                result = {"type": "errored", "error": orjson.loads(said.body)}
            batch["_done"].append({"custom_id": key, "result": result})
        self.batches[id] = batch
        self.sizes.append(len(asked))
        self.made.append({name: value for name, value in orjson.loads(raw).items() if name != "requests"})
        return shapes.reply(self._message_batch(batch, request))

    def _message_batch(self, batch: Json, request: Request) -> Json:
        counts = Counter(line["result"]["type"] for line in batch["_done"])
        ended, total = batch["_ended"], len(batch["_done"])
        kinds = ("succeeded", "errored", "canceled", "expired")
        made = datetime.fromtimestamp(batch["_created"], UTC).isoformat()
        return {
            "id": batch["id"],
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "created_at": made,
            "expires_at": made,
            "ended_at": made if ended else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": f"{request.base_url}v1/messages/batches/{batch['id']}/results" if ended else None,
            "request_counts": {"processing": 0 if ended else total, **{kind: ended * counts[kind] for kind in kinds}},
        }

    def _look_messages(self, request: Request, raw: bytes) -> Response:
        batch = self._batch(request)
        self._age(batch)
        return shapes.reply(self._message_batch(batch, request))

    def _age(self, batch: Json) -> None:
        batch["_looks"] += 1
        batch["_ended"] = batch["_ended"] or batch["_looks"] > self.polls

    def _list_messages(self, request: Request, raw: bytes) -> Response:
        page, more = self._paged(request, "after_id")
        for batch in page:
            self._age(batch)
        shown = [self._message_batch(batch, request) for batch in page]
        return shapes.reply(
            {
                "data": shown,
                "has_more": more,
                "first_id": shown[0]["id"] if shown else None,
                "last_id": shown[-1]["id"] if shown else None,
            }
        )

    def _results_messages(self, request: Request, raw: bytes) -> Response:
        lines = self._batch(request)["_done"]
        return Response(
            self._maybe_cut(b"".join(_json(line) for line in reversed(lines))), media_type="application/x-jsonl"
        )


def _json(line: Json) -> bytes:
    # Not escaped, so that characters that some readers take for the end of a line stand in it as they are.
    return orjson.dumps(line) + b"\n"
