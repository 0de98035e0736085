"""What the real providers refuse: the published rules of both interfaces, as a check of one request.

Each rule names where it is published. "OpenAPI" is OpenAI's own description of its interface (openai/openai-openapi,
August 2026), "SDK" the types and docstrings of the packages openai 3.54 and anthropic 2.12, "message" the text of a
refusal as reports to public trackers quote it. Not checked, because no source states it: the most output tokens of a
model, the length of a message in chat completions, how much the schema grammar of Anthropic can hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from openai.types.chat import completion_create_params as openai_chat
from openai.types.responses import response_compact_params as openai_compact
from openai.types.responses import response_create_params as openai_responses

from tests.flows.models.shapes import Json

CHAT_FIELDS = {*openai_chat.CompletionCreateParamsBase.__annotations__, "stream"}
RESPONSES_FIELDS = {*openai_responses.ResponseCreateParamsBase.__annotations__, "stream"}
COMPACT_FIELDS = set(openai_compact.ResponseCompactParams.__annotations__)
SAMPLING = ("temperature", "top_p", "top_k")
"""The SDK has dropped them from its types; models before 4.7 still take them."""


@cache
def messages_fields(*, beta: bool) -> frozenset[str]:
    """Fields of a request to Anthropic; with those of its beta interface. The package is an extra."""
    from anthropic.types import message_create_params as plain
    from anthropic.types.beta import message_create_params as of_beta

    fields = {*plain.MessageCreateParamsBase.__annotations__, *SAMPLING, "stream"}
    return frozenset(fields | (set(of_beta.MessageCreateParamsBase.__annotations__) - {"betas"} if beta else set()))


_WORD = re.compile(r"[a-zA-Z0-9_-]+")
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_CLAUDE = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?!\d)")


class Refusal(Exception):  # noqa: N818 (what a provider says)
    """A request that the provider refuses: status and the object ``error``."""

    def __init__(self, message: str, param: str | None = None, *, status: int = 400, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = {"param": param, **more}

    def error(self, anthropic: bool) -> Json:
        """The object ``error`` in the provider's form; its type follows from the status."""
        return {"message": self.message} if anthropic else {"message": self.message, "code": None, **self.more}


def need(holds: object, message: str, param: str | None = None, **more: Any) -> None:
    """Refuse the request unless something holds."""
    if not holds:
        raise Refusal(message, param, **more)


def check(path: str, headers: Mapping[str, str], raw: bytes, extra: Collection[str] = ()) -> None:
    """Raises Refusal. ``headers`` by names in lower case; ``extra``: fields that this server takes beside its own."""
    if path.startswith("/v1/messages"):
        # Reference of the Messages API: a key, as x-api-key or as bearer; the version; at most 32 MB.
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        need(headers.get("x-api-key") or bearer, "x-api-key header is required", status=401)
        version = headers.get("anthropic-version")
        need(version in ("2023-06-01", "2026-10-21"), f"anthropic-version: {version!r} is not a valid version")
        need(len(raw) <= 32 * 2**20, "Request exceeds the maximum size", status=413)
        body = parsed(raw)
        betas = headers.get("anthropic-beta", "").split(",")
        if version == "2026-10-21":  # "Versions": removed, a request that sends any is refused for all models
            known(body, {*messages_fields(beta=True), *extra} - {*SAMPLING}, openai=False)
        check_messages(body, betas, extra)
        return
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    need(bearer, "You didn't provide an API key.", status=401, code="invalid_api_key")
    body = parsed(raw)
    {"/v1/chat/completions": check_chat, "/v1/responses": check_responses, "/v1/responses/compact": check_compact}[
        path
    ](body, extra)


def parsed(raw: bytes) -> Json:
    """The JSON of a body. Half a surrogate pair is refused as no JSON (message "no low surrogate in string")."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Refusal(f"The request body is not valid JSON: {error}") from None
    # Not published; no provider is known to take it, and several are known to fail.
    need(not _NUL.search(raw), "the body has a null character")
    need(isinstance(body, dict), "the body is not an object")
    return body


def known(body: Json, fields: Collection[str], place: str = "", *, openai: bool = True) -> None:
    """Unknown fields are refused: messages "Unrecognized request argument", "Extra inputs are not permitted"."""
    for name in body:
        said = f"Unknown parameter: '{place}{name}'." if openai else f"{place}{name}: Extra inputs are not permitted"
        need(name in fields, said, place + name, code="unknown_parameter")


# OpenAI


def reasons(model: str) -> bool:
    """Whether a model of OpenAI's reasons (guide to reasoning models)."""
    name = model.removeprefix("ft:")
    return name.startswith(("o1", "o3", "o4", "gpt-5", "gpt-6")) and not name.startswith("gpt-5-chat")


