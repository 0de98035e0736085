"""The batch interface of a model's provider, with the key from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from compaction.model import ModelRequest
from flows.llm.batch.protocol import BatchClient
from flows.llm.clients.keys import Key
from flows.llm.clients.transport import Reply
from flows.llm.settings import ModelSettings
from flows.support.errors import UsageError, install_extra


def batch_client(settings: ModelSettings) -> BatchClient:
    """The client for all models at one base URL.

    Raises UsageError when the provider's key is not set, or its package is not installed.
    """
    if settings.is_by_file:
        raise UsageError(f"{settings.spec} takes no --batch: its questions wait in a file anyway")
    key = Key(settings)
    if key.problem:
        raise UsageError(f"{settings.spec}: {key.problem}")
    if settings.provider == "anthropic":
        if find_spec("anthropic") is None:
            raise UsageError(f"{settings.spec}: the package anthropic is not installed; {install_extra('anthropic')}")
        import anthropic  # noqa: PLC0415 (an extra)

        from flows.llm.batch.anthropic_batches import AnthropicBatches  # noqa: PLC0415 (the same)
        from flows.llm.clients.anthropic_client import request_headers  # noqa: PLC0415 (imports it)

        return AnthropicBatches(
            anthropic.Anthropic(
                api_key=key.sent,
                base_url=settings.base_url.removesuffix("/v1"),
                default_headers=request_headers(key.sent),
                # A redirect would take the prompts, and with some servers the key, to an address that nobody named.
                http_client=anthropic.DefaultHttpxClient(follow_redirects=False),
            ),
            key.secrets,
        )
    import openai  # noqa: PLC0415 (it takes a second, and most commands call nothing)

    from flows.llm.batch.openai_batches import OpenAIBatches  # noqa: PLC0415 (imports it)

    client = openai.OpenAI(
        api_key=key.sent, base_url=settings.base_url, http_client=openai.DefaultHttpxClient(follow_redirects=False)
    )
    return OpenAIBatches(client, key.secrets)


def read_reply(settings: ModelSettings, request: ModelRequest, body: Mapping[str, Any]) -> Reply:
    """The answer in a provider's response, looked at as the live client does; of the request its form counts only.

    Raises CallFault.
    """
    if settings.provider == "anthropic":
        from flows.llm.clients import anthropic_client  # noqa: PLC0415 (imports an extra)

        return anthropic_client.read_reply(settings, body, request)
    from flows.llm.clients import openai_client  # noqa: PLC0415 (imports openai, as above)

    return openai_client.read_reply(settings, body, request)
