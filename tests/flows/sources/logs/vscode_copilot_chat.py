"""A chat with Copilot in VS Code made by hand: the object, and the log of its changes that replaces it."""

from __future__ import annotations

from typing import Any


def request(own: str, text: str, *response: Any, rounds: Any = (), results: Any = None, **more: Any) -> dict[str, Any]:
    """A request; a text of the response stands for a part of Markdown."""
    metadata = {"toolCallRounds": list(rounds), "toolCallResults": results or {}, **more.pop("metadata", {})}
    parts = [{"value": part, "supportThemeIcons": False} if isinstance(part, str) else part for part in response]
    return {
        "requestId": own,
        "message": {"text": text, "parts": [{"kind": "text", "text": text}]},
        "response": parts,
        "result": {"timings": {"totalElapsed": 9}, "metadata": metadata},
        "timestamp": 1_759_845_101_282,
        "modelId": "copilot/gpt-test-1",
        **more,
    }


def round_of(own: str, text: str, *calls: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """A response that goes to the model again, with its calls."""
    called = [{"id": call, "name": name, "arguments": arguments} for call, name, arguments in calls]
    return {"id": own, "response": text, "toolCalls": called, "toolInputRetry": 0, **more}


def tree(*texts: str) -> dict[str, Any]:
    """A result as a tree of texts."""
    children = [{"type": 2, "text": text, "lineBreakBefore": bool(at)} for at, text in enumerate(texts)]
    inner = {"type": 1, "ctor": 2, "children": children, "props": {}}
    return {"$mid": 20, "content": [{"$mid": 23, "value": {"node": {"type": 1, "ctor": 2, "children": [inner]}}}]}


def shown_call(own: str, tool: str = "run_in_terminal", **more: Any) -> dict[str, Any]:
    """A call as the person is shown it."""
    return {"kind": "toolInvocationSerialized", "toolCallId": own, "toolId": tool, "isComplete": True, **more}


RENDERED = [{"type": 1, "text": "<context>\nIt is October.\n</context>\n<userRequest>\nMend the mill.\n</userRequest>"}]
ROUNDS = [
    round_of("r1", "I look.", ("t1", "read_file", '{"path": "mill"}'), thinking={"id": "x", "text": "hm"}),
    round_of("r2", "It turns."),
]
REQUEST = request(
    "q1",
    "Mend the mill.",
    "I look.",
    shown_call("s1", "copilot_readFile"),
    "It turns.",
    rounds=ROUNDS,
    results={"t1": tree("wheel", "axle")},
    metadata={"renderedUserMessage": RENDERED, "promptTokens": 100, "outputTokens": 20},
)
DOCUMENT = {
    "version": 3,
    "sessionId": "v-1",
    "responderUsername": "GitHub Copilot",
    "creationDate": 1_759_845_000_000,
    "lastMessageDate": 1_759_845_200_000,
    "customTitle": "The mill",
    "requests": [REQUEST, request("q2", "Oil it.", "Oiled.")],
}
LINES = [
    {"kind": 0, "v": {**DOCUMENT, "customTitle": "token-0", "requests": []}},
    {"kind": 2, "k": ["requests"], "v": [request("q1", "token-1", "token-1")]},
    {"kind": 1, "k": ["requests", 0, "response", 0, "value"], "v": "token-2"},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": " token-3"}], "i": 1},
    {"kind": 1, "k": ["customTitle"], "v": "token-4"},
    {"kind": 3, "k": ["requests", 0, "result"], "note": "token-5"},
]
