"""What the real providers refuse: the published rules of both interfaces, as a check of one request.

Each rule names where it is published. "OpenAPI" is OpenAI's own description of its interface (openai/openai-openapi,
August 2026), "SDK" the types and docstrings of the packages openai 3.54 and anthropic 2.12, "message" the text of a
refusal as reports to public trackers quote it. Not checked, because no source states it: the most output tokens of a
model, the length of a message in chat completions, how much the schema grammar of Anthropic can hold.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tests.flows.llm.refusals import Refusal, parse_body, refuse_unknown, refuse_unless
from tests.flows.llm.strict_anthropic import SAMPLING, check_anthropic_batch, check_messages, messages_fields
from tests.flows.llm.strict_openai import (
    check_chat,
    check_compact,
    check_embeddings,
    check_openai_batch,
    check_responses,
)

__all__ = ["Refusal", "check", "check_anthropic_batch", "check_openai_batch", "parse_body"]


def check(path: str, headers: Mapping[str, str], raw: bytes, extra: Collection[str] = ()) -> None:
    """Raises Refusal. ``headers`` by names in lower case; ``extra``: fields that this server takes beside its own."""
    if path.startswith("/v1/messages"):
        # Reference of the Messages API: a key, as x-api-key or as bearer; the version; at most 32 MB.
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        refuse_unless(headers.get("x-api-key") or bearer, "x-api-key header is required", status=401)
        version = headers.get("anthropic-version")
        refuse_unless(version in ("2023-06-01", "2026-10-21"), f"anthropic-version: {version!r} is not a valid version")
        refuse_unless(len(raw) <= 32 * 2**20, "Request exceeds the maximum size", status=413)
        body = parse_body(raw)
        betas = headers.get("anthropic-beta", "").split(",")
        if version == "2026-10-21":  # "Versions": removed, a request that sends any is refused for all models
            refuse_unknown(body, {*messages_fields(beta=True), *extra} - {*SAMPLING}, openai=False)
        check_messages(body, betas, extra)
        return
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    refuse_unless(bearer, "You didn't provide an API key.", status=401, code="invalid_api_key")
    body = parse_body(raw)
    {
        "/v1/chat/completions": check_chat,
        "/v1/responses": check_responses,
        "/v1/responses/compact": check_compact,
        "/v1/embeddings": check_embeddings,
    }[path](body, extra)
