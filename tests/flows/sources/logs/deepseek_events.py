"""A session log of DeepSeek's harness made by hand."""


def event(seq, kind, data, **more):
    return {"type": kind, "seq": seq, "time": 1_780_000_000_000 + seq, "data": data, **more}


def user(seq, text, by="user", **more):
    data = {"role": "user", "id": f"u-{seq}", "source": {"kind": by}, "content": [{"type": "text", "text": text}]}
    return event(seq, "user/message", data, **{"surfaceOp": "append", **more})


def step(number, **more):
    return {"turn": 1, "step": number, **more}


def answer(seq, number, *blocks, **more):
    message = {"role": "assistant", "id": f"a-{seq}", "content": list(blocks), "source": {"model": "deepseek-test-1"}}
    data = step(number, message=message, usage={"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 20})
    return event(seq, "assistant/message", data, **{"surfaceOp": "append", **more})


def call(own, command):
    return {"type": "tool-call", "id": own, "name": "bash", "arguments": f'{{"command": "{command}"}}'}


def result(seq, number, own, text, failed=False, **more):
    block = {"type": "tool-result", "toolCallId": own, "content": [{"type": "text", "text": text}], "isError": failed}
    data = step(number, message={"role": "user", "source": {"kind": "tool", "callId": own}, "content": [block]})
    return event(seq, "tool/result", data, **{"surfaceOp": "append", **more})


LINES = [
    {
        "type": "session",
        "version": 0,
        "id": "d-1",
        "createdAt": 1_780_000_000_000,
        "cwd": "/home/ada",
        "note": "token-0",
    },
    user(1, "token-1"),
    event(2, "request/header", {"header": {"config": {"model": "deepseek-test-1"}, "system": "token-2"}}),
    {"type": "text-chunks", "seq0": 3, "time0": 3, "data": step(1, index=0, texts=["to", "ken-3"])},
    answer(5, 1, {"type": "reasoning", "text": "hm"}, {"type": "text", "text": "token-3"}, call("c1", "token-4")),
    event(6, "tool/call", step(1, callId="c1", name="bash", arguments="{}", note="token-5")),
    result(7, 1, "c1", "token-6", failed=True),
    event(8, "step/end", step(1, note="token-7")),
    event(9, "compaction/summary", {"summary": [], "note": "token-8"}),
    user(10, "token-9", by="plugin", surfaceOp={"op": "replace", "start": 1, "end": 5}),
    event(11, "assistant/chunk", step(2, chunk={"type": "text-delta", "index": 0, "text": "token-10"})),
    {
        "type": "tool-call-chunks",
        "seq0": 12,
        "data": step(2, index=1, id="c2", name="ls", args=['{"p": "token-', '11"}']),
    },
]
