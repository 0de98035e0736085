"""A provider on this machine: OpenAI's and Anthropic's interfaces over a real socket, with faults on request.

``MockProvider()`` is a context manager that serves from a thread; ``serving()`` does it from a process of its own, for
benchmarks. A handler decides what is answered. ``faults`` gives a rate to each kind of fault; which request meets which
one depends on the seed, the request's bytes and how often they came, not on the order of arrival. ``script`` is a queue
of faults (None: none) for the next requests. What came in is in ``requests``, what was done to it in ``counts``.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.flows.llm import shapes, strict
from tests.flows.llm.prompt_caches import PromptCaches, tokens_of
from tests.flows.llm.shapes import Json

FAULTS = (
    "429",
    "429_retry_after",
    "500",
    "503",
    "hang",
    "cut_body",
    "invalid_json",
    "schema_violation",
    "empty",
    "refusal",
    "wrong_model",
    "slow_drip",
    "reset",
)
"""Kinds of faults. ``hang`` never answers, ``slow_drip`` sends one byte every 0.2 s."""

Handler = Callable[[Json], "str | Response"]


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes
    at: float
    """``time.monotonic()`` of this machine, when all of it was there."""
    fault: str | None = None

    @property
    def body(self) -> Json:
        """The request's JSON; empty when it has none."""
        return orjson.loads(self.raw) if self.raw.startswith(b"{") else {}


