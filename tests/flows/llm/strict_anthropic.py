"""The published rules of Anthropic's interface (``strict`` says where they are from)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

from tests.flows.llm.refusals import STRICT_KEYWORDS, WORD, refuse_unknown, refuse_unless, schemas_in
from tests.flows.llm.shapes import Json

SAMPLING = ("temperature", "top_p", "top_k")
"""The SDK has dropped them from its types; models before 4.7 still take them."""


@cache
def messages_fields(*, beta: bool) -> frozenset[str]:
    """Fields of a request to Anthropic; with those of its beta interface. The package is an extra."""
    from anthropic.types import message_create_params as plain
    from anthropic.types.beta import message_create_params as of_beta

    fields = {*plain.MessageCreateParamsBase.__annotations__, *SAMPLING, "stream"}
    return frozenset(fields | (set(of_beta.MessageCreateParamsBase.__annotations__) - {"betas"} if beta else set()))


_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)")


def version_of(model: str) -> tuple[int, int] | None:
    """Generation of a Claude model; None for any other name."""
    found = _CLAUDE.match(model)
    return (int(found[1]), int(found[2] or 0)) if found else None


def check_messages(body: Json, betas: Collection[str] = (), extra: Collection[str] = ()) -> None:
    """``/v1/messages``; a name that is no Claude's has the rules of the newest models, but for sampling."""
    fields = {*messages_fields(beta=any(betas)), *extra}
    refuse_unknown(body, fields, openai=False)
    _features(body, betas)
    model = body.get("model")
    refuse_unless(isinstance(model, str) and model, "model: Field required")
    version = version_of(str(model))
    limit = body.get("max_tokens")
    refuse_unless(isinstance(limit, int) and limit >= 1, "max_tokens: Field required, at least 1")
    _claude_sampling(body, version)
    system = body.get("system", "x")
    # Message "system: text content blocks must be non-empty".
    refuse_unless(
        system.strip() if isinstance(system, str) else system, "system: text content blocks must be non-empty"
    )
    for sequence in body.get("stop_sequences") or ():
        # Message "stop_sequences: each stop sequence must contain non-whitespace".
        refuse_unless(sequence.strip(), "stop_sequences: each stop sequence must contain non-whitespace")
    # Message of the refusal; guide to prompt caching: "You can define up to 4 cache breakpoints".
    marks = sum('"cache_control":' in part for part in json.dumps(body).split("{"))
    refuse_unless(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    names = _tools(body)
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    # "What's new in Claude Opus 5.5": forced tool use is not supported, nor is it on Fable 5.1.
    refuse_unless(not forced or version is None or version < (5, 1), "tool_choice: forced tool use is not supported")
    _conversation(body.get("messages"), names, version)
    if form := (body.get("output_config") or {}).get("format"):
        refuse_unless(
            set(form) == {"type", "schema"} and form["type"] == "json_schema", "output_config.format: wrong form"
        )
        check_claude_schema(form["schema"])


def _features(body: Json, betas: Collection[str]) -> None:
    """SDK: fields of a beta want its header."""
    edits = {edit["type"] for edit in (body.get("context_management") or {}).get("edits", ())}
    refuse_unless(
        "compaction" not in body or "compact-2026-09-04" in betas, "compaction: Extra inputs are not permitted"
    )
    needed = {"compact_20260112": "compact-2026-01-12", "clear_tool_uses_20250919": "context-management-2025-06-27"}
    for edit in edits:
        refuse_unless(needed[edit] in betas, f"context_management.edits: {edit} is not available without its beta")


def _claude_sampling(body: Json, version: tuple[int, int] | None) -> None:
    """Reference: ranges. Migration guide to Opus 4.7: no sampling from there on. Message "cannot both be specified"."""
    for name in ("temperature", "top_p"):
        refuse_unless(0 <= body.get(name, 0) <= 1, f"{name}: range: 0..1")
        refuse_unless(
            name not in body or version is None or version < (4, 7), f"`{name}` is deprecated for this model."
        )
    both = {"temperature", "top_p"} <= set(body)
    refuse_unless(
        not both or version is None or version < (4, 1),
        "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    )
    effort = (body.get("output_config") or {}).get("effort")
    refuse_unless(effort in (None, "low", "medium", "high", "xhigh", "max"), f"output_config.effort: {effort}")
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        refuse_unless(version is None or version < (4, 7), "thinking.type.enabled is not supported for this model")
        refuse_unless(1024 <= thinking["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens: out of range")


def _tools(body: Json) -> set[str]:
    """Reference: names of tools; message "Property keys should match pattern"."""
    tools = body.get("tools") or []
    refuse_unless("tool_choice" not in body or tools, "tool_choice: only allowed with tools")
    for number, tool in enumerate(tools):
        fits = WORD.fullmatch(tool["name"]) and len(tool["name"]) <= 128
        refuse_unless(fits, f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        refuse_unless(
            tool["input_schema"].get("type") == "object", f"tools.{number}.custom.input_schema.type: Field required"
        )
        for name in tool["input_schema"].get("properties", {}):
            refuse_unless(
                re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name), f"tools.{number}: Property keys should match pattern"
            )
    names = [tool["name"] for tool in tools]
    refuse_unless(len(set(names)) == len(names), "tools: Tool names must be unique.")
    choice = body.get("tool_choice") or {}
    refuse_unless(choice.get("type") in (None, "auto", "any", "none", "tool"), "tool_choice: wrong type")
    refuse_unless(
        choice.get("type") != "tool" or choice.get("name") in names, "tool_choice: Tool not found in provided tools"
    )
    return set(names)


def _conversation(messages: Any, tools: set[str], version: tuple[int, int] | None) -> None:
    """Guide to tool use, reference, and the messages that are quoted here."""
    refuse_unless(
        isinstance(messages, list) and 0 < len(messages) <= 100_000, "messages: at least one message is required"
    )
    turns: list[tuple[str, list[Json]]] = []
    for number, message in enumerate(messages):
        refuse_unknown(message, {"role", "content"}, f"messages.{number}.", openai=False)
        role = message.get("role")
        refuse_unless(role in ("user", "assistant"), f'messages: Unexpected role "{role}".')
        blocks = _blocks(message.get("content"), f"messages.{number}", tools)
        if turns and turns[-1][0] == role:  # "Consecutive turns … will be combined into a single turn"
            turns[-1][1].extend(blocks)
        else:
            turns.append((str(role), blocks))
    # A compaction block is sent back first (SDK: BetaCompactionConfigParam).
    first = turns[0][0] == "user" or turns[0][1][0]["type"] == "compaction"
    refuse_unless(first, 'messages: first message must use the "user" role')
    seen: set[str] = set()
    waiting: list[str] = []
    for number, (role, blocks) in enumerate(turns):
        waiting = _paired(role, blocks, waiting, seen, f"messages.{number}")
    refuse_unless(not waiting, f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}.")
    role, blocks = turns[-1]
    if role == "assistant":
        refuse_unless(
            version is not None and version < (4, 6),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        )
        text = blocks[-1].get("text", "")
        refuse_unless(text == text.rstrip(), "messages: final assistant content cannot end with trailing whitespace")


def _paired(role: str, blocks: Sequence[Json], waiting: Sequence[str], seen: set[str], place: str) -> list[str]:
    """Ids of the calls that wait for a result after a turn."""
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    for id in results:
        refuse_unless(
            id in waiting,
            f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
        )
    refuse_unless(len(set(results)) == len(results), f"{place}: each tool_use must have a single result")
    left = [id for id in waiting if id not in results]
    refuse_unless(
        not left, f"{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {left}."
    )
    # Guide: "the tool_result blocks must come FIRST in the content array. Any text must come AFTER".
    kinds = [block["type"] == "tool_result" for block in blocks]
    refuse_unless(kinds == sorted(kinds, reverse=True), f"{place}: tool_result blocks must come first")
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    refuse_unless(not uses or role == "assistant", f"{place}: `tool_use` blocks can only be in `assistant` messages")
    refuse_unless(len(set(uses)) == len(uses) and not seen & set(uses), "messages: `tool_use` ids must be unique")
    seen.update(uses)
    return uses


def _blocks(content: Any, place: str, tools: set[str]) -> list[Json]:
    """Content as blocks, each of them checked."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    refuse_unless(isinstance(content, list) and content, f"{place}: all messages must have non-empty content")
    for number, block in enumerate(content):
        at, kind = f"{place}.content.{number}", block.get("type")
        if kind == "text":
            refuse_unless(block["text"], "messages: text content blocks must be non-empty")
            refuse_unless(block["text"].strip(), "messages: text content blocks must contain non-whitespace text")
        elif kind == "tool_use":
            refuse_unknown(block, {"type", "id", "name", "input"}, f"{at}.", openai=False)
            refuse_unless(
                WORD.fullmatch(block["id"]), f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            )
            refuse_unless(WORD.fullmatch(block["name"]) and len(block["name"]) <= 200, f"{at}.tool_use.name: pattern")
            refuse_unless(isinstance(block["input"], dict), f"{at}.tool_use.input: Input should be a valid dictionary")
            # Message "Requests which include `tool_use` or `tool_result` blocks must define tools".
            refuse_unless(
                block["name"] in tools, "Requests which include `tool_use` or `tool_result` blocks must define tools"
            )
        elif kind == "tool_result":
            refuse_unknown(block, {"type", "tool_use_id", "content", "is_error"}, f"{at}.", openai=False)
            id, said = block["tool_use_id"], block.get("content", "")
            refuse_unless(WORD.fullmatch(id), f"{at}.tool_result.tool_use_id: String should match pattern")
            if block.get("is_error"):
                refuse_unless(said.strip(), f"{at}.tool_result: content cannot be empty if `is_error` is true")
        else:
            refuse_unless(kind == "compaction" and block.get("content"), f"{at}: Input tag {kind!r} found")
    return list(content)


CLAUDE_KEYWORDS = STRICT_KEYWORDS - {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "pattern",
} | {"allOf", "default"}
"""Guide to structured outputs, "JSON Schema limitations"; the SDK's ``transform_schema`` keeps to the same."""


def check_claude_schema(schema: Json) -> None:
    """The same guide; message "For 'integer' type, property 'minimum' is not supported"."""
    for one, _ in schemas_in(schema):
        for word in one:
            refuse_unless(word in CLAUDE_KEYWORDS, f"output_config.format.schema: property '{word}' is not supported")
        refuse_unless(one.get("minItems", 0) in (0, 1), "output_config.format.schema: 'minItems' has to be 0 or 1")
        if one.get("type") == "object":
            refuse_unless(
                one.get("additionalProperties") is False, "'additionalProperties' must be explicitly set to false"
            )


def check_anthropic_batch(requests: Sequence[Json]) -> None:
    """Message "custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"; guide: 100,000 requests."""
    refuse_unless(0 < len(requests) <= 100_000, "requests: too many, or none")
    for one in requests:
        refuse_unknown(one, {"custom_id", "params"}, openai=False)
        refuse_unless(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]), "custom_id: String should match pattern")
        refuse_unless(not one["params"].get("stream"), "stream is not supported in batches")
    refuse_unless(len({one["custom_id"] for one in requests}) == len(requests), "custom_id: not unique")
