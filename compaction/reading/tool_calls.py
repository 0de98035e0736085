"""Effects of any agent's tool call on files (``shell.effects``).

Agents name their tools and arguments differently; the arguments say more than the name: old and new text make an
edit, a content makes a file, a command is a shell's.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

from compaction.reading.patches import patch_changes
from compaction.reading.shell.effects import Effect, file_effects, patch_effects
from compaction.transcript import ToolCall

_PATH_KEYS = ("file_path", "path", "filePath", "filename", "file", "notebook_path", "absolute_path", "target_file")
_OLD_KEYS = ("old_string", "old_str", "oldText", "old_text", "oldString", "search", "old_content")
_NEW_KEYS = tuple(
    "new_string new_str newText new_text newString replace new_content new_source replacement_text replacement "
    "insert_text code_edit".split()
)
_CONTENT_KEYS = ("content", "file_text", "contents", "text", "file_content", "code")
_COMMAND_KEYS = ("cmd", "command", "script", "input", "action", "keystrokes")
_NO_SHELLS = ("apply_patch", "exec")
"""Tools whose ``input`` is a patch or a program (Codex)."""
_READ_NAME = re.compile(r"read|view|open|cat\b|get_file|show_file|scroll|goto", re.IGNORECASE)
_SEARCH_NAME = re.compile(r"grep|search|glob|find|list|^ls$|tree", re.IGNORECASE)
_DELETE_NAME = re.compile(r"delete|remove|unlink", re.IGNORECASE)
_PATTERN_KEYS = ("pattern", "query", "regex", "glob", "glob_pattern", "search_term", "symbol")
_ACI = re.compile(r"(open|create|edit|insert|append|goto|scroll_up|scroll_down|search_file)(?=\s|$)")
_ACI_EDIT = re.compile(r"edit\s+\d+:\d+\s*\n(.*?)\n?end_of_edit", re.DOTALL)
_ACI_WORDS = re.compile(r"\w+\s+(?:\"[^\"]*\"\s+)?[\"']?([^\s\"']+)")
_ACI_SHOWN = re.compile(r"\[File: ([^\n\]]{1,300}?) \(\d+ lines total\)\]|\(Open file: ([^\n)]{1,300})\)")


def tool_name(call: ToolCall) -> str:
    """The tool's own name, without the server or namespace before it."""
    return re.split(r"\.|__", call.name)[-1]


def is_search_tool(name: str) -> bool:
    """Whether a tool's name says that it searches or lists files."""
    return bool(_SEARCH_NAME.search(name))


def search_words(values: dict[str, Any]) -> tuple[str, ...]:
    """The words that the arguments of a search look for, else the directory; empty where they name neither."""
    found = _text(values, _PATTERN_KEYS) or _text(values, _PATH_KEYS)
    return (found,) if found else ()