class HttpError(Exception):
    """Raised by a handler: an error response in the shape of the interface that was asked."""

    def __init__(
        self, status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.error = {"message": message, **more}


@dataclass
class MockProvider:
    """A provider that says what a handler tells it to. Everything but the port may be changed while it runs."""

    handler: Handler | None = None
    """Gets the request's JSON and returns the text, or a whole response; may raise HttpError. Without one: a text that
    names the request, or the simplest value that its JSON schema takes."""
    delay: float = 0.0
    """Seconds before each answer."""
    faults: Mapping[str, float] = field(default_factory=dict)
    """Rate of each kind of fault, 0 to 1, together at most 1."""
    seed: int = 0
    retry_after: str = "0.05"
    """The header's value for ``429_retry_after``."""
    refuses: Sequence[str] = ()
    """Parameters of the request (``response_format``, ``response_format.json_schema``) that are answered with 400."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Added to every response that is no fault."""
    model: str | None = None
    """What the responses say the model is; None for the one that was asked."""
    keep: bool = True
    """Whether ``requests`` is filled."""
    polls: int = 1
    """How often a batch is looked at before it has ended."""
    strict: bool = True
    """Whether a request that the real providers refuse is refused (``strict.check``)."""
    caches: PromptCaches | None = None
    """Keeps beginnings of prompts and counts their tokens in ``usage``."""
    prefix: str = "/v1"
    """Path of OpenAI's interface; other providers have others."""
    takes: Sequence[str] = ("response_format", "seed")
    """Parameters that it takes beside the providers' own, as compatible servers do: the client sends them to these."""

    def __post_init__(self) -> None:
        self.requests: list[Received] = []
        self.counts: Counter[str] = Counter()
        """By fault; ``none`` for requests that were answered."""
        self.script: deque[str | None] = deque()
        self.refusals: list[str] = []
        """What ``strict`` refused, in the words of the responses."""
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Json] = {}
        self.most_at_once = 0
        self._at_once = 0
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def openai_url(self) -> str:
        """Base URL for ``openai:`` models."""
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    @property
    def anthropic_url(self) -> str:
        """Base URL for ``anthropic:`` models."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def faults_made(self) -> dict[str, int]:
        """How many faults of each kind there were."""
        return {kind: count for kind, count in self.counts.items() if kind != "none"}

    def forget(self) -> None:
        """Empty ``requests``, ``counts`` and what faults depend on."""
        self.requests.clear()
        self.counts.clear()
        self._seen.clear()

    # serving

    def make_server(self) -> uvicorn.Server:
        """The server; ``run(sockets=[…])`` serves."""
        config = uvicorn.Config(
            self,
            log_level="critical",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            timeout_keep_alive=60,
            backlog=2048,
        )
        return uvicorn.Server(config)

    def run(self) -> None:
        """Serve until the process ends."""
        self._app = self._make_app()
        self._socket.listen(2048)
        self.make_server().run(sockets=[self._socket])

    def __enter__(self) -> MockProvider:
        self._app = self._make_app()
        self._socket.listen(2048)
        self._server = self.make_server()
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.002)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._socket.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The application, with the connection at hand so that it can be reset."""
        scope["transport"] = send.__self__.transport
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await self._app(scope, receive, send)
        finally:
            with self._lock:
                self._at_once -= 1

    def _make_app(self) -> Starlette:
        def route(path: str, answer: Callable[[MockProvider, Json], Response]) -> Route:
            async def endpoint(request: Request) -> Response:
                return await self._handled(request, answer)

            return Route(path, endpoint, methods=["POST"])

        return Starlette(
            routes=[
                route(f"{self.prefix}/chat/completions", MockProvider.chat),
                route(f"{self.prefix}/responses", MockProvider.responses),
                route(f"{self.prefix}/responses/compact", MockProvider.compact),
                route(f"{self.prefix}/embeddings", MockProvider.embeddings),
                route("/v1/messages", MockProvider.messages),
            ]
        )

    # answering

    async def _handled(self, request: Request, answer: Callable[[MockProvider, Json], Response]) -> Response:
        raw = await request.body()
        fault = self.receive(request, raw)
        caches = self.caches
        looked_up = caches and caches.look_up(request.url.path, orjson.loads(raw))
        if self.delay:
            await asyncio.sleep(self.delay)
        response = await self._spoilt(request, raw, fault, answer)
        if caches is None or not looked_up or fault is not None or response.status_code != 200:
            return response
        body = orjson.loads(bytes(response.body))
        caches.answer(request.url.path, body["usage"], *looked_up, tokens_of(orjson.loads(raw)))
        return shapes.reply(body)

    def receive(self, request: Request, raw: bytes) -> str | None:
        """Note a request; the fault that it meets."""
        with self._lock:
            fault = self._fault(raw)
            self.counts[fault or "none"] += 1
        if self.keep:
            headers = {name.lower(): value for name, value in request.headers.items()}
            self.requests.append(Received(request.method, request.url.path, headers, raw, time.monotonic(), fault))
        return fault

    def _fault(self, raw: bytes) -> str | None:
        if self.script:
            return self.script.popleft()
        if not self.faults:
            return None
        digest = hashlib.sha256(raw).hexdigest()
        self._seen[digest] += 1
        drawn = random.Random(f"{self.seed} {digest} {self._seen[digest]}").random()
        for kind, rate in self.faults.items():
            drawn -= rate
            if drawn < 0:
                return kind
        return None

    async def _spoilt(
        self, request: Request, raw: bytes, fault: str | None, answer: Callable[[MockProvider, Json], Response]
    ) -> Response:
        anthropic = request.url.path.startswith("/v1/messages")
        if fault in ("429", "429_retry_after", "500", "503"):
            headers = {"retry-after": self.retry_after} if fault == "429_retry_after" else {}
            return shapes.error(anthropic, int(fault[:3]), {"message": f"made to fail with {fault[:3]}"}, headers)
        if fault == "hang":
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(request.receive(), 600)  # the next message is that the client has gone
            return Response(status_code=500)
        if fault == "reset":
            return self._reset(request)
        try:
            if self.strict:
                headers = {name.lower(): value for name, value in request.headers.items()}
                strict.check(request.url.path.replace(self.prefix, "/v1", 1), headers, raw, self.takes)
            body = orjson.loads(raw)
            response = self.refusal_of(anthropic, body) or answer(self, {**body, "_fault": fault})
        except strict.Refusal as refusal:
            self.refusals.append(str(refusal))
            return shapes.error(anthropic, refusal.status, refusal.error(anthropic))
        except HttpError as error:
            return shapes.error(anthropic, error.status, error.error, error.headers)
        content = bytes(response.body)
        if fault == "invalid_json":
            return Response(content[: len(content) // 2], media_type="application/json")
        if fault == "cut_body":
            return _cut(content)
        if fault == "slow_drip":
            return StreamingResponse(_drip(content), headers={"content-length": str(len(content))})
        response.headers.update(self.headers)
        return response

    def _reset(self, request: Request) -> Response:
        transport = request.scope["transport"]
        # A close with something lingering for 0 seconds is a reset on the wire, not an orderly end.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        return Response()

    def refusal_of(self, anthropic: bool, body: Json) -> Response | None:
        """The response to a request with a parameter that is refused."""
        for name in self.refuses:
            found: Any = body
            *above, last = name.split(".")
            for step in above:
                found = (found or {}).get(step) if isinstance(found, dict) else None
            if (isinstance(found, dict) and last in found) or (above and found and found == last):
                error = {
                    "message": f"Unsupported parameter: '{name}' is not supported with this model.",
                    "type": "invalid_request_error",
                    "code": "unsupported_parameter",
                    "param": name,
                }
                return shapes.error(anthropic, 400, error)
        return None

    def text(self, body: Json) -> str | Response:
        """What the handler says, or what the fault makes of it."""
        fault = body.pop("_fault", None)
        if fault == "empty":
            return ""
        if fault == "schema_violation":
            return '{"nothing": ["that", "was", "asked", "for"]}'
        return self.handler(body) if self.handler else shapes.default_text(body)

    def _answer(self, body: Json, shape: Callable[[Json, str, str, str | None], Json]) -> Response:
        fault = body.get("_fault")
        said = self.text(body)
        if isinstance(said, Response):
            return said
        model = "another-model" if fault == "wrong_model" else self.model or body["model"]
        return shapes.reply(shape(body, said, model, fault))

    def chat(self, body: Json) -> Response:
        """``/v1/chat/completions``."""
        return self._answer(body, shapes.chat)

    def responses(self, body: Json) -> Response:
        """``/v1/responses``."""
        return self._answer(body, shapes.responses)

    def messages(self, body: Json) -> Response:
        """``/v1/messages``, compactions and edits included."""
        return self._answer(body, shapes.messages)

    def embeddings(self, body: Json) -> Response:
        """``/v1/embeddings``."""
        return shapes.reply(shapes.embeddings(body, self.model or body["model"]))

    def compact(self, body: Json) -> Response:
        """``/v1/responses/compact``."""
        return self._answer(body, shapes.compact)


def _cut(content: bytes) -> Response:
    async def half() -> AsyncIterator[bytes]:
        yield content[: len(content) // 2]

    return StreamingResponse(half(), headers={"content-length": str(len(content))}, media_type="application/json")


async def _drip(content: bytes) -> AsyncIterator[bytes]:
    for position in range(len(content)):
        yield content[position : position + 1]
        await asyncio.sleep(0.2)


@contextlib.contextmanager
def serving(delay: float = 0.0, text: str | None = None) -> Iterator[str]:
    """A provider in a process of its own, without faults and without a record; gives its OpenAI base URL.

    ``text`` is what it always answers.
    """
    command = [sys.executable, "-m", "tests.flows.llm.server", json.dumps({"delay": delay, "text": text})]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(10)


def main() -> None:
    """Serve with the settings of the first argument; the port goes to the standard output."""
    given = json.loads(sys.argv[1])
    text = given["text"]
    provider = MockProvider((lambda _: text) if text is not None else None, delay=given["delay"], keep=False)
    print(provider.port, flush=True)
    provider.run()


if __name__ == "__main__":
    main()
