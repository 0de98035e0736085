"""The client for a model's provider."""

from __future__ import annotations

from flows.llm.clients.transport import Transport
from flows.llm.settings import ModelSettings
from flows.support.errors import UsageError, install_extra


def make_transport(settings: ModelSettings) -> Transport:
    """A new client for all models at the base URL of these settings, with the key from the environment.

    Each takes a second to import, so neither is imported before the first call. Raises UsageError when the provider's
    package is not installed, and for ``file``, which is never called.
    """
    if settings.is_by_file:
        raise UsageError(f"{settings.spec}: run and backfill alone ask by file; name a model that can be called")
    if settings.provider == "openai":
        from flows.llm.clients.openai_client import OpenAITransport  # noqa: PLC0415

        return OpenAITransport(settings)
    try:
        from flows.llm.clients.anthropic_client import AnthropicTransport  # noqa: PLC0415 (an extra, and slow to import)
    except ModuleNotFoundError as error:
        if error.name != "anthropic":
            raise
        raise UsageError(
            f"model {settings.spec!r}: the package anthropic is not installed; {install_extra('anthropic')}"
        ) from None
    return AnthropicTransport(settings)