def shell_command(call: ToolCall, arguments: dict[str, Any] | None = None) -> str | None:
    """The command line that a call runs; None for a call that is no shell's."""
    values = call.parsed() if arguments is None else arguments
    if any(isinstance(values.get(key), str) for key in _PATH_KEYS):
        return None
    for key in _COMMAND_KEYS:
        value = values.get(key)
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            if len(value) >= 3 and value[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh") and value[1].startswith("-"):
                return str(value[2])
            return shlex.join(value)
        if isinstance(value, str) and value:
            return None if key == "input" and tool_name(call) in _NO_SHELLS else value
    return None


def call_effects(
    call: ToolCall,
    cwd: str | None = None,
    open_file: str | None = None,
    result: str = "",
    arguments: dict[str, Any] | None = None,
) -> list[Effect]:
    """The effects of a call on files if it succeeds.

    Args:
        call: The call.
        cwd: Where a shell starts; relative paths stay relative without it.
        open_file: The file that an editor command without a path is about.
        result: What the tool answered, if known; editors say there which file is open.
        arguments: The call's arguments if they have been parsed already.
    """
    values = call.parsed() if arguments is None else arguments
    workdir = values.get("workdir") or values.get("cwd")
    command = shell_command(call, values)
    if command is not None:
        if is_editor_command(command, result):
            return _aci_effects(command.split()[0], command, open_file, result)
        return file_effects(command, workdir if isinstance(workdir, str) else cwd)
    if tool_name(call) in ("apply_patch", "applypatch"):
        text = next(
            (v for v in (values.get(k) for k in ("input", "patch", "patchText", "diff")) if isinstance(v, str)), ""
        )
        return patch_effects(text)
    return _file_tool(call, values, open_file, result)


def is_editor_command(command: str, result: str = "") -> bool:
    """Whether a command line is one of SWE-agent's editor commands, as its answer shows if there is one."""
    return bool(_ACI.match(command)) and (not result or "[File: " in result or "(Open file: " in result)


def editor_says(result: str) -> str:
    """An editor's answer; for any other tool only whether there is one, as its effects do not depend on the text."""
    return result if "[File: " in result or "(Open file: " in result else "answered" if result else ""


def opened_file(result: str) -> str | None:
    """The file that an editor's answer says is open now."""
    if "[File: " not in result and "(Open file: " not in result:
        return None
    found = [a or b for a, b in _ACI_SHOWN.findall(result[:600] + "\n" + result[-600:])]
    return found[-1] if found and found[-1] != "n/a" else None


def _aci_effects(verb: str, command: str, open_file: str | None, result: str) -> list[Effect]:
    """SWE-agent's editor: one file is open, and commands without a path are about it."""
    words = _ACI_WORDS.match(command)
    named = words[1] if words and not words[1].isdigit() and ":" not in words[1] else None
    current = opened_file(result) or open_file
    if result and verb in ("open", "edit", "goto", "scroll_up", "scroll_down") and "[File: " not in result:
        return []  # such a command shows its file when it succeeds
    if verb == "create":
        return [Effect(named, "create_or_overwrite", "create")] if named else []
    if verb == "edit":
        body = _ACI_EDIT.match(command)
        return [Effect(current, "edit", "edit", body[1] if body else "")] if current else []
    if verb in ("insert", "append"):
        return [Effect(current, "edit", verb)] if current and "[File: " in result else []
    if verb == "search_file" and result and " matches " not in result:
        return []
    if verb == "search_file" and named and "." not in named:
        named = None
    path = (current if verb in ("open", "goto", "scroll_up", "scroll_down") else None) or named or current
    return [Effect(path, "read", verb)] if path else []


def _text(values: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = values.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return "\n".join(value)
    return None


def _file_tool(call: ToolCall, values: dict[str, Any], open_file: str | None, result: str) -> list[Effect]:
    name = tool_name(call)
    path = _text(values, _PATH_KEYS)
    if path is None and isinstance(values.get("paths"), list) and _READ_NAME.search(name):
        return [Effect(p, "read", name) for p in values["paths"] if isinstance(p, str) and _names_file(p)]
    if path is None and name in ("edit", "goto", "scroll_up", "scroll_down", "insert"):
        path = opened_file(result) or open_file
    if not path or "\n" in path or len(path) > 400 or "://" in path:
        return []
    command = values.get("command")
    if isinstance(command, str) and command in ("view", "create", "str_replace", "insert", "undo_edit", "delete"):
        return _editor(command, path, values)
    if _SEARCH_NAME.search(name) and not _READ_NAME.search(name) and _text(values, _NEW_KEYS) is None:
        return [Effect(path, "read", name)] if _names_file(path) else []
    if _DELETE_NAME.search(name):
        return [Effect(path, "delete", name)]
    edits = values.get("edits")
    if isinstance(edits, list) and edits:
        pairs = [edit for edit in edits if isinstance(edit, dict)]
        new = "\n".join(_text(edit, _NEW_KEYS) or "" for edit in pairs)
        return [Effect(path, "edit", name, new, "\n".join(_text(edit, _OLD_KEYS) or "" for edit in pairs))]
    diff = values.get("diff") if isinstance(values.get("diff"), str) else values.get("patch")
    if isinstance(diff, str):
        changes = patch_changes(diff)
        new = "\n".join(c.added for c in changes)
        return [Effect(path, "edit", name, new, "\n".join(c.removed for c in changes))]
    new_text, old_text = _text(values, _NEW_KEYS), _text(values, _OLD_KEYS)
    if new_text is not None or old_text is not None:
        if old_text == "" and new_text:  # an edit of nothing makes the file
            return [Effect(path, "create_or_overwrite", name, new_text)]
        return [Effect(path, "edit", name, new_text or "", old_text or "")]
    if _READ_NAME.search(name):
        return [Effect(path, "read", name)]
    content = _text(values, _CONTENT_KEYS)
    if content is not None:
        return [Effect(path, "append" if "append" in name.lower() else "create_or_overwrite", name, content)]
    return [Effect(path, "create_or_overwrite", "create")] if name.lower() in ("create", "create_file") else []


def _editor(command: str, path: str, values: dict[str, Any]) -> list[Effect]:
    """The text editor tool that takes a command: view, create, str_replace, insert, undo_edit."""
    if command == "view":
        return [Effect(path, "read", "view")]
    if command == "create":
        return [Effect(path, "create_or_overwrite", "create", _text(values, _CONTENT_KEYS) or "")]
    if command == "delete":
        return [Effect(path, "delete", "delete")]
    return [Effect(path, "edit", command, _text(values, _NEW_KEYS) or "", _text(values, _OLD_KEYS) or "")]


def _names_file(path: str) -> bool:
    last = path.rstrip("/").rsplit("/", 1)[-1]
    return "." in last[1:] and not any(c in path for c in "*?{")