def check_sampling(body: Json) -> None:
    """OpenAPI: ranges. Guide to reasoning models: what they do not support."""
    model = body.get("model")
    need(isinstance(model, str) and model, "you must provide a model parameter", "model")
    for name, most in (("temperature", 2), ("top_p", 1)):
        value = body.get(name)
        need(value is None or 0 <= value <= most, f"Invalid '{name}': out of range", name)
    if reasons(str(model)):
        refused = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs",
                   "logit_bias", "max_tokens", "stop")  # fmt: skip
        for name in refused:
            need(name not in body, f"Unsupported parameter: '{name}' is not supported with this model.", name,
                 code="unsupported_parameter")  # fmt: skip
    stop = body.get("stop")
    need(stop is None or isinstance(stop, str) or len(stop) <= 4, "Invalid 'stop': array too long", "stop")
    for name in ("tool_choice", "parallel_tool_calls"):
        need(name not in body or body.get("tools"), f"'{name}' is only allowed when 'tools' are specified.", name)


def check_effort(model: str, effort: Any, param: str) -> None:
    """SDK: the values; models that do not reason take none (message "Unsupported parameter")."""
    if effort is None or not (reasons(model) or model.startswith("gpt-")):
        return
    need(reasons(model), f"Unsupported parameter: '{param}' is not supported with this model.", param)
    need(effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max"), f"Invalid value: '{effort}'", param)


def check_chat(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/chat/completions``."""
    known(body, {*CHAT_FIELDS, *extra})
    check_sampling(body)
    check_effort(body["model"], body.get("reasoning_effort"), "reasoning_effort")
    # Message "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    need(not {"max_tokens", "max_completion_tokens"} <= set(body), "Setting both limits is not supported")
    for name in ("max_tokens", "max_completion_tokens"):
        limit = body.get(name, 1)
        need(isinstance(limit, int) and limit >= 1, f"Invalid '{name}': below minimum value", name)
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "Invalid 'messages': empty array.", "messages")
    open_ids: list[str] = []
    for number, message in enumerate(messages or ()):
        open_ids = _chat_message(message, f"messages[{number}]", open_ids)
    need(not open_ids, f"tool_call_ids did not have response messages: {open_ids}", "messages")
    check_format(body.get("response_format"), messages, "response_format")


_CHAT_KEYS = {
    "developer": {"content", "name"}, "system": {"content", "name"}, "user": {"content", "name"},
    "assistant": {"content", "name", "tool_calls", "refusal", "audio", "function_call"},
    "tool": {"content", "tool_call_id"},
}  # fmt: skip


def _chat_message(message: Json, place: str, open_ids: list[str]) -> list[str]:
    """Ids of the calls that still wait for a result after this message (OpenAPI, and the two messages named here)."""
    role = message.get("role")
    need(role in _CHAT_KEYS, f"Invalid value: '{role}'.", f"{place}.role")
    known(message, {"role", *_CHAT_KEYS[str(role)]}, f"{place}.")
    content, calls = message.get("content"), message.get("tool_calls")
    none = content is None and role == "assistant" and calls
    need(none or isinstance(content, str) or (isinstance(content, list) and content),
         f"Invalid value for 'content': expected a string, got {content!r}.", f"{place}.content")  # fmt: skip
    if role == "tool":
        id = message.get("tool_call_id")
        need(id in open_ids, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
             f"{place}.role")  # fmt: skip
        return [other for other in open_ids if other != id]
    need(not open_ids, "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
         f"'tool_call_id'. The following tool_call_ids did not have response messages: {open_ids}", place)  # fmt: skip
    if calls is None:
        return []
    # Message "array too long. Expected an array with maximum length 128".
    need(0 < len(calls) <= 128, f"Invalid '{place}.tool_calls': array too long or empty", f"{place}.tool_calls")
    for number, call in enumerate(calls):
        at = f"{place}.tool_calls[{number}]"
        known(call, {"id", "type", "function"}, f"{at}.")
        need(call.get("type") == "function", f"Missing or wrong '{at}.type'", at)
        # Message "Invalid 'messages[1].tool_calls[0].id': string too long. Expected … maximum length 40".
        need(isinstance(call.get("id"), str) and 0 < len(call["id"]) <= 40, f"Invalid '{at}.id': string too long", at)
        known(call["function"], {"name", "arguments"}, f"{at}.function.")
        _name(call["function"]["name"], 64, f"{at}.function.name")
        need(isinstance(call["function"]["arguments"], str), f"Invalid type for '{at}.function.arguments'", at)
    ids = [call["id"] for call in calls]
    need(len(set(ids)) == len(ids), "Duplicate value for 'tool_call_id'", place)
    return ids


def _name(name: Any, most: int, param: str) -> None:
    """OpenAPI: the description of FunctionObject.name (64), FunctionCallItemParam.name (128)."""
    fits = isinstance(name, str) and _WORD.fullmatch(name) and len(name) <= most
    need(fits, f"Invalid '{param}': string does not match pattern.", param)


def check_format(form: Json | None, messages: Any, param: str) -> None:
    """OpenAPI: ResponseFormat…; message "'messages' must contain the word 'json'"."""
    if form is None:
        return
    if form["type"] == "json_object":
        need(b"json" in orjson.dumps(messages).lower(), "'messages' must contain the word 'json' in some form", param)
    if form["type"] == "json_schema":
        named = form.get("json_schema", form)
        known(named, {"type", "name", "schema", "strict", "description"}, f"{param}.")
        _name(named.get("name"), 64, f"{param}.name")
        if named.get("strict"):
            check_strict_schema(named["schema"])


STRICT_KEYWORDS = frozenset({
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
    "definitions", "description", "title", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "multipleOf", "minItems", "maxItems",
})  # fmt: skip
"""Guide to structured outputs, "Supported schemas"."""


def check_strict_schema(schema: Json) -> None:
    """The rest of that guide: root, required, additionalProperties; 5,000 properties, 10 levels, 1,000 enum values."""
    need(schema.get("type") == "object" and "anyOf" not in schema, "Invalid schema: the root must be an object")
    found = list(schemas_in(schema))
    need(max(depth for _, depth in found) <= 10, "levels of nesting exceeds limit of 10")
    need(sum(len(one.get("properties", {})) for one, _ in found) <= 5000, "too many properties")
    need(sum(len(one.get("enum", ())) for one, _ in found) <= 1000, "too many enum values")
    words = [word for one, _ in found for word in (*one.get("properties", ()), *map(str, one.get("enum", ())))]
    need(sum(map(len, words)) <= 120_000, "the names and values are too long together")
    for one, _ in found:
        for word in one:
            need(word in STRICT_KEYWORDS, f"Invalid schema: '{word}' is not permitted.", "response_format")
        if "properties" in one or one.get("type") == "object":
            need(one.get("additionalProperties") is False, "'additionalProperties' is required to be false")
            need(set(one.get("required", ())) == set(one.get("properties", ())), "'required' has to name every key")


def schemas_in(schema: Json, depth: int = 1) -> Iterator[tuple[Json, int]]:
    """A schema and all in it, each with the level of objects that it stands on."""
    yield schema, depth
    deeper = depth + (schema.get("type") == "object")
    for name in ("properties", "$defs", "definitions"):
        for inner in schema.get(name, {}).values():
            yield from schemas_in(inner, deeper)
    if isinstance(schema.get("items"), dict):
        yield from schemas_in(schema["items"], depth)
    for inner in (*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())):
        yield from schemas_in(inner, depth)


def check_responses(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/responses``."""
    known(body, {*RESPONSES_FIELDS, *extra})
    check_sampling(body)
    check_effort(body["model"], (body.get("reasoning") or {}).get("effort"), "reasoning.effort")
    limit = body.get("max_output_tokens", 16)
    # Message "Expected a value >= 16".
    need(isinstance(limit, int) and limit >= 16, "Invalid 'max_output_tokens': integer below minimum value. Expected a "
         f"value >= 16, but got {limit} instead.", "max_output_tokens", code="integer_below_min_value")  # fmt: skip
    check_items(body.get("input"))
    check_format((body.get("text") or {}).get("format"), body.get("input"), "text.format")


def check_compact(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/responses/compact``."""
    known(body, {*COMPACT_FIELDS, *extra})
    check_sampling(body)
    check_items(body.get("input"))


_ITEM_KEYS = {
    "message": {"role", "content", "id", "status", "phase"},
    "function_call": {"call_id", "name", "arguments", "id", "status", "namespace", "caller"},
    "function_call_output": {"call_id", "output", "id", "status", "caller"},
    "compaction": {"encrypted_content", "id"}, "compaction_summary": {"encrypted_content", "id"},
    "reasoning": {"id", "summary", "content", "encrypted_content", "status"},
}  # fmt: skip


def check_items(items: Any) -> None:
    """OpenAPI: the items of ``input``; messages "No tool output found", "No tool call found"."""
    if isinstance(items, str) and items:
        return
    need(isinstance(items, list) and items, "Invalid 'input': empty array or wrong type.", "input")
    calls: set[str] = set()
    outputs: set[str] = set()
    for number, item in enumerate(items):
        at, kind = f"input[{number}]", item.get("type", "message")
        need(kind in _ITEM_KEYS, f"Invalid value: '{kind}'.", at)
        known(item, {"type", *_ITEM_KEYS[kind]}, f"{at}.")
        if kind == "message":
            need(item.get("role") in ("user", "assistant", "system", "developer"), f"Invalid value: {item!r}"[:200], at)
            content = item.get("content")
            need(isinstance(content, str | list), f"Invalid type for '{at}.content'", at)
            need(len(content) <= 10_485_760, f"Invalid '{at}.content': string too long", at)
        if kind == "function_call":
            _name(item["name"], 128, f"{at}.name")
            need(0 < len(item["call_id"]) <= 64, f"Invalid '{at}.call_id': string too long", at)
            need(isinstance(item["arguments"], str), f"Invalid type for '{at}.arguments'", at)
            need(item["call_id"] not in calls, f"Duplicate call_id {item['call_id']}", at)
            calls.add(item["call_id"])
        if kind == "function_call_output":
            id = item["call_id"]
            need(id in calls, f"No tool call found for function call output with call_id {id}.", at)
            need(id not in outputs, f"Duplicate output for call_id {id}", at)
            need(len(item["output"]) <= 10_485_760, f"Invalid '{at}.output': string too long", at)
            outputs.add(id)
    need(calls == outputs, f"No tool output found for function call {sorted(calls - outputs)}.", "input")


# Anthropic


def version_of(model: str) -> tuple[int, int] | None:
    """Generation of a Claude model; None for any other name."""
    found = _CLAUDE.match(model)
    return (int(found[1]), int(found[2] or 0)) if found else None


def check_messages(body: Json, betas: Collection[str] = (), extra: Collection[str] = ()) -> None:
    """``/v1/messages``; a name that is no Claude's has the rules of the newest models, but for sampling."""
    fields = {*messages_fields(beta=any(betas)), *extra}
    known(body, fields, openai=False)
    _features(body, betas)
    model = body.get("model")
    need(isinstance(model, str) and model, "model: Field required")
    version = version_of(str(model))
    limit = body.get("max_tokens")
    need(isinstance(limit, int) and limit >= 1, "max_tokens: Field required, at least 1")
    _claude_sampling(body, version)
    system = body.get("system", "x")
    # Message "system: text content blocks must be non-empty".
    need(system.strip() if isinstance(system, str) else system, "system: text content blocks must be non-empty")
    for sequence in body.get("stop_sequences") or ():
        # Message "stop_sequences: each stop sequence must contain non-whitespace".
        need(sequence.strip(), "stop_sequences: each stop sequence must contain non-whitespace")
    names = _tools(body)
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    # "What's new in Claude Opus 5.5": forced tool use is not supported, nor is it on Fable 5.1.
    need(not forced or version is None or version < (5, 1), "tool_choice: forced tool use is not supported")
    _conversation(body.get("messages"), names, version)
    if form := (body.get("output_config") or {}).get("format"):
        need(set(form) == {"type", "schema"} and form["type"] == "json_schema", "output_config.format: wrong form")
        check_claude_schema(form["schema"])


def _features(body: Json, betas: Collection[str]) -> None:
    """SDK: fields of a beta want its header."""
    edits = {edit["type"] for edit in (body.get("context_management") or {}).get("edits", ())}
    need("compaction" not in body or "compact-2026-09-04" in betas, "compaction: Extra inputs are not permitted")
    needed = {"compact_20260112": "compact-2026-01-12", "clear_tool_uses_20250919": "context-management-2025-06-27"}
    for edit in edits:
        need(needed[edit] in betas, f"context_management.edits: {edit} is not available without its beta")


def _claude_sampling(body: Json, version: tuple[int, int] | None) -> None:
    """Reference: ranges. Migration guide to Opus 4.7: no sampling from there on. Message "cannot both be specified"."""
    for name in ("temperature", "top_p"):
        need(0 <= body.get(name, 0) <= 1, f"{name}: range: 0..1")
        need(name not in body or version is None or version < (4, 7), f"`{name}` is deprecated for this model.")
    both = {"temperature", "top_p"} <= set(body)
    need(not both or version is None or version < (4, 1), "`temperature` and `top_p` cannot both be specified for this "
         "model. Please use only one.")  # fmt: skip
    effort = (body.get("output_config") or {}).get("effort")
    need(effort in (None, "low", "medium", "high", "xhigh", "max"), f"output_config.effort: {effort}")
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        need(version is None or version < (4, 7), "thinking.type.enabled is not supported for this model")
        need(1024 <= thinking["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens: out of range")


def _tools(body: Json) -> set[str]:
    """Reference: names of tools; message "Property keys should match pattern"."""
    tools = body.get("tools") or []
    need("tool_choice" not in body or tools, "tool_choice: only allowed with tools")
    for number, tool in enumerate(tools):
        fits = _WORD.fullmatch(tool["name"]) and len(tool["name"]) <= 128
        need(fits, f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        need(tool["input_schema"].get("type") == "object", f"tools.{number}.custom.input_schema.type: Field required")
        for name in tool["input_schema"].get("properties", {}):
            need(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name), f"tools.{number}: Property keys should match pattern")
    names = [tool["name"] for tool in tools]
    need(len(set(names)) == len(names), "tools: Tool names must be unique.")
    choice = body.get("tool_choice") or {}
    need(choice.get("type") in (None, "auto", "any", "none", "tool"), "tool_choice: wrong type")
    need(choice.get("type") != "tool" or choice.get("name") in names, "tool_choice: Tool not found in provided tools")
    return set(names)


def _conversation(messages: Any, tools: set[str], version: tuple[int, int] | None) -> None:
    """Guide to tool use, reference, and the messages that are quoted here."""
    need(isinstance(messages, list) and 0 < len(messages) <= 100_000, "messages: at least one message is required")
    turns: list[tuple[str, list[Json]]] = []
    for number, message in enumerate(messages):
        known(message, {"role", "content"}, f"messages.{number}.", openai=False)
        role = message.get("role")
        need(role in ("user", "assistant"), f'messages: Unexpected role "{role}".')
        blocks = _blocks(message.get("content"), f"messages.{number}", tools)
        if turns and turns[-1][0] == role:  # "Consecutive turns … will be combined into a single turn"
            turns[-1][1].extend(blocks)
        else:
            turns.append((str(role), blocks))
    # A compaction block is sent back first (SDK: BetaCompactionConfigParam).
    first = turns[0][0] == "user" or turns[0][1][0]["type"] == "compaction"
    need(first, 'messages: first message must use the "user" role')
    seen: set[str] = set()
    waiting: list[str] = []
    for number, (role, blocks) in enumerate(turns):
        waiting = _paired(role, blocks, waiting, seen, f"messages.{number}")
    need(not waiting, f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}.")
    role, blocks = turns[-1]
    if role == "assistant":
        need(version is not None and version < (4, 6), "This model does not support assistant message prefill. The "
             "conversation must end with a user message.")  # fmt: skip
        text = blocks[-1].get("text", "")
        need(text == text.rstrip(), "messages: final assistant content cannot end with trailing whitespace")


def _paired(role: str, blocks: Sequence[Json], waiting: Sequence[str], seen: set[str], place: str) -> list[str]:
    """Ids of the calls that wait for a result after a turn."""
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    for id in results:
        need(id in waiting, f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
             "`tool_result` block must have a corresponding `tool_use` block in the previous message.")  # fmt: skip
    need(len(set(results)) == len(results), f"{place}: each tool_use must have a single result")
    left = [id for id in waiting if id not in results]
    need(not left, f"{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {left}.")
    # Guide: "the tool_result blocks must come FIRST in the content array. Any text must come AFTER".
    kinds = [block["type"] == "tool_result" for block in blocks]
    need(kinds == sorted(kinds, reverse=True), f"{place}: tool_result blocks must come first")
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    need(not uses or role == "assistant", f"{place}: `tool_use` blocks can only be in `assistant` messages")
    need(len(set(uses)) == len(uses) and not seen & set(uses), "messages: `tool_use` ids must be unique")
    seen.update(uses)
    return uses


def _blocks(content: Any, place: str, tools: set[str]) -> list[Json]:
    """Content as blocks, each of them checked."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    need(isinstance(content, list) and content, f"{place}: all messages must have non-empty content")
    for number, block in enumerate(content):
        at, kind = f"{place}.content.{number}", block.get("type")
        if kind == "text":
            need(block["text"], "messages: text content blocks must be non-empty")
            need(block["text"].strip(), "messages: text content blocks must contain non-whitespace text")
        elif kind == "tool_use":
            known(block, {"type", "id", "name", "input"}, f"{at}.", openai=False)
            need(_WORD.fullmatch(block["id"]), f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            need(_WORD.fullmatch(block["name"]) and len(block["name"]) <= 200, f"{at}.tool_use.name: pattern")
            need(isinstance(block["input"], dict), f"{at}.tool_use.input: Input should be a valid dictionary")
            # Message "Requests which include `tool_use` or `tool_result` blocks must define tools".
            need(block["name"] in tools, "Requests which include `tool_use` or `tool_result` blocks must define tools")
        elif kind == "tool_result":
            known(block, {"type", "tool_use_id", "content", "is_error"}, f"{at}.", openai=False)
            id, said = block["tool_use_id"], block.get("content", "")
            need(_WORD.fullmatch(id), f"{at}.tool_result.tool_use_id: String should match pattern")
            if block.get("is_error"):
                need(said.strip(), f"{at}.tool_result: content cannot be empty if `is_error` is true")
        else:
            need(kind == "compaction" and block.get("content"), f"{at}: Input tag {kind!r} found")
    return list(content)


CLAUDE_KEYWORDS = STRICT_KEYWORDS - {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "pattern",
} | {"allOf", "default"}  # fmt: skip
"""Guide to structured outputs, "JSON Schema limitations"; the SDK's ``transform_schema`` keeps to the same."""


def check_claude_schema(schema: Json) -> None:
    """The same guide; message "For 'integer' type, property 'minimum' is not supported"."""
    for one, _ in schemas_in(schema):
        for word in one:
            need(word in CLAUDE_KEYWORDS, f"output_config.format.schema: property '{word}' is not supported")
        need(one.get("minItems", 0) in (0, 1), "output_config.format.schema: 'minItems' has to be 0 or 1")
        if one.get("type") == "object":
            need(one.get("additionalProperties") is False, "'additionalProperties' must be explicitly set to false")


# Batches


def check_openai_batch(lines: Sequence[Json], endpoint: str) -> None:
    """Guide to batches: unique ids, one model, one endpoint; 50,000 requests."""
    need(0 < len(lines) <= 50_000, "the file has no requests, or too many")
    for line in lines:
        known(line, {"custom_id", "method", "url", "body"})
        need(isinstance(line["custom_id"], str) and line["custom_id"], "custom_id: missing")
        need(line["url"] == endpoint and line["method"] == "POST", "url: not the batch's endpoint")
    need(len({line["custom_id"] for line in lines}) == len(lines), "custom_id: not unique")
    need(len({line["body"]["model"] for line in lines}) == 1, "one model a batch")


def check_anthropic_batch(requests: Sequence[Json]) -> None:
    """Message "custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"; guide: 100,000 requests."""
    need(0 < len(requests) <= 100_000, "requests: too many, or none")
    for one in requests:
        known(one, {"custom_id", "params"}, openai=False)
        need(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"]), "custom_id: String should match pattern")
        need(not one["params"].get("stream"), "stream is not supported in batches")
    need(len({one["custom_id"] for one in requests}) == len(requests), "custom_id: not unique")
