"""One request over a provider's SDK: JSON in, JSON out, and everything else a CallFault.

The SDKs' clients hold the connections, the key and the headers; their models of requests and responses are passed by,
which is what costs most in them. Both take the same HTTP client, the one on aiohttp: half the CPU of the default one,
and no slower with many calls in flight.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx2
import orjson

from flows.llm.clients.faults import clean_text, read_error, status_fault
from flows.llm.clients.keys import Key
from flows.llm.clients.transport import CallFault, TokenUse
from flows.llm.retry_after import Raw

_CONNECT = 20.0
"""Seconds to wait for a connection. Ours: a name and a handshake over a bad line, and no longer."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response of status 200 with a JSON object."""

    body: dict[str, Any]
    headers: Raw


class Poster:
    """Sends requests over a client of one of the SDKs."""

    def __init__(self, client: Any, key: Key, errors: tuple[type[Exception], type[Exception]], **options: Any) -> None:
        """``errors`` are the SDK's classes for a response with an error status and for no response."""
        self.client = client
        self.secrets = key.secrets
        self._key = key
        self._status_error, self._connection_error = errors
        self._options = options
        self._timeouts: dict[float, httpx2.Timeout] = {}

    async def post(
        self, path: str, body: Mapping[str, Any], seconds: float, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """The answer to one request that may take this many seconds. Raises CallFault."""
        if self._key.problem:
            raise CallFault("unusable", self._key.problem)
        options = {**self._options, "timeout": self._timeout(seconds)}
        if headers:
            options["headers"] = headers
        try:
            async with asyncio.timeout(seconds):
                response = await self.client.post(path, cast_to=httpx2.Response, content=_bytes(body), options=options)
        except TimeoutError:
            raise CallFault("timeout", f"no whole answer within {seconds:g} s") from None
        except self._status_error as error:
            failed: httpx2.Response = error.response  # type: ignore[attr-defined]
            raise status_fault(
                read_error(failed.status_code, failed.content), failed.headers.raw, self.secrets
            ) from None
        except (self._connection_error, aiohttp.ClientError) as error:
            raise connection_fault(error, self.secrets) from None
        return HttpResponse(self._object(response), response.headers.raw)

    def _timeout(self, seconds: float) -> httpx2.Timeout:
        found = self._timeouts.get(seconds)
        if found is None:
            found = self._timeouts[seconds] = httpx2.Timeout(seconds, connect=min(_CONNECT, seconds))
        return found

    def _object(self, response: httpx2.Response) -> dict[str, Any]:
        try:
            body = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            kind = clean_text(response.headers.get("content-type", "no type"), self.secrets)
            size = len(response.content)
            raise CallFault("malformed", f"the response is no JSON ({size} bytes of {kind})") from None
        if not isinstance(body, dict):
            raise CallFault("malformed", f"the response is a JSON {type(body).__name__}, not an object")
        return body

    async def close(self) -> None:
        """Give the connections back."""
        await self.client.close()


def _bytes(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # Half a surrogate pair from a cut log: no JSON can carry it. A wrong type in the body fails here again.
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def connection_fault(error: BaseException, keys: Sequence[str] = ()) -> CallFault:
    """The fault of a try without a whole response. The clients name some wrongly, so the causes are looked at."""
    chain = list(_causes(error))
    reason = clean_text(f"{type(chain[-1]).__name__}: {chain[-1]}", keys)
    for cause in chain:
        if isinstance(cause, aiohttp.ClientPayloadError | aiohttp.ClientResponseError | httpx2.DecodingError):
            return CallFault("malformed", f"the response was cut or broken ({reason})")
        if isinstance(cause, aiohttp.ServerTimeoutError):
            return CallFault("timeout", "nothing came for the whole time of a try")
        if isinstance(cause, aiohttp.ClientConnectorError):
            return CallFault("connection", f"no connection ({reason})", use=TokenUse())  # so nothing was sent
        if isinstance(cause, aiohttp.ClientConnectionError):
            return CallFault("connection", f"no connection, or it broke ({reason})")
        if isinstance(cause, aiohttp.InvalidURL | httpx2.UnsupportedProtocol | httpx2.InvalidURL):
            return CallFault("unusable", f"the address cannot be used ({reason})")
    if any(isinstance(cause, httpx2.TimeoutException) for cause in chain):
        return CallFault("timeout", "nothing came for the whole time of a try")
    if any(isinstance(cause, httpx2.RemoteProtocolError) for cause in chain):
        return CallFault("malformed", f"the response was cut or broken ({reason})")
    return CallFault("connection", f"no connection, or it broke ({reason})")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
