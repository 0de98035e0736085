"""The key of a call: a hash over everything that can change its output, and over nothing else.

Two calls with one key are the same call: the second is served from the cache, in this run and in every later one.
Prices, timeouts, concurrency, the item that a call is made for and a request's ``check`` are no part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson

from compaction.model import ModelRequest, NativeRequest
from flows.llm.clients.requests import native_body, sent_turns, token_limit
from flows.llm.reasoning_room import reasoning_room
from flows.llm.settings import ModelSettings

KEY_FORMAT = 1
"""Part of every key: raised when the same parts are sent in another way, so that old answers are not taken for new."""


def call_key(settings: ModelSettings, request: ModelRequest | NativeRequest, replicate: int | None = None) -> str:
    """SHA-256, as hex digits, of a call.

    It covers ``settings.identity``, the replicate, and of a request its messages as they are sent (roles, texts, opaque
    items, calls with their results), the token limit and the schema. Of a native request it covers path, body and
    betas, and of the settings only provider, base URL and model: nothing else of them is sent. The order of names
    within a schema or a body counts: models write the fields of an answer in the order of its schema. ``replicate``
    None stands for the request's own (a native request has none: 0).
    """
    texts: list[bytes] = []
    if isinstance(request, ModelRequest):
        # Texts follow as they are, with their lengths before: to escape a long one takes longer than to hash it.
        said: list[list[Any]] = []
        for one in sent_turns(settings, request.messages):
            texts.append(one.text.encode("utf-8", "surrogatepass"))
            said.append([one.role, len(texts[-1]), *([one.opaque] if one.opaque else ())])
            for call, result in one.calls:
                texts.append(result.text.encode("utf-8", "surrogatepass"))
                said.append([call.id, call.name, call.arguments, result.is_error, len(texts[-1])])
        limit = token_limit(settings, request) - reasoning_room(settings)
        asked: list[Any] = ["complete", said, limit, request.schema]
        number = request.replicate if replicate is None else replicate
        model = _identity(settings)
    else:
        asked = ["native", request.path, native_body(request), request.betas]
        number = replicate or 0
        model = _dump([settings.provider, settings.base_url, settings.model])
    head = model + _dump([KEY_FORMAT, number, *asked])
    digest = hashlib.sha256(head)
    for text in texts:
        digest.update(text)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _identity(settings: ModelSettings) -> bytes:
    """The identity as JSON; 1.0 is written as 1, since settings that are equal must have one key."""
    values = settings.identity.items()
    return _dump(sorted([name, int(v) if isinstance(v, float) and v.is_integer() else v] for name, v in values))


def _dump(parts: Sequence[Any]) -> bytes:
    try:
        return orjson.dumps(parts, default=dict)
    except TypeError:  # half a surrogate pair in a text, or a number of more than 64 bits
        return json.dumps(parts, separators=(",", ":"), default=dict).encode()
