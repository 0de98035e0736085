"""Fields of single OpenHands V0 events: kind, text, arguments, and whether they failed."""

from __future__ import annotations

from typing import Any

import orjson

from flows.sources.reading.account import Kind
from flows.sources.reading.base import Record
from flows.sources.reading.blocks import text_of
from flows.sources.reading.decode import dumps
from flows.sources.reading.values import as_dict, nested

_ACTIONS = frozenset(
    """message system read write edit run run_ipython browse browse_interactive call_tool_mcp delegate
    think finish reject task_tracking recall condensation change_agent_state""".split()
)
_OBSERVATIONS = frozenset(
    """read write edit run run_ipython browse mcp delegate think error success recall null
    agent_state_changed user_rejected task_tracking""".split()
)
QUIET_ACTIONS = frozenset(
    """change_agent_state recall null start pause resume stop push send_pr loop_recovery
    condensation_request""".split()
)
QUIET_OBSERVATIONS = {"agent_state_changed", "null", "llm_response", "loop_detection"}
UNSEEN = {"null", "agent_state_changed", "change_agent_state", "condensation", "condensation_request"}
"""Events that the agent's own view of its history leaves out, so that offsets into it do not count them."""
ENVELOPE = frozenset(
    """action observation id timestamp source message cause llm_metrics timeout tool_call_metadata args
    extras""".split()
)
_BODIES = {"args", "extras", "content", "thought", "command", "code", "outputs"}
_NO_ARGUMENTS = frozenset(
    """thought is_confirmed confirmation_state security_risk keep_prompt hidden blocking kernel_init_code
    include_extra impl_source translated_ipython_code""".split()
)


def is_event(value: Any) -> bool:
    """Whether a value is an event: an action or an observation of a known name, and not both (SWE-agent's steps)."""
    if not isinstance(value, dict):
        return False
    action, seen = value.get("action"), value.get("observation")
    if isinstance(action, str) == isinstance(seen, str) or "kind" in value or not value.keys() & _BODIES:
        return False
    return action in _ACTIONS if isinstance(action, str) else seen in _OBSERVATIONS


def is_pair(value: Any) -> bool:
    """Whether a value is an action with its observation, as the histories of 2024 have them."""
    return isinstance(value, list) and len(value) == 2 and is_event(value[0]) and "action" in value[0]


def is_history(value: Any) -> bool:
    """Whether a value is a list of events or of pairs."""
    return isinstance(value, list) and any(is_event(item) or is_pair(item) for item in value[:10])


def kinds_of(event: Record) -> list[Kind | None]:
    """The kinds of message that an event would have become, to count it as left out."""
    action, source = event.get("action"), event.get("source")
    if action == "system":
        return ["system"]
    if action == "message":
        return ["assistant" if source == "agent" else "user"]
    if action == "condensation":
        return ["user" if nested(event, "args", "summary") else None]
    if isinstance(action, str):
        if action in QUIET_ACTIONS:
            return [None]
        return ["user"] if source in ("user", "environment") else ["assistant", "tool_call"]
    return [None if event.get("observation") in (*QUIET_OBSERVATIONS, "recall") else "tool"]


def arguments_of(args: Record) -> Record:
    return {key: value for key, value in args.items() if key not in _NO_ARGUMENTS and value is not None}


def with_images(content: Any, urls: Any) -> str:
    if not isinstance(urls, list) or not urls:
        return text_of(content)
    blocks = content if isinstance(content, list) else [content] if content else []
    return text_of([*blocks, *({"type": "image_url", "image_url": url} for url in urls)])


def observation_text(event: Record, extras: Record) -> str:
    """The text of an observation, with the terminal's words around a command's output."""
    details = as_dict(extras.get("metadata"))
    text = with_images(event.get("content"), extras.get("image_urls"))
    if not text and event.get("observation") == "delegate" and extras.get("outputs"):
        text = dumps(extras["outputs"])
    return "".join(text_of(part) for part in (details.get("prefix"), text, details.get("suffix")))


def has_failed(event: Record, kind: str, extras: Record, text: str) -> bool:
    if kind in ("error", "user_rejected") or extras.get("error") is True:
        return True
    if kind in ("edit", "read", "write"):
        return text.startswith("ERROR:")
    if kind == "mcp" and '"isError"' in text:
        try:
            return as_dict(orjson.loads(text)).get("isError") is True
        except orjson.JSONDecodeError:
            return False
    code = as_dict(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
    if isinstance(code, int):
        return code not in (0, -1)  # -1 is a command that still runs
    return event.get("success") is False


def is_plain(value: Any) -> bool:
    return not isinstance(value, (list, dict))
