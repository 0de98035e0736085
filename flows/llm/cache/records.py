"""Records of the call cache: an answer as bytes under its key, and one row of the journal of calls."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from compaction.model import Completion
from flows.llm.clients.transport import TokenUse

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSED_FROM = 4_096
"""Bytes from which an answer is compressed. A verdict of 1 kB shrinks to 0.6 kB, but its lookup takes twice as long."""


@dataclass(frozen=True, slots=True)
class StoredCall:
    """The stored answer of a call."""

    text: str
    model: str
    """As the provider named it."""
    use: TokenUse
    cost_usd: float | None
    """US dollars when the call was made; None when the price was not known."""
    seconds: float
    """Wall time of the call, its retries included."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """The whole response; of native compactions only."""

    def completion(self, *, cached: bool) -> Completion:
        """The answer as the caller gets it; ``cached``: nothing was paid for it now."""
        read, written = self.use.input_tokens, self.use.output_tokens
        return Completion(self.text, self.model, read, written, self.cost_usd, cached=cached, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One row of the later table ``calls``: one try that was sent, or one use of a cached answer."""

    call_id: str
    """Unique: a uuid4 as hex."""
    run_id: str
    stage: str
    item_id: str
    model: str
    """Its spec."""
    key: str
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    """US dollars; None when not known. Of a cached use what the answer had cost, which is what the cache saved."""
    cached: bool
    seconds: float
    status: str
    """``done``, a FaultKind, or ``sent`` for a call of a killed run that nobody read: its figures are estimates."""
    started_at: str
    """ISO, UTC."""
    error: str | None = None
    cached_input_tokens: int | None = None
    """Of the input, what the provider served from its prompt cache."""
    cache_write_tokens: int | None = None
    """Of the input, what the provider wrote into its prompt cache."""


_NAMES = tuple(one.name for one in fields(JournalEntry))
_ERROR = _NAMES.index("error")
_values = attrgetter(*_NAMES)
_tokens = attrgetter(*(one.name for one in fields(TokenUse)))


def as_row(entry: JournalEntry) -> tuple[Any, ...]:
    """The values of an entry in the order of its fields."""
    values: tuple[Any, ...] = _values(entry)
    # What a server says may hold half a surrogate pair, which is no text for SQLite.
    error = entry.error and entry.error.encode("utf-8", "replace").decode()
    return (*values[:_ERROR], error, *values[_ERROR + 1 :])


def from_row(row: tuple[Any, ...]) -> JournalEntry:
    """The entry whose values these are."""
    values = dict(zip(_NAMES, row, strict=True))
    return JournalEntry(**{**values, "cached": bool(values["cached"])})


def pack(key: str, call: StoredCall) -> bytes:
    """An answer as bytes: form, check sum, content."""
    values = [call.text, call.model, _tokens(call.use), call.cost_usd, call.seconds, dict(call.body)]
    # A model's text may hold half a surrogate pair, which is no UTF-8.
    content = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    form = b"j"
    if len(content) >= COMPRESSED_FROM:
        form, content = b"z", zstd.compress(content)
    return form + _checksum(key, form, content) + content


def unpack(key: str, packed: bytes) -> StoredCall | None:
    """The answer; None for bytes that are not what was written under this key."""
    form, content = packed[:1], packed[5:]
    if packed[1:5] != _checksum(key, form, content):
        return None
    if form == b"z":
        content = zstd.decompress(content)
    text, model, use, cost, seconds, body = json.loads(content.decode("utf-8", "surrogatepass"))
    return StoredCall(text, model, TokenUse(*use), cost, seconds, body)


def _checksum(key: str, form: bytes, content: bytes) -> bytes:
    return zlib.crc32(content, zlib.crc32(form + key.encode())).to_bytes(4, "big")
