"""A session of tool calls, and the file operations that are read off it."""

import json

from compaction.reading.file_effects import FileOp, Ledger, file_ops
from compaction.transcript import Message, ToolCall

ROOT = "/home/dev/shop"


class Session:
    """Builds a session call by call."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def call(self, tool: str, /, result: str = "ok", is_error: bool = False, **arguments: object) -> "Session":
        ident = f"call_{len(self.messages)}"
        seq = len(self.messages)
        self.messages.append(Message("assistant", tool_calls=(ToolCall(ident, tool, json.dumps(arguments)),), seq=seq))
        self.messages.append(Message("tool", result, tool_call_id=ident, is_error=is_error, seq=seq + 1))
        return self

    def ops(self, cwd: str | None = ROOT) -> list[tuple[str, str]]:
        return [(op.verb, op.path) for op in file_ops(self.messages, cwd)]

    def ledger(self, cwd: str | None = ROOT) -> Ledger:
        return Ledger().extend(file_ops(self.messages, cwd))


def op(verb: str, path: str, seq: int = 0, *details: str, to: str | None = None) -> FileOp:
    return FileOp(path, verb, seq, details, to)  # type: ignore[arg-type]
