"""The published rules of OpenAI's interfaces (``strict`` says where they are from)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import orjson
from openai.types import embedding_create_params as openai_embeddings
from openai.types.chat import completion_create_params as openai_chat
from openai.types.responses import response_compact_params as openai_compact
from openai.types.responses import response_create_params as openai_responses

from tests.flows.llm.refusals import STRICT_KEYWORDS, check_name, refuse_unknown, refuse_unless, schemas_in
from tests.flows.llm.shapes import Json

CHAT_FIELDS = {*openai_chat.CompletionCreateParamsBase.__annotations__, "stream"}
RESPONSES_FIELDS = {*openai_responses.ResponseCreateParamsBase.__annotations__, "stream"}
EMBEDDING_FIELDS = set(openai_embeddings.EmbeddingCreateParams.__annotations__)
COMPACT_FIELDS = set(openai_compact.ResponseCompactParams.__annotations__)


def is_reasoning_model(model: str) -> bool:
    """Whether a model of OpenAI's reasons (guide to reasoning models)."""
    name = model.removeprefix("ft:")
    return name.startswith(("o1", "o3", "o4", "gpt-5", "gpt-6")) and not name.startswith("gpt-5-chat")


def check_sampling(body: Json) -> None:
    """OpenAPI: ranges. Guide to reasoning models: what they do not support."""
    model = body.get("model")
    refuse_unless(isinstance(model, str) and model, "you must provide a model parameter", "model")
    for name, most in (("temperature", 2), ("top_p", 1)):
        value = body.get(name)
        refuse_unless(value is None or 0 <= value <= most, f"Invalid '{name}': out of range", name)
    if is_reasoning_model(str(model)):
        refused = (
            "temperature",
            "top_p",
            "presence_penalty",
            "frequency_penalty",
            "logprobs",
            "top_logprobs",
            "logit_bias",
            "max_tokens",
            "stop",
        )
        for name in refused:
            refuse_unless(
                name not in body,
                f"Unsupported parameter: '{name}' is not supported with this model.",
                name,
                code="unsupported_parameter",
            )
    stop = body.get("stop")
    refuse_unless(stop is None or isinstance(stop, str) or len(stop) <= 4, "Invalid 'stop': array too long", "stop")
    for name in ("tool_choice", "parallel_tool_calls"):
        refuse_unless(
            name not in body or body.get("tools"), f"'{name}' is only allowed when 'tools' are specified.", name
        )


def check_effort(model: str, effort: Any, param: str) -> None:
    """SDK: the values; models that do not reason take none (message "Unsupported parameter")."""
    if effort is None or not (is_reasoning_model(model) or model.startswith("gpt-")):
        return
    refuse_unless(
        is_reasoning_model(model), f"Unsupported parameter: '{param}' is not supported with this model.", param
    )
    refuse_unless(
        effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max"), f"Invalid value: '{effort}'", param
    )


