"""Plain text of Cline and its descendants: calls as XML, results under a heading, notices of the harness.

The names of tools and the wording of notices are those of Cline, Roo Code and Kilo Code.
"""

from __future__ import annotations

import re
from typing import Any

TOOLS = frozenset(
    """access_mcp_resource apply_diff apply_patch ask_followup_question attempt_completion browser_action
    codebase_search condense delete_file edit_file execute_command fetch_instructions focus_chain
    generate_explanation generate_image insert_content list_code_definition_names list_files
    load_mcp_documentation new_rule new_task plan_mode_respond plan_mode_response read_file
    replace_in_file report_bug run_slash_command search_and_replace search_files search_replace skill
    summarize_task switch_mode update_todo_list use_mcp_tool use_skill use_subagents web_fetch
    web_search write_to_file""".split()
)
CONTINUED = "continued from a previous conversation"
"""In the result of ``summarize_task``, which is the summary that takes the history's place."""
ACCEPTED = "accepted the condensed conversation summary"
"""In the result of ``condense``, whose call holds the summary."""
_OPEN = re.compile(rf"<({'|'.join(sorted(TOOLS))})>")
_PARAMETER = re.compile(r"\s*<(\w+)>")
_HEADING = re.compile(r"\s*\[([A-Za-z_][\w.-]*)(?: .*?|)\] Result:[ \t]*(?:\r?\n|\Z)?", re.DOTALL)
_NOT_RUN = re.compile(r"\s*(?:Tool|Skipping tool) \[([A-Za-z_][\w.-]*)")
_REASONING = re.compile(r"\s*<thinking>(.*?)</thinking>\s*", re.DOTALL)
_TASK = re.compile(r"<(task|user_message)>\s*(.+?)\s*</\1>", re.DOTALL)
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \(([^\n]+)\) Files")
_MODEL = re.compile(r"<model>([^<\n]+)</model>")
_TAIL = re.compile(r"\s*<environment_details>.*\Z", re.DOTALL)
_FAILED = re.compile(
    r"The tool execution failed with the following error|The user denied this operation"
    r"|Missing value for required parameter|Error executing |Command failed with exit code"
    r"|Command execution (?:was not successful|timed out)"
    r'|\{\s*"status"\s*:\s*"(?:error|denied)"'
)
_NOTICES = (
    "<environment_details>",
    "# task_progress",
    "# TODO LIST",
    "# todo List",
    "# TODO LIST UPDATE",
    "<feedback>",
    "<user_message>",
    "[TASK RESUMPTION]",
    "[ERROR] You did not use a tool",
    "<explicit_instructions",
    "New message to respond to",
    "New instructions for task continuation",
    "The user has provided feedback",
    "Files attached by the user",
    "Workspace files mentioned",
    "[hook",
    "<hook_context",
)
_MOST_CALLS = 200


def heading(text: str) -> tuple[str, str] | None:
    """The tool's name and the rest of a text that begins with ``[<tool> for '…'] Result:``."""
    if "] Result:" not in text:
        return None
    found = _HEADING.match(text)
    return (found[1], text[found.end() :]) if found else None


def not_run(text: str) -> str | None:
    """The name of the tool that a notice says was not run."""
    found = _NOT_RUN.match(text[:200])
    return found[1] if found else None


def is_notice(text: str) -> bool:
    """Whether the harness or the person wrote the text behind a result: it is no part of the result."""
    return text.lstrip().startswith(_NOTICES)


def says_failure(text: str) -> bool:
    """Whether a result says in Cline's words that the call failed."""
    return _FAILED.match(text.lstrip()[:200]) is not None


def split_details(text: str) -> tuple[str, str]:
    """The text before the appended details of the environment, and these."""
    found = _TAIL.search(text) if "<environment_details>" in text else None
    return (text[: found.start()], found[0].strip()) if found else (text, "")


def task_of(text: str) -> str | None:
    """The person's task, without the tags around it."""
    found = _TASK.search(text)
    return found[2] if found else None


def folder_of(text: str) -> str | None:
    """The working folder that the details of the environment name."""
    found = _FOLDER.search(text)
    return found[1] if found else None


def model_of(text: str) -> str | None:
    """The model that the details of the environment name (Roo Code)."""
    found = _MODEL.search(text)
    return found[1].strip() if found else None


def reasoning_of(text: str) -> tuple[str, str]:
    """The tagged reasoning at the start of a text, and the rest of the text."""
    found = _REASONING.match(text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


def calls_of(text: str) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """The calls that stand as XML in an answer, and the text without them.

    A call that is not closed (the answer was cut) ends with the text.
    """
    calls: list[tuple[str, dict[str, Any]]] = []
    rest: list[str] = []
    at = 0
    while len(calls) < _MOST_CALLS and (found := _OPEN.search(text, at)):
        name = found[1]
        end, after = _closing(text, name, found.end())
        rest.append(text[at : found.start()])
        calls.append((name, _parameters(text[found.end() : end])))
        at = after
    rest.append(text[at:])
    return "\n".join(part.strip("\r\n") for part in rest if part.strip()), calls


def _closing(text: str, name: str, start: int) -> tuple[int, int]:
    """Find the end of a call's body and of its closing tag; a file's content may hold closing tags of its own."""
    close = f"</{name}>"
    content = text.find("<content>", start)
    first = text.find(close, start)
    if content != -1 and (first == -1 or content < first):
        ends = re.compile(rf"</content>\s*(?:<(\w+)>[^<]*</\1>\s*)*</{name}>").search(text, content)
        if ends is not None:
            return ends.end() - len(close), ends.end()
    return (first, first + len(close)) if first != -1 else (len(text), len(text))


def _parameters(body: str) -> dict[str, Any]:
    """The parameters of a call; text between them goes under ``input``."""
    found: dict[str, Any] = {}
    at = 0
    while opening := _PARAMETER.match(body, at):
        name = opening[1]
        close = f"</{name}>"
        end = body.rfind(close, opening.end()) if name in ("content", "diff") else body.find(close, opening.end())
        value = body[opening.end() : end if end != -1 else len(body)]
        found[name] = value.strip("\n") if name in ("content", "diff") else value.strip()
        at = end + len(close) if end != -1 else len(body)
    left = body[at:].strip()
    if left:
        found["input"] = left
    return found
