"""Records what the providers' SDKs send for our requests, over a transport that answers as the documentation says.

Run from the project's folder in environments with openai==3.52.0 and anthropic==2.11.0, and with anthropic==0.125.0
(Python 3.12), each with this project; a run replaces the cases of the SDKs that it finds::

    python -m tests.compaction.golden.record_native

Shape only: no service is asked.
"""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from compaction.model import NativeRequest
from tests.compaction.native_cases import ANSWERS, HISTORIES, QUESTION, brief, messages_of, requests_of

try:
    import httpx2 as httpx
except ImportError:
    import httpx  # type: ignore[no-redef]


class Wire:
    """What went over the wire last, and what is answered."""

    def __init__(self) -> None:
        self.path = ""
        self.betas: list[str] = []
        self.body: Any = None
        self.answer: Any = None

    def __call__(self, request: Any) -> Any:
        self.path = request.url.path
        self.betas = [beta for beta in request.headers.get("anthropic-beta", "").split(",") if beta]
        self.body = json.loads(request.content)
        return httpx.Response(200, json=self.answer)


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    path = Path(__file__).with_name("native.json")
    recorded = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for package in ("openai", "anthropic"):
        if found := installed(package):
            recorded[f"{package} {found}"] = [case for shape in HISTORIES for case in cases(package, shape)]
    path.write_text(json.dumps(recorded, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


def cases(package: str, shape: str) -> list[dict[str, Any]]:
    messages = messages_of(shape)
    found = []
    for name, request in requests_of(messages).items():
        if request.provider != package:
            continue
        sent = send(request, ANSWERS[name](request.body))
        if sent is not None:
            found.append({"shape": shape, "request": name, **sent})
    return found


def send(request: NativeRequest, answer: dict[str, Any]) -> dict[str, Any] | None:
    seen = Wire()
    seen.answer = answer
    if request.provider == "openai":
        import openai

        client: Any = openai.OpenAI(api_key="x", base_url="http://mock/v1", http_client=client_of(seen))
        response = client.responses.compact(model="m", **request.body)
    else:
        import anthropic

        client = anthropic.Anthropic(api_key="x", base_url="http://mock", http_client=client_of(seen))
        if "compaction" in request.body and anthropic.__version__.startswith("0."):
            return None  # came with a later version
        response = client.beta.messages.create(model="m", betas=list(request.betas), **request.body)
    row = {"path": seen.path, "betas": seen.betas, "body": brief(seen.body)}
    dumped = response.model_dump(mode="json", exclude_unset=True, warnings=False)
    row["response"] = dumped if len(json.dumps(dumped)) < 1000 else None
    row["next"] = brief(next_request(client, seen, request, dumped))
    return row


def next_request(client: Any, seen: Wire, request: NativeRequest, response: dict[str, Any]) -> Any:
    """What is sent when the question is asked with the items of the response in front of it, as an SDK's user does."""
    if request.provider == "openai":
        seen.answer = {
            "id": "r",
            "object": "response",
            "created_at": 2,
            "model": "m",
            "status": "completed",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        client.responses.create(model="m", input=[*response["output"], {"role": "user", "content": QUESTION}])
        return seen.body["input"]
    blocks = [block for block in response["content"] if block["type"] == "compaction"]
    if not blocks:
        return None
    asked = [
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    client.beta.messages.create(model="m", max_tokens=9, betas=list(request.betas), messages=asked)
    return seen.body["messages"]


def client_of(seen: Wire) -> Any:
    return httpx.Client(transport=httpx.MockTransport(seen))


if __name__ == "__main__":
    main()