def check_chat(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/chat/completions``."""
    refuse_unknown(body, {*CHAT_FIELDS, *extra})
    check_sampling(body)
    check_effort(body["model"], body.get("reasoning_effort"), "reasoning_effort")
    # Message "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    refuse_unless(not {"max_tokens", "max_completion_tokens"} <= set(body), "Setting both limits is not supported")
    for name in ("max_tokens", "max_completion_tokens"):
        limit = body.get(name, 1)
        refuse_unless(isinstance(limit, int) and limit >= 1, f"Invalid '{name}': below minimum value", name)
    messages = body.get("messages")
    refuse_unless(isinstance(messages, list) and messages, "Invalid 'messages': empty array.", "messages")
    open_ids: list[str] = []
    for number, message in enumerate(messages or ()):
        open_ids = _chat_message(message, f"messages[{number}]", open_ids)
    refuse_unless(not open_ids, f"tool_call_ids did not have response messages: {open_ids}", "messages")
    check_format(body.get("response_format"), messages, "response_format")


_CHAT_KEYS = {
    "developer": {"content", "name"},
    "system": {"content", "name"},
    "user": {"content", "name"},
    "assistant": {"content", "name", "tool_calls", "refusal", "audio", "function_call"},
    "tool": {"content", "tool_call_id"},
}


def _chat_message(message: Json, place: str, open_ids: list[str]) -> list[str]:
    """Ids of the calls that still wait for a result after this message (OpenAPI, and the two messages named here)."""
    role = message.get("role")
    refuse_unless(role in _CHAT_KEYS, f"Invalid value: '{role}'.", f"{place}.role")
    refuse_unknown(message, {"role", *_CHAT_KEYS[str(role)]}, f"{place}.")
    content, calls = message.get("content"), message.get("tool_calls")
    none = content is None and role == "assistant" and calls
    refuse_unless(
        none or isinstance(content, str) or (isinstance(content, list) and content),
        f"Invalid value for 'content': expected a string, got {content!r}.",
        f"{place}.content",
    )
    if role == "tool":
        id = message.get("tool_call_id")
        refuse_unless(
            id in open_ids,
            "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
            f"{place}.role",
        )
        return [other for other in open_ids if other != id]
    refuse_unless(
        not open_ids,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
        f"'tool_call_id'. The following tool_call_ids did not have response messages: {open_ids}",
        place,
    )
    if calls is None:
        return []
    # Message "array too long. Expected an array with maximum length 128".
    refuse_unless(
        0 < len(calls) <= 128, f"Invalid '{place}.tool_calls': array too long or empty", f"{place}.tool_calls"
    )
    for number, call in enumerate(calls):
        at = f"{place}.tool_calls[{number}]"
        refuse_unknown(call, {"id", "type", "function"}, f"{at}.")
        refuse_unless(call.get("type") == "function", f"Missing or wrong '{at}.type'", at)
        # Message "Invalid 'messages[1].tool_calls[0].id': string too long. Expected … maximum length 40".
        refuse_unless(
            isinstance(call.get("id"), str) and 0 < len(call["id"]) <= 40, f"Invalid '{at}.id': string too long", at
        )
        refuse_unknown(call["function"], {"name", "arguments"}, f"{at}.function.")
        check_name(call["function"]["name"], 64, f"{at}.function.name")
        refuse_unless(isinstance(call["function"]["arguments"], str), f"Invalid type for '{at}.function.arguments'", at)
    ids = [call["id"] for call in calls]
    refuse_unless(len(set(ids)) == len(ids), "Duplicate value for 'tool_call_id'", place)
    return ids


def check_format(form: Json | None, messages: Any, param: str) -> None:
    """OpenAPI: ResponseFormat…; message "'messages' must contain the word 'json'"."""
    if form is None:
        return
    if form["type"] == "json_object":
        refuse_unless(
            b"json" in orjson.dumps(messages).lower(), "'messages' must contain the word 'json' in some form", param
        )
    if form["type"] == "json_schema":
        named = form.get("json_schema", form)
        refuse_unknown(named, {"type", "name", "schema", "strict", "description"}, f"{param}.")
        check_name(named.get("name"), 64, f"{param}.name")
        if named.get("strict"):
            check_strict_schema(named["schema"])


def check_strict_schema(schema: Json) -> None:
    """The rest of that guide: root, required, additionalProperties; 5,000 properties, 10 levels, 1,000 enum values."""
    refuse_unless(
        schema.get("type") == "object" and "anyOf" not in schema, "Invalid schema: the root must be an object"
    )
    found = list(schemas_in(schema))
    refuse_unless(max(depth for _, depth in found) <= 10, "levels of nesting exceeds limit of 10")
    refuse_unless(sum(len(one.get("properties", {})) for one, _ in found) <= 5000, "too many properties")
    refuse_unless(sum(len(one.get("enum", ())) for one, _ in found) <= 1000, "too many enum values")
    words = [word for one, _ in found for word in (*one.get("properties", ()), *map(str, one.get("enum", ())))]
    refuse_unless(sum(map(len, words)) <= 120_000, "the names and values are too long together")
    for one, _ in found:
        for word in one:
            refuse_unless(word in STRICT_KEYWORDS, f"Invalid schema: '{word}' is not permitted.", "response_format")
        if "properties" in one or one.get("type") == "object":
            refuse_unless(one.get("additionalProperties") is False, "'additionalProperties' is required to be false")
            refuse_unless(
                set(one.get("required", ())) == set(one.get("properties", ())), "'required' has to name every key"
            )


def check_responses(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/responses``."""
    refuse_unknown(body, {*RESPONSES_FIELDS, *extra})
    check_sampling(body)
    check_effort(body["model"], (body.get("reasoning") or {}).get("effort"), "reasoning.effort")
    limit = body.get("max_output_tokens", 16)
    # Message "Expected a value >= 16".
    refuse_unless(
        isinstance(limit, int) and limit >= 16,
        f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {limit} instead.",
        "max_output_tokens",
        code="integer_below_min_value",
    )
    check_items(body.get("input"))
    check_format((body.get("text") or {}).get("format"), body.get("input"), "text.format")


def check_compact(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/responses/compact``."""
    refuse_unknown(body, {*COMPACT_FIELDS, *extra})
    check_sampling(body)
    check_items(body.get("input"))


def check_embeddings(body: Json, extra: Collection[str] = ()) -> None:
    """``/v1/embeddings``: up to 2048 texts, none empty."""
    refuse_unknown(body, {*EMBEDDING_FIELDS, *extra})
    texts = body.get("input")
    is_list = isinstance(texts, list) and 0 < len(texts) <= 2048
    refuse_unless(is_list and all(isinstance(text, str) and text for text in texts), "Invalid 'input'.", "input")
    refuse_unless(body.get("encoding_format") in (None, "float", "base64"), "Invalid 'encoding_format'.")


_ITEM_KEYS = {
    "message": {"role", "content", "id", "status", "phase"},
    "function_call": {"call_id", "name", "arguments", "id", "status", "namespace", "caller"},
    "function_call_output": {"call_id", "output", "id", "status", "caller"},
    "compaction": {"encrypted_content", "id"},
    "compaction_summary": {"encrypted_content", "id"},
    "reasoning": {"id", "summary", "content", "encrypted_content", "status"},
}


def check_items(items: Any) -> None:
    """OpenAPI: the items of ``input``; messages "No tool output found", "No tool call found"."""
    if isinstance(items, str) and items:
        return
    refuse_unless(isinstance(items, list) and items, "Invalid 'input': empty array or wrong type.", "input")
    calls: set[str] = set()
    outputs: set[str] = set()
    for number, item in enumerate(items):
        at, kind = f"input[{number}]", item.get("type", "message")
        refuse_unless(kind in _ITEM_KEYS, f"Invalid value: '{kind}'.", at)
        refuse_unknown(item, {"type", *_ITEM_KEYS[kind]}, f"{at}.")
        if kind == "message":
            refuse_unless(
                item.get("role") in ("user", "assistant", "system", "developer"), f"Invalid value: {item!r}"[:200], at
            )
            content = item.get("content")
            refuse_unless(isinstance(content, str | list), f"Invalid type for '{at}.content'", at)
            refuse_unless(len(content) <= 10_485_760, f"Invalid '{at}.content': string too long", at)
        if kind == "function_call":
            check_name(item["name"], 128, f"{at}.name")
            refuse_unless(0 < len(item["call_id"]) <= 64, f"Invalid '{at}.call_id': string too long", at)
            refuse_unless(isinstance(item["arguments"], str), f"Invalid type for '{at}.arguments'", at)
            refuse_unless(item["call_id"] not in calls, f"Duplicate call_id {item['call_id']}", at)
            calls.add(item["call_id"])
        if kind == "function_call_output":
            id = item["call_id"]
            refuse_unless(id in calls, f"No tool call found for function call output with call_id {id}.", at)
            refuse_unless(id not in outputs, f"Duplicate output for call_id {id}", at)
            refuse_unless(len(item["output"]) <= 10_485_760, f"Invalid '{at}.output': string too long", at)
            outputs.add(id)
    refuse_unless(calls == outputs, f"No tool output found for function call {sorted(calls - outputs)}.", "input")


def check_openai_batch(lines: Sequence[Json], endpoint: str) -> None:
    """Guide to batches: unique ids, one model, one endpoint; 50,000 requests."""
    refuse_unless(0 < len(lines) <= 50_000, "the file has no requests, or too many")
    for line in lines:
        refuse_unknown(line, {"custom_id", "method", "url", "body"})
        refuse_unless(isinstance(line["custom_id"], str) and line["custom_id"], "custom_id: missing")
        refuse_unless(line["url"] == endpoint and line["method"] == "POST", "url: not the batch's endpoint")
    refuse_unless(len({line["custom_id"] for line in lines}) == len(lines), "custom_id: not unique")
    refuse_unless(len({line["body"]["model"] for line in lines}) == 1, "one model a batch")
