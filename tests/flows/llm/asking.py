"""Asking the provider on this machine through the real clients."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from compaction import Message
from compaction.model import ModelRequest, NativeRequest
from flows.llm.clients.factory import make_transport
from flows.llm.clients.transport import CallFault, Reply
from flows.llm.settings import ModelSettings, make_settings
from tests.flows.llm.server import MockProvider

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 5}, "why": {"type": "string"}},
    "required": ["score", "why"],
    "additionalProperties": False,
}


def settings_for(provider: MockProvider, spec: str = "openai:wren-2", **given: Any) -> ModelSettings:
    """Settings of a model that this provider serves."""
    url = provider.anthropic_url if spec.startswith("anthropic:") else provider.openai_url
    return make_settings(spec, {"base_url": url, "timeout": 20.0, **given}, "test")


def make_request(*texts: str, max_tokens: int = 50, **more: Any) -> ModelRequest:
    """A request with a system message and these texts of the user."""
    said = texts or ("Which file was changed?",)
    messages = (Message("system", "Answer in few words."), *(Message("user", text) for text in said))
    return ModelRequest(messages, max_tokens, **more)


def answers(
    settings: ModelSettings, requests: Sequence[ModelRequest | NativeRequest], *, together: bool = False
) -> list[Reply | CallFault]:
    """What becomes of these requests over one client, one after the other or all at once."""

    async def run() -> list[Reply | CallFault]:
        transport = make_transport(settings)

        async def one(request: ModelRequest | NativeRequest) -> Reply | CallFault:
            try:
                if isinstance(request, NativeRequest):
                    return await transport.send_native(settings, request)
                return await transport.send(settings, request)
            except CallFault as fault:
                return fault

        try:
            if together:
                return await asyncio.gather(*map(one, requests))
            return [await one(request) for request in requests]
        finally:
            await transport.close()

    return asyncio.run(run())


def answer(settings: ModelSettings, request: ModelRequest | NativeRequest | None = None) -> Reply:
    """The reply to one request; its fault is raised."""
    found = answers(settings, [request or make_request()])[0]
    if isinstance(found, CallFault):
        raise found
    return found


def fault(settings: ModelSettings, request: ModelRequest | NativeRequest | None = None) -> CallFault:
    """The fault of one request."""
    found = answers(settings, [request or make_request()])[0]
    assert isinstance(found, CallFault), found
    return found
