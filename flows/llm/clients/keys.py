"""The key that a request carries to its provider."""

from __future__ import annotations

from flows.llm.settings import ModelSettings

NO_KEY = "none"
"""Sent to servers that need no key; the SDKs want something."""


class Key:
    """The key of a provider, or the reason why there is none to send."""

    def __init__(self, settings: ModelSettings) -> None:
        key = (settings.api_key() or "").strip()
        self.problem = ""
        if not key and settings.needs_key:
            self.problem = f"{settings.key_name} is not set: {settings.base_url} needs a key"
        elif not (key.isascii() and key.isprintable()):
            self.problem = f"{settings.key_name} holds characters that no header can carry"
        self.sent = NO_KEY if self.problem or not key else key
        self.secrets = (key,) if key else ()
