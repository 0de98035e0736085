"""A message to a chat, by the address of an incoming webhook that takes what Slack's takes.

Whoever has the address can write into the chat: it is a secret, and never a part of an error, a log or a store. So the
standard library sends it, which logs nothing.
"""

from __future__ import annotations

import html
import http.client
import json
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

NOTIFY_VARIABLE = "COMPACTION_EVAL_NOTIFY"
"""Environment variable with the address, for the processes of nights."""
SECONDS = 10.0
MOST_CHARACTERS = 3_000


def is_webhook(url: str) -> bool:
    """Whether a text can be the address of a webhook."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isascii() and url.isprintable()


def send_message(url: str, text: str) -> str:
    """Send a text; returns why it did not arrive, without the address, or blank."""
    if not is_webhook(url):
        return "expected an http(s) address"
    escaped = html.escape(text[:MOST_CHARACTERS], quote=False)  # or a name such as <!channel> would call everybody
    body = json.dumps({"text": escaped}).encode()
    try:
        request = Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 (http or https, see above)
        with urlopen(request, timeout=SECONDS):  # noqa: S310
            return ""
    except HTTPError as error:
        return f"it answered {error.code}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"it could not be reached ({type(getattr(error, 'reason', error)).__name__})"
