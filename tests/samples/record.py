"""Record the sample sessions that ship with the package.

A sample session is an agent's work scripted by us over a small code base of ours.  The words of the person
and of the agent are scripted; what the tools answer is not: every command, read and edit is run for real in a
copy of the project, and what it returned is what the session holds.  That keeps the samples free of anybody's
data and still gives tool outputs with the shape (and the noise) of real ones.

A script (``tests/samples/scripts/NAME.py``) has ``META`` and ``script(session)``.
``python -m tests.samples.record NAME`` copies ``tests/samples/projects/<META project>`` to the work directory
named in ``META``, makes it a git repository, runs the script and writes ``flows/samples/NAME.<ext>`` in the
format named there.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = Path(__file__).resolve().parent / "projects"
OUT = ROOT / "flows" / "samples"
VENV = Path(os.environ.get("SAMPLES_VENV", "/opt/samples-venv"))
NODE_CACHE = Path(os.environ.get("SAMPLES_NODE_CACHE", "/opt/samples-node"))
LIMIT = 12_000
TIMEOUT = 60
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07")
EXTENSIONS = {
    "claude_code": ".jsonl",
    "codex_rollout": ".jsonl",
    "openhands_v1_events": ".jsonl",
    "pi": ".jsonl",
    "mini_swe_agent": ".traj.json",
    "swe_agent_traj": ".traj",
}
SHELL_ONLY = {"codex_rollout", "mini_swe_agent"}


@dataclass
class Call:
    """One tool call and what it returned; `args` are neutral, each writer gives them its format's names."""

    kind: str
    args: dict[str, Any]
    text: str = ""
    code: int = 0
    error: bool = False
    before: str | None = None
    after: str | None = None
    called: datetime = field(default_factory=lambda: datetime(2026, 1, 1))
    done: datetime = field(default_factory=lambda: datetime(2026, 1, 1))


@dataclass
class Turn:
    """One message of the person or of the agent (with its calls), or a condensation of what came before."""

    role: str
    text: str = ""
    think: str = ""
    calls: list[Call] = field(default_factory=list)
    at: datetime = field(default_factory=lambda: datetime(2026, 1, 1))
    keep: int = 0


class Session:
    """What a script talks to: it runs each step in the project's copy and keeps the turns for the writer."""

    def __init__(self, name: str, meta: dict[str, Any], workdir: Path, scratch: Path) -> None:
        self.name, self.meta, self.workdir, self.scratch = name, meta, workdir, scratch
        self.format: str = meta["format"]
        self.turns: list[Turn] = []
        self.now = datetime.fromisoformat(meta["started"].replace("Z", "+00:00"))
        self._think = self._say = ""
        self._group: Turn | None = None
        self._todos: list[tuple[str, str]] = []
        self._ticks = 0

    # -- the words ---------------------------------------------------------------------------------
    def user(self, text: str) -> None:
        """The person types `text`."""
        self._flush()
        if self.turns:
            self._tick(40, 260)
        self.turns.append(Turn("user", text=text.strip("\n"), at=self.now))
        self._tick(2, 6)

    def think(self, text: str) -> None:
        """Reasoning of the next assistant message (written where the format keeps reasoning)."""
        self._think = (self._think + "\n\n" + text.strip("\n")).strip("\n")

    def say(self, text: str) -> None:
        """Text of the next assistant message; it goes together with the call(s) that follow."""
        if self._say:
            self._flush()
        self._say = text.strip("\n")

    def condense(self, summary: str, keep_last: int = 8) -> None:
        """A recorded compaction at this point; `keep_last` messages before it stay in the agent's view."""
        self._flush()
        self._tick(12, 30)
        self.turns.append(Turn("condensation", text=summary.strip("\n"), at=self.now, keep=keep_last))
        self._tick(1, 3)

    # -- the tools ---------------------------------------------------------------------------------
    def bash(self, command: str) -> str:
        """Run a shell command for real; a failing one is recorded as it fails."""
        text, code = self._run(command)
        return self._add(Call("bash", {"command": command}, text, code, code != 0))

    def read(self, path: str, offset: int | None = None, limit: int | None = None) -> str:
        """Read a file (from line `offset`, `limit` lines)."""
        if self.format in SHELL_ONLY:
            if offset is None and limit is None:
                return self.bash(f"cat -n {path}")
            first = offset or 1
            last = "$" if limit is None else str(first + limit - 1)
            return self.bash(f"nl -ba {path} | sed -n '{first},{last}p'")
        args = {"path": path, "offset": offset, "limit": limit}
        file = self.workdir / path
        if not file.is_file():
            why = f"File does not exist: {self.workdir}/{path}" if not file.exists() else f"Is a directory: {path}"
            return self._add(Call("read", args, why, 1, True))
        lines = file.read_text(encoding="utf-8").split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        first = offset or 1
        chosen = lines[first - 1 : None if limit is None else first - 1 + limit]
        if self.format == "pi":
            text = "\n".join(chosen)
            left = len(lines) - (first - 1 + len(chosen))
            if left:
                text += f"\n\n[{left} more lines in the file. Use offset={first + len(chosen)} to go on.]"
        else:
            mark = "→" if self.format == "claude_code" else "\t"
            text = "\n".join(f"{first + i:6d}{mark}{line}" for i, line in enumerate(chosen))
        return self._add(Call("read", args, self._cut(self._scrub(text))))

    def write(self, path: str, content: str) -> str:
        """Create or overwrite a file."""
        content = content.lstrip("\n")
        if not content.endswith("\n"):
            content += "\n"
        if self.format == "mini_swe_agent":
            folder = str(Path(path).parent)
            make = "" if folder == "." else f"mkdir -p {folder} && "
            return self.bash(f"{make}cat <<'EOF' > {path}\n{content}EOF")
        file = self.workdir / path
        before = file.read_text(encoding="utf-8") if file.is_file() else None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        full = f"{self.workdir}/{path}"
        text = {
            "claude_code": f"File created successfully at: {full}",
            "pi": f"Successfully wrote {len(content.encode())} bytes to {full}",
            "codex_rollout": f"Success. Updated the following files:\n{'A' if before is None else 'M'} {full}\n",
        }.get(self.format, f"File created successfully at: {full}")
        if self.format == "claude_code" and before is not None:
            text = f"The file {full} has been updated. Here's the result of running `cat -n` on a snippet of "
            text += "the edited file:\n" + "\n".join(f"{i + 1:6d}→{x}" for i, x in enumerate(content.split("\n")[:12]))
        elif self.format == "openhands_v1_events" and before is not None:
            text = f"The file {full} has been overwritten."
        return self._add(Call("write", {"path": path, "content": content}, text, before=before, after=content))

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace `old`, which must occur exactly once, else the tool answers with an error."""
        if self.format == "mini_swe_agent":
            return self.bash(
                "python3 - <<'PY'\nfrom pathlib import Path\n"
                f"p = Path({path!r})\ns = p.read_text()\nold = {_literal(old)}\nnew = {_literal(new)}\n"
                "assert s.count(old) == 1, f'expected one occurrence, found {s.count(old)}'\n"
                "p.write_text(s.replace(old, new))\nprint('ok', p)\nPY"
            )
        file, full = self.workdir / path, f"{self.workdir}/{path}"
        args = {"path": path, "old": old, "new": new}
        before = file.read_text(encoding="utf-8") if file.is_file() else None
        found = 0 if before is None else before.count(old)
        if before is None or found != 1:
            return self._add(Call("edit", args, self._edit_error(full, old, found, before), 1, True, before=before))
        after = before.replace(old, new)
        file.write_text(after, encoding="utf-8")
        line = before[: before.index(old)].count("\n")
        last = line + new.count("\n") + 1
        shown = after.split("\n")[max(0, line - 4) : last + 4]
        mark = "→" if self.format == "claude_code" else "\t"
        snippet = "\n".join(f"{max(0, line - 4) + i + 1:6d}{mark}{x}" for i, x in enumerate(shown))
        text = {
            "claude_code": f"The file {full} has been updated. "
            "Here's the result of running `cat -n` on a snippet of "
            f"the edited file:\n{snippet}",
            "pi": f"Successfully replaced text in {full}. Changed {len(old)} characters to {len(new)} characters.",
            "codex_rollout": f"Success. Updated the following files:\nM {full}\n",
        }.get(
            self.format,
            f"The file {full} has been edited. "
            f"Here's the result of running `cat -n` on a snippet of {full}:\n{snippet}\n"
            "Review the changes and make sure they are as expected (correct indentation, no duplicate "
            "lines, etc). Edit the file again if necessary.",
        )
        return self._add(Call("edit", args, text, before=before, after=after))

    def grep(self, pattern: str, path: str = ".") -> str:
        """Search the files with an extended regular expression."""
        command = f"grep -rnE --exclude-dir=node_modules --exclude-dir=.git -- {_quote(pattern)} {path}"
        if self.format != "claude_code":
            return self.bash(command)
        text, code = self._run(f"LC_ALL=C {command} | sed 's#^\\./##' | sort -t: -k1,1 -k2,2n")
        return self._add(
            Call("grep", {"pattern": pattern, "path": path}, text.rstrip("\n") or "No matches found", code)
        )

    def ls(self, path: str = ".") -> str:
        """List a folder."""
        if self.format != "claude_code":
            return self.bash(f"ls -p {path}" if path != "." else "ls -Ap")
        hidden = {"node_modules", ".git", "__pycache__", ".pytest_cache"}
        base = self.workdir / path
        lines = [f"- {base if path != '.' else self.workdir}/"]

        def walk(folder: Path, depth: int) -> None:
            for item in sorted(folder.iterdir(), key=lambda p: p.name):
                if item.name in hidden:
                    continue
                lines.append("  " * depth + f"- {item.name}" + ("/" if item.is_dir() else ""))
                if item.is_dir():
                    walk(item, depth + 1)

        walk(base, 1)
        return self._add(Call("ls", {"path": path}, "\n".join(lines)))

    def todo(self, items: Sequence[tuple[str, str]]) -> str:
        """Write the agent's to-do list; formats without such a tool keep it in TODO.md."""
        if self.format in {"mini_swe_agent", "pi", "swe_agent_traj"}:
            box = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
            return self.write("TODO.md", "".join(f"- {box[status]} {content}\n" for content, status in items))
        old, self._todos = self._todos, list(items)
        text = {
            "claude_code": "Todos have been modified successfully. "
            "Ensure that you continue to use the todo list to "
            "track your progress. Please proceed with the current tasks if applicable",
            "codex_rollout": "Plan updated",
        }.get(self.format, f"Task list has been updated with {len(items)} item(s).")
        return self._add(Call("todo", {"items": list(items), "old": old}, text))

    def parallel(self, steps: Callable[[], Any]) -> Any:
        """All calls made in `steps` belong to one assistant message."""
        self._group = self._open()
        try:
            return steps()
        finally:
            self._group = None

    def submit(self) -> str:
        """The last step of the SWE-agent family: show the patch and end the run (a plain diff elsewhere)."""
        if self.format in {"mini_swe_agent", "swe_agent_traj"}:
            return self.bash("git add -A && git diff --cached && echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
        return self.bash("git diff --stat")

    # -- inside ------------------------------------------------------------------------------------
    def _flush(self) -> None:
        if self._say or self._think:
            self._open()

    def _open(self) -> Turn:
        self._tick(3, 9, len(self._say) + len(self._think))
        turn = Turn("assistant", text=self._say, think=self._think, at=self.now)
        self._say = self._think = ""
        self.turns.append(turn)
        return turn

    def _add(self, call: Call) -> str:
        turn = self._group or self._open()
        self._tick(1, 4, len(json.dumps(call.args)))
        call.called = self.now
        self._tick(0, 3 if call.kind != "bash" else 8)
        call.done = self.now
        turn.calls.append(call)
        return call.text

    def _tick(self, low: int, high: int, chars: int = 0) -> None:
        """Let time go by: a number of seconds between `low` and `high`, and writing time for `chars`."""
        self._ticks += 1
        digest = int(hashlib.sha256(f"{self.name}:{self._ticks}".encode()).hexdigest()[:8], 16)
        self.now += timedelta(seconds=low + digest % (high - low + 1) + chars // 220, milliseconds=digest % 997)

    def _env(self) -> dict[str, str]:
        stamp = self.now.strftime("%Y-%m-%dT%H:%M:%S+00:00")
        who = self.meta.get("author", "Dana Kessler <dana@example.org>")
        person, mail = who.rstrip(">").split(" <")
        return {
            "PATH": f"{VENV}/bin:{self.workdir}/node_modules/.bin:/usr/bin:/bin",
            "HOME": str(self.scratch / "home"),
            "TMPDIR": str(self.scratch / "tmp"),
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "USER": "dev",
            "LOGNAME": "dev",
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NO_COLOR": "1",
            "NPM_CONFIG_UPDATE_NOTIFIER": "false",
            "NPM_CONFIG_FUND": "false",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": person,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_COMMITTER_NAME": person,
            "GIT_COMMITTER_EMAIL": mail,
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
            **self.meta.get("env", {}),
        }

    def _run(self, command: str) -> tuple[str, int]:
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.workdir,
            env=self._env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            raw, _ = process.communicate(timeout=TIMEOUT)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raw, _ = process.communicate()
            raw, code = raw + f"\n[command timed out after {TIMEOUT} seconds]".encode(), 124
            print(f"  {self.name}: timed out: {command[:100]!r}")
        return self._cut(self._scrub(raw.decode("utf-8", errors="replace"))), code

    def _scrub(self, text: str) -> str:
        """Take out what would tell about the machine of the recording."""
        text = ANSI.sub("", text).replace("\r\n", "\n")
        for here, there in _host_paths(self.scratch):
            text = text.replace(here, there)
        return text

    def _cut(self, text: str) -> str:
        if len(text) <= LIMIT:
            return text
        half = LIMIT // 2
        return f"{text[:half]}\n\n... [{len(text) - 2 * half} characters truncated] ...\n\n{text[-half:]}"

    def _edit_error(self, full: str, old: str, found: int, before: str | None) -> str:
        if before is None:
            return f"File does not exist: {full}"
        if self.format == "codex_rollout":
            return f"apply_patch verification failed: Failed to find expected lines in {full}:\n{old}"
        if self.format == "claude_code":
            if not found:
                return f"<tool_use_error>String to replace not found in file.\nString: {old}</tool_use_error>"
            return (
                f"<tool_use_error>Found {found} matches of the string to replace, but replace_all is false. "
                "To replace all occurrences, set replace_all to true. "
                "To replace only one occurrence, please provide more context "
                f"to uniquely identify the instance.\nString: {old}</tool_use_error>"
            )
        if not found:
            return f"No replacement was performed, old_str `{old}` did not appear verbatim in {full}."
        return f"No replacement was performed. {found} occurrences of old_str `{old}` in {full}. Make it unique."


def _literal(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') + '"""' if "\n" in text else repr(text)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _host_paths(scratch: Path) -> list[tuple[str, str]]:
    base = (VENV / "bin" / "python").resolve().parents[1]
    pairs = [
        (f"{scratch}/tmp", "/srv/scratch"),
        (f"{scratch}/home", "/srv/scratch/.home"),
        (str(VENV), "/opt/venv"),
    ]
    pairs += [(str(base), "/usr"), (str(ROOT), "/srv/checkout"), (str(Path.home()), "/srv/scratch/.home")]
    return [pair for pair in pairs if pair[0] not in {"/usr", "/"}]


# -- ids and sizes ---------------------------------------------------------------------------------
class Ids:
    """Ids that are the same at every recording: a hash of the session's name and a counter."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def uuid(self) -> str:
        self.count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"samples/{self.name}/{self.count}"))

    def short(self, prefix: str, size: int = 24) -> str:
        self.count += 1
        return prefix + hashlib.sha256(f"samples/{self.name}/{self.count}".encode()).hexdigest()[:size]


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def _size(turn: Turn) -> tuple[int, int]:
    """About how many tokens the agent wrote in this turn, and how many the results hold."""
    wrote = len(turn.text) + len(turn.think) + sum(len(json.dumps(c.args)) for c in turn.calls)
    return wrote // 4 + 1, sum(len(c.text) for c in turn.calls) // 4


# -- the writers -----------------------------------------------------------------------------------
def write_claude_code(s: Session) -> list[dict[str, Any]]:  # noqa: PLR0915 (one format, told in its order)
    """Claude Code session lines: one content block a line, a uuid tree, results in user lines."""
    ids, lines = Ids(s.name), []
    session = ids.uuid()
    parent: str | None = None
    context = 14_000
    names = {"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "grep": "Grep", "ls": "LS"}
    names["todo"] = "TodoWrite"
    label = {"pending", "in_progress", "completed"}

    def todos(items: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        assert all(status in label for _, status in items)
        return [{"content": c, "status": st, "activeForm": _active(c)} for c, st in items]

    def arguments(call: Call) -> dict[str, Any]:
        a, full = call.args, f"{s.workdir}/{call.args.get('path', '')}"
        if call.kind == "bash":
            return {"command": a["command"], "description": _describe(a["command"])}
        if call.kind == "read":
            return {"file_path": full} | {k: a[k] for k in ("offset", "limit") if a[k] is not None}
        if call.kind == "write":
            return {"file_path": full, "content": a["content"]}
        if call.kind == "edit":
            return {"file_path": full, "old_string": a["old"], "new_string": a["new"], "replace_all": False}
        if call.kind == "grep":
            where = str(s.workdir) if a["path"] == "." else full
            return {"pattern": a["pattern"], "path": where, "output_mode": "content", "-n": True}
        if call.kind == "ls":
            return {"path": str(s.workdir) if a["path"] == "." else full}
        return {"todos": todos(a["items"])}

    def structured(call: Call) -> Any:
        if call.error:
            return f"Error: Exit code {call.code}\n{call.text}" if call.kind == "bash" else f"Error: {call.text}"
        full = f"{s.workdir}/{call.args.get('path', '')}"
        if call.kind == "bash":
            return {"stdout": call.text, "stderr": "", "interrupted": False, "isImage": False}
        if call.kind == "read":
            count = call.text.count("\n") + 1
            first = call.args["offset"] or 1
            inner = "\n".join(line.partition("→")[2] for line in call.text.split("\n"))
            return {
                "type": "text",
                "file": {"filePath": full, "content": inner, "numLines": count, "startLine": first},
            }
        if call.kind == "write":
            kind = "create" if call.before is None else "update"
            body = {"type": kind, "filePath": full, "content": call.args["content"]}
            return body | {"structuredPatch": _hunks(call.before or "", call.after or "") if call.before else []}
        if call.kind == "edit":
            body = {"filePath": full, "oldString": call.args["old"], "newString": call.args["new"]}
            body |= {"originalFile": call.before, "userModified": False, "replaceAll": False}
            return body | {"structuredPatch": _hunks(call.before or "", call.after or "")}
        if call.kind == "grep":
            found = [] if call.text == "No matches found" else call.text.split("\n")
            return {
                "mode": "content",
                "numFiles": 0,
                "filenames": [],
                "content": call.text,
                "numLines": len(found),
            }
        if call.kind == "todo":
            return {"oldTodos": todos(call.args["old"]), "newTodos": todos(call.args["items"])}
        return call.text

    def envelope(kind: str, at: datetime, above: str | None) -> dict[str, Any]:
        line: dict[str, Any] = {"parentUuid": above, "isSidechain": False, "userType": "external"}
        line |= {"cwd": str(s.workdir), "sessionId": session, "version": "2.1.34", "gitBranch": "main"}
        return line | {"type": kind, "uuid": ids.uuid(), "timestamp": _iso(at)}

    for turn in s.turns:
        if turn.role == "user":
            line = envelope("user", turn.at, parent)
            line["message"] = {"role": "user", "content": turn.text}
            line |= {"thinkingMetadata": {"level": "high", "disabled": False, "triggers": []}, "todos": []}
            lines.append(line)
            parent, context = line["uuid"], context + len(turn.text) // 4
            continue
        if turn.role == "condensation":
            line = envelope("system", turn.at, None)
            line |= {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
            line |= {
                "logicalParentUuid": parent,
                "compactMetadata": {"trigger": "auto", "preTokens": context},
            }
            after = envelope("user", turn.at, line["uuid"])
            after["message"] = {"role": "user", "content": turn.text}
            after |= {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
            lines += [line, after]
            parent, context = after["uuid"], 14_000 + len(turn.text) // 4
            continue
        wrote, got = _size(turn)
        usage = {
            "input_tokens": 6,
            "cache_creation_input_tokens": max(200, got),
            "cache_read_input_tokens": context,
        }
        usage |= {"output_tokens": wrote}
        head = {"model": s.meta.get("model", "scripted"), "id": ids.short("msg_01", 22), "type": "message"}
        head |= {"role": "assistant"}
        request = ids.short("req_011", 20)
        blocks: list[tuple[dict[str, Any], datetime, Call | None]] = []
        if turn.think:
            blocks.append(
                (
                    {"type": "thinking", "thinking": turn.think, "signature": ids.short("Er", 60)},
                    turn.at,
                    None,
                )
            )
        if turn.text:
            blocks.append(({"type": "text", "text": turn.text}, turn.at, None))
        for call in turn.calls:
            use = {"type": "tool_use", "id": ids.short("toolu_01", 22), "name": names[call.kind]}
            blocks.append((use | {"input": arguments(call)}, call.called, call))
        used: list[tuple[Call, str, str]] = []
        for block, at, made in blocks:
            line = envelope("assistant", at, parent)
            stop = None if turn.calls else "end_turn"
            body = head | {"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
            line |= {"message": body, "requestId": request}
            lines.append(line)
            parent = line["uuid"]
            if made is not None:
                used.append((made, block["id"], line["uuid"]))
        for call, use_id, source in used:
            line = envelope("user", call.done, source)
            text = f"Exit code {call.code}\n{call.text}" if call.kind == "bash" and call.error else call.text
            if call.kind == "bash" and not call.error and not text:
                text = "(Bash completed with no output)"
            result: dict[str, Any] = {"tool_use_id": use_id, "type": "tool_result", "content": text}
            if call.error or call.kind == "bash":
                result["is_error"] = call.error
            line["message"] = {"role": "user", "content": [result]}
            line |= {"toolUseResult": structured(call), "sourceToolAssistantUUID": source}
            lines.append(line)
            parent = line["uuid"]
        context += wrote + got
    return lines


def write_codex_rollout(s: Session) -> list[dict[str, Any]]:  # noqa: PLR0915 (one format, told in its order)
    """Codex rollout lines: Responses items, token_count, and the UI's copies of messages as events."""
    ids, lines = Ids(s.name), []
    total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0}
    total["total_tokens"] = 0
    context = 6_000
    started = s.turns[0].at
    session = ids.uuid()

    def add(kind: str, payload: dict[str, Any], at: datetime) -> None:
        lines.append({"timestamp": _iso(at), "type": kind, "payload": payload})

    def message(role: str, text: str, at: datetime, **more: Any) -> None:
        part = "output_text" if role == "assistant" else "input_text"
        add(
            "response_item",
            {"type": "message", "role": role, "content": [{"type": part, "text": text}], **more},
            at,
        )

    git = {"commit_hash": s.meta.get("commit", ""), "branch": "main"}
    add(
        "session_meta",
        {"id": session, "timestamp": _iso(started), "cwd": str(s.workdir), "originator": "codex_cli_rs"}
        | {"cli_version": "0.142.2", "source": "cli", "model_provider": "openai", "git": git}
        | {"base_instructions": {"text": s.meta.get("system_prompt", "")}},
        started,
    )
    rules = "<permissions instructions>\nCommands run in a sandbox: `sandbox_mode` is `workspace-write`, "
    rules += "network access is restricted. Approval policy is `on-request`.\n</permissions instructions>"
    message("developer", rules, started)
    if s.meta.get("agents_md"):
        head = f"# AGENTS.md instructions for {s.workdir}\n\n<INSTRUCTIONS>\n"
        message("user", f"{head}{s.meta['agents_md']}\n</INSTRUCTIONS>", started)
    day = started.strftime("%Y-%m-%d")
    message(
        "user",
        f"<environment_context>\n  <cwd>{s.workdir}</cwd>\n  <shell>bash</shell>\n  <current_date>{day}"
        "</current_date>\n  <timezone>UTC</timezone>\n</environment_context>",
        started,
    )
    for index, turn in enumerate(s.turns):
        if turn.role == "condensation":
            raise ValueError("codex_rollout: a compaction of this format holds no summary; leave it out")
        if turn.role == "user":
            context_of: dict[str, Any] = {
                "turn_id": ids.uuid(),
                "cwd": str(s.workdir),
                "current_date": day,
                "timezone": "UTC",
            }
            context_of |= {"approval_policy": "on-request", "sandbox_policy": {"type": "workspace-write"}}
            add(
                "turn_context",
                context_of | {"model": s.meta.get("model", "scripted"), "effort": "medium"},
                turn.at,
            )
            message("user", turn.text, turn.at)
            add("event_msg", {"type": "user_message", "message": turn.text, "images": []}, turn.at)
            context += len(turn.text) // 4
            continue
        if turn.think:
            summary = [{"type": "summary_text", "text": turn.think}]
            payload = {
                "type": "reasoning",
                "id": ids.short("rs_", 40),
                "summary": summary,
                "encrypted_content": None,
            }
            add("response_item", payload, turn.at)
        last = index + 1 == len(s.turns) or s.turns[index + 1].role == "user"
        if turn.text:
            phase = "final_answer" if last and not turn.calls else "commentary"
            add("event_msg", {"type": "agent_message", "message": turn.text, "phase": phase}, turn.at)
            message("assistant", turn.text, turn.at, id=ids.short("msg_", 40), phase=phase)
        outputs: list[tuple[dict[str, Any], datetime]] = []
        for call in turn.calls:
            call_id = ids.short("call_", 24)
            wall = (call.done - call.called).total_seconds() / 10
            if call.kind in {"write", "edit"}:
                payload = {"type": "custom_tool_call", "id": ids.short("ctc_", 40), "status": "completed"}
                payload |= {"call_id": call_id, "name": "apply_patch", "input": _patch(call)}
                note = call.text if call.error else f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{call.text}"
                out = {"type": "custom_tool_call_output", "call_id": call_id, "output": note}
            else:
                if call.kind == "todo":
                    steps = [{"step": c, "status": st} for c, st in call.args["items"]]
                    name, args = "update_plan", json.dumps({"plan": steps}, ensure_ascii=False)
                    note = call.text
                else:
                    name = "exec_command"
                    args = json.dumps(
                        {"cmd": call.args["command"], "workdir": str(s.workdir), "max_output_tokens": 6000},
                        ensure_ascii=False,
                    )
                    note = f"Chunk ID: {ids.short('', 6)}\nWall time: {wall:.4f} seconds\n"
                    note += "Process exited with code "
                    note += f"{call.code}\nOriginal token count: {len(call.text) // 4}\nOutput:\n{call.text}"
                payload = {
                    "type": "function_call",
                    "id": ids.short("fc_", 40),
                    "name": name,
                    "arguments": args,
                }
                payload["call_id"] = call_id
                out = {"type": "function_call_output", "call_id": call_id, "output": note}
            add("response_item", payload, call.called)
            outputs.append((out, call.done))
        for out, at in outputs:
            add("response_item", out, at)
        wrote, got = _size(turn)
        step = {"input_tokens": context, "cached_input_tokens": int(context * 0.9), "output_tokens": wrote}
        step |= {"reasoning_output_tokens": len(turn.think) // 4, "total_tokens": context + wrote}
        total = {key: total[key] + step[key] for key in total}
        info = {"total_token_usage": dict(total), "last_token_usage": step, "model_context_window": 258_400}
        add(
            "event_msg",
            {"type": "token_count", "info": info, "rate_limits": None},
            outputs[-1][1] if outputs else turn.at,
        )
        context += wrote + got
    return lines


def write_openhands(s: Session) -> list[dict[str, Any]]:
    """OpenHands V1 events, all in one file (one event a line, in order)."""
    ids, events = Ids(s.name), []
    owner: list[int] = []

    def text(body: str) -> dict[str, Any]:
        return {"cache_prompt": False, "type": "text", "text": body, "enable_truncation": True}

    def add(kind: str, at: datetime, source: str, turn_no: int, **more: Any) -> str:
        event = {"id": ids.uuid(), "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.%f"), "source": source}
        events.append(event | more | {"kind": kind})
        owner.append(turn_no)
        return str(event["id"])

    tools = [
        {
            "kind": "TerminalTool",
            "title": "terminal",
            "description": "Run a bash command in a terminal session.",
        },
        {
            "kind": "FileEditorTool",
            "title": "file_editor",
            "description": "View, create and edit text files.",
        },
        {
            "kind": "TaskTrackerTool",
            "title": "task_tracker",
            "description": "Keep a list of the tasks of the work.",
        },
    ]
    add(
        "SystemPromptEvent",
        s.turns[0].at,
        "agent",
        -1,
        system_prompt=text(s.meta.get("system_prompt", "")),
        tools=tools,
    )
    for number, turn in enumerate(s.turns):
        if turn.role == "user":
            body = {"role": "user", "content": [text(turn.text)], "thinking_blocks": []}
            add(
                "MessageEvent",
                turn.at,
                "user",
                number,
                llm_message=body,
                activated_skills=[],
                extended_content=[],
            )
            continue
        if turn.role == "condensation":
            offset, kept = 4, turn.keep
            cut = number
            while kept > 0 and cut > 0:
                cut -= 1
                kept -= 1 + len(s.turns[cut].calls)
            gone = [str(e["id"]) for i, e in enumerate(events) if i >= offset and owner[i] < cut]
            seen = {x for e in events if e["kind"] == "Condensation" for x in e["forgotten_event_ids"]}
            gone = [x for x in gone if x not in seen]
            more: dict[str, Any] = {
                "forgotten_event_ids": gone,
                "summary": turn.text,
                "summary_offset": offset,
            }
            add("Condensation", turn.at, "environment", number, **more)
            continue
        response = ids.short("chatcmpl-", 32)
        if not turn.calls:
            body = {"role": "assistant", "content": [text(turn.text)], "thinking_blocks": []}
            if turn.think:
                body["reasoning_content"] = turn.think
            more = {
                "llm_message": body,
                "llm_response_id": response,
                "activated_skills": [],
                "extended_content": [],
            }
            add("MessageEvent", turn.at, "agent", number, **more)
            continue
        results: list[tuple[Call, dict[str, Any]]] = []
        for position, call in enumerate(turn.calls):
            name, arguments, action, observation = _openhands_call(s, call)
            call_id = ids.short("toolu_01", 22)
            more = {"thought": [text(turn.text)] if turn.text and position == 0 else []}
            if turn.think and position == 0:
                more["reasoning_content"] = turn.think
            more |= {"thinking_blocks": [], "action": action, "tool_name": name, "tool_call_id": call_id}
            flat = {"id": call_id, "name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
            more |= {
                "tool_call": flat | {"origin": "completion"},
                "llm_response_id": response,
                "security_risk": "LOW",
            }
            event_id = add("ActionEvent", call.called, "agent", number, **more)
            outcome: dict[str, Any] = {
                "tool_name": name,
                "tool_call_id": call_id,
                "observation": observation,
                "action_id": event_id,
            }
            results.append((call, outcome))
        for call, outcome in results:
            add("ObservationEvent", call.done, "environment", number, **outcome)
    return events


def _openhands_call(s: Session, call: Call) -> tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]:
    def content(body: str) -> list[dict[str, Any]]:
        return [{"cache_prompt": False, "type": "text", "text": body, "enable_truncation": True}]

    a = call.args
    if call.kind == "bash":
        meta = {"exit_code": call.code, "pid": -1, "username": "dev", "hostname": "devbox", "prefix": ""}
        meta |= {"working_dir": str(s.workdir), "py_interpreter_path": "/opt/venv/bin/python"}
        meta["suffix"] = f"\n[The command completed with exit code {call.code}.]"
        action = {"command": a["command"], "is_input": False, "reset": False, "kind": "TerminalAction"}
        seen = {"content": content(call.text.rstrip("\n")), "is_error": False, "command": a["command"]}
        seen |= {"exit_code": call.code, "timeout": False, "metadata": meta, "kind": "TerminalObservation"}
        return "terminal", {"command": a["command"], "security_risk": "LOW"}, action, seen
    if call.kind == "todo":
        states = {"pending": "todo", "in_progress": "in_progress", "completed": "done"}
        tasks = [{"title": c, "notes": "", "status": states[st]} for c, st in a["items"]]
        args: dict[str, Any] = {"command": "plan", "task_list": tasks}
        seen = {"content": content(call.text), "is_error": False, **args, "kind": "TaskTrackerObservation"}
        return "task_tracker", args, args | {"kind": "TaskTrackerAction"}, seen
    full = f"{s.workdir}/{a['path']}"
    body = call.text
    if call.kind == "read":
        args = {"command": "view", "path": full}
        if a["offset"] is not None or a["limit"] is not None:
            first = a["offset"] or 1
            args["view_range"] = [first, -1 if a["limit"] is None else first + a["limit"] - 1]
        if not call.error:
            body = f"Here's the result of running `cat -n` on {full}:\n{call.text}"
    elif call.kind == "write":
        args = {"command": "create", "path": full, "file_text": a["content"]}
    else:
        args = {"command": "str_replace", "path": full, "old_str": a["old"], "new_str": a["new"]}
    seen = {"content": content(body), "is_error": call.error, "command": args["command"], "path": full}
    seen |= {"prev_exist": call.before is not None or call.kind == "read", "old_content": call.before}
    seen |= {"new_content": call.after, "kind": "FileEditorObservation"}
    return "file_editor", args, args | {"kind": "FileEditorAction"}, seen


def write_pi(s: Session) -> list[dict[str, Any]]:  # noqa: PLR0915 (one format, told in its order)
    """Lines of a pi session (version 1: a plain list of messages)."""
    ids = Ids(s.name)
    model = s.meta.get("model", "scripted")
    base = {"provider": "anthropic", "modelId": model, "thinkingLevel": "medium"}
    started = s.turns[0].at
    lines: list[dict[str, Any]] = [
        {"type": "session", "id": ids.uuid(), "timestamp": _iso(started), "cwd": str(s.workdir)} | base
    ]
    context = 3_000
    for turn in s.turns:
        if turn.role == "condensation":
            first = max(1, len(lines) - turn.keep)
            while first > 1 and lines[first].get("message", {}).get("role") == "toolResult":
                first -= 1
            entry = {"type": "compaction", "timestamp": _iso(turn.at), "summary": turn.text}
            lines.append(entry | {"firstKeptEntryIndex": first, "tokensBefore": context})
            context = 3_000 + len(turn.text) // 4
            continue
        milli = int(turn.at.timestamp() * 1000)
        if turn.role == "user":
            said: dict[str, Any] = {
                "role": "user",
                "content": [{"type": "text", "text": turn.text}],
                "timestamp": milli,
            }
            lines.append({"type": "message", "timestamp": _iso(turn.at), "message": said})
            context += len(turn.text) // 4
            continue
        content: list[dict[str, Any]] = []
        if turn.think:
            content.append({"type": "thinking", "thinking": turn.think, "thinkingSignature": ids.short("Er", 60)})
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        results: list[dict[str, Any]] = []
        for call in turn.calls:
            call_id, a, full = (
                ids.short("toolu_01", 22),
                call.args,
                f"{s.workdir}/{call.args.get('path', '')}",
            )
            details: dict[str, Any] | None = None
            if call.kind == "bash":
                args: dict[str, Any] = {"command": a["command"]}
            elif call.kind == "read":
                args = {"path": full} | {k: a[k] for k in ("offset", "limit") if a[k] is not None}
            elif call.kind == "write":
                args = {"path": full, "content": a["content"]}
            else:
                args = {"path": full, "oldText": a["old"], "newText": a["new"]}
                if call.after is not None:
                    details = {"diff": "\n".join(_diff(call.before or "", call.after))}
            content.append({"type": "toolCall", "id": call_id, "name": call.kind, "arguments": args})
            text = call.text or "(no output)"
            if call.kind == "bash" and call.error:
                text += f"\n\nCommand exited with code {call.code}"
            result: dict[str, Any] = {"role": "toolResult", "toolCallId": call_id, "toolName": call.kind}
            result |= {"content": [{"type": "text", "text": text}], "isError": call.error}
            if details:
                result["details"] = details
            result["timestamp"] = int(call.done.timestamp() * 1000)
            results.append({"type": "message", "timestamp": _iso(call.done), "message": result})
        wrote, got = _size(turn)
        usage = {
            "input": 10,
            "output": wrote,
            "cacheRead": context,
            "cacheWrite": got,
            "totalTokens": context + wrote,
        }
        message: dict[str, Any] = {
            "role": "assistant",
            "content": content,
            "api": "anthropic-messages",
            "provider": "anthropic",
        }
        message |= {"model": model, "usage": usage, "stopReason": "toolUse" if turn.calls else "stop"}
        lines.append({"type": "message", "timestamp": _iso(turn.at), "message": message | {"timestamp": milli}})
        lines += results
        context += wrote + got
    return lines


def write_mini(s: Session) -> dict[str, Any]:
    """mini-swe-agent v2: OpenAI tool calls of the one bash tool, outputs wrapped as that harness does."""
    ids = Ids(s.name)
    messages: list[dict[str, Any]] = []
    if s.meta.get("system_prompt"):
        messages.append({"role": "system", "content": s.meta["system_prompt"]})
    steps = 0
    for turn in s.turns:
        if turn.role == "condensation":
            raise ValueError("mini_swe_agent has no compaction")
        if turn.role == "user":
            messages.append({"role": "user", "content": turn.text})
            continue
        calls: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for call in turn.calls:
            call_id = ids.short("call_00_", 24)
            arguments = json.dumps({"command": call.args["command"]}, ensure_ascii=False)
            entry = {"index": len(calls), "function": {"arguments": arguments, "name": "bash"}, "id": call_id}
            calls.append(entry | {"type": "function"})
            extra = {"raw_output": call.text, "returncode": call.code, "timestamp": call.done.timestamp()}
            shown = f"<returncode>{call.code}</returncode>\n<output>\n{call.text}</output>"
            results.append(
                {
                    "content": shown,
                    "extra": extra | {"exception_info": ""},
                    "tool_call_id": call_id,
                    "role": "tool",
                }
            )
        message: dict[str, Any] = {"content": turn.text, "role": "assistant"}
        if turn.think:
            message["reasoning_content"] = turn.think
        if calls:
            message["tool_calls"] = calls
        steps += 1
        actions = [
            {"command": json.loads(c["function"]["arguments"])["command"], "tool_call_id": c["id"]} for c in calls
        ]
        wrote, _ = _size(turn)
        usage = {
            "completion_tokens": wrote,
            "prompt_tokens": sum(len(str(m["content"])) for m in messages) // 4,
        }
        usage["total_tokens"] = usage["completion_tokens"] + usage["prompt_tokens"]
        response = {"id": ids.uuid(), "model": s.meta.get("model", "scripted"), "usage": usage}
        message["extra"] = {
            "actions": actions,
            "response": response,
            "cost": 0.0,
            "timestamp": turn.at.timestamp(),
        }
        messages.append(message)
        messages += results
    submission, _ = s._run("git add -A && git diff --cached")
    messages.append({"role": "exit", "content": submission, "extra": {"exit_status": "Submitted"}})
    messages[-1]["extra"]["submission"] = submission
    config = {"environment": {"cwd": str(s.workdir), "timeout": 60}, "agent": {"step_limit": 250}}
    info = {
        "model_stats": {"instance_cost": 0.0, "api_calls": steps},
        "config": config,
        "mini_version": "2.2.7",
    }
    info |= {"exit_status": "Submitted", "submission": submission}
    return {
        "info": info,
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1.1",
        "instance_id": s.name,
    }


def write_swe_agent(s: Session) -> dict[str, Any]:
    """SWE-agent 1.x: `history` with tool calls and observations, `trajectory` with one entry a step."""
    ids, history, trajectory = Ids(s.name), [], []
    history.append(
        {
            "role": "system",
            "content": s.meta.get("system_prompt", ""),
            "agent": "main",
            "message_type": "system_prompt",
        }
    )
    for turn in s.turns:
        if turn.role == "condensation":
            raise ValueError("swe_agent_traj has no compaction")
        if turn.role == "user":
            part = [{"type": "text", "text": turn.text}]
            history.append({"role": "user", "content": part, "agent": "main", "message_type": "observation"})
            continue
        calls, results = [], []
        for call in turn.calls:
            a, full = call.args, f"{s.workdir}/{call.args.get('path', '')}"
            if call.kind == "bash":
                name, args = "bash", {"command": a["command"]}
            elif call.kind == "read":
                name, args = "str_replace_editor", {"command": "view", "path": full}
                if a["offset"] is not None:
                    args["view_range"] = [a["offset"], a["offset"] + (a["limit"] or 200) - 1]
            elif call.kind == "write":
                name, args = (
                    "str_replace_editor",
                    {"command": "create", "path": full, "file_text": a["content"]},
                )
            else:
                name, args = "str_replace_editor", {"command": "str_replace", "path": full}
                args |= {"old_str": a["old"], "new_str": a["new"]}
            call_id = ids.short("call_", 24)
            function = {"name": name, "arguments": json.dumps(args, ensure_ascii=False)}
            calls.append({"function": function, "id": call_id, "type": "function"})
            part = [{"type": "text", "text": f"OBSERVATION:\n{call.text}"}]
            entry = {"role": "tool", "content": part, "agent": "main", "message_type": "observation"}
            results.append(entry | {"tool_call_ids": [call_id]})
        action = "\n".join(str(c.args.get("command", f"{c.kind} {c.args.get('path', '')}")) for c in turn.calls)
        message: dict[str, Any] = {
            "role": "assistant",
            "content": turn.text,
            "thought": turn.text,
            "action": action,
            "agent": "main",
        }
        message |= {"message_type": "action", "tool_calls": calls}
        history.append(message)
        history += results
        seen = "\n".join(c.text for c in turn.calls)
        state = {"working_dir": str(s.workdir)}
        trajectory.append(
            {"action": action, "observation": seen, "thought": turn.text, "response": turn.text} | {"state": state}
        )
    submission, _ = s._run("git add -A && git diff --cached")
    info: dict[str, Any] = {"exit_status": "submitted", "submission": submission}
    info |= {"model_stats": {"instance_cost": 0.0, "api_calls": len(trajectory)}}
    return {"environment": "main", "trajectory": trajectory, "history": history, "info": info}


WRITERS: dict[str, Callable[[Session], Any]] = {
    "claude_code": write_claude_code,
    "codex_rollout": write_codex_rollout,
    "openhands_v1_events": write_openhands,
    "pi": write_pi,
    "mini_swe_agent": write_mini,
    "swe_agent_traj": write_swe_agent,
}


# -- small helpers of the writers ------------------------------------------------------------------
def _active(content: str) -> str:
    """The -ing form Claude Code keeps with each to-do item ("Add tests" -> "Adding tests")."""
    verb, _, rest = content.partition(" ")
    low = verb.lower()
    if low.endswith("e") and not low.endswith("ee"):
        verb = verb[:-1]
    elif re.fullmatch(r"run|get|set|put|plan|stop|drop|cut|split", low):
        verb += verb[-1]
    return f"{verb}ing {rest}".strip()


def _describe(command: str) -> str:
    return "Run " + command.split("\n", maxsplit=1)[0][:60]


def _diff(before: str, after: str) -> list[str]:
    """A unified diff without the file names."""
    return list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=3))[2:]


def _hunks(before: str, after: str) -> list[dict[str, Any]]:
    """The diff in the shape of Claude Code's structuredPatch."""
    hunks: list[dict[str, Any]] = []
    for line in _diff(before, after):
        found = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if found:
            a, b, c, d = (int(x) if x else 1 for x in found.groups())
            hunks.append({"oldStart": a, "oldLines": b, "newStart": c, "newLines": d, "lines": []})
        else:
            hunks[-1]["lines"].append(line)
    return hunks


def _patch(call: Call) -> str:
    """A write or an edit in Codex's patch form."""
    path = call.args["path"]
    if call.kind == "write" and call.before is None:
        body = [f"*** Add File: {path}"] + [f"+{line}" for line in call.args["content"].rstrip("\n").split("\n")]
    elif call.after is None:
        body = [f"*** Update File: {path}", "@@"] + [f"-{x}" for x in call.args["old"].split("\n")]
        body += [f"+{x}" for x in call.args["new"].split("\n")]
    else:
        body = [f"*** Update File: {path}"]
        body += ["@@" if x.startswith("@@ ") else x for x in _diff(call.before or "", call.after)]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch"]) + "\n"


# -- one recording ---------------------------------------------------------------------------------
def _tools() -> None:
    """The python that the recorded commands see: a venv with pytest and nothing of ours in it."""
    if not (VENV / "bin" / "python").exists():
        subprocess.run(["python3", "-m", "venv", str(VENV)], check=True)
        subprocess.run([str(VENV / "bin" / "pip"), "install", "-q", "pytest"], check=True)


def _node_modules(project: Path, workdir: Path) -> None:
    """Install once what package.json names (it is no part of our tree) and copy it over."""
    package = project / "package.json"
    if not package.exists():
        return
    deps = json.loads(package.read_text()).get("devDependencies")
    if not deps:
        return
    cache = NODE_CACHE / hashlib.sha256(json.dumps(deps, sort_keys=True).encode()).hexdigest()[:12]
    if not (cache / "node_modules").exists():
        cache.mkdir(parents=True, exist_ok=True)
        shutil.copy(package, cache / "package.json")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=cache, check=True)
    shutil.copytree(cache / "node_modules", workdir / "node_modules", symlinks=True)


@contextlib.contextmanager
def _checkout(name: str, meta: dict[str, Any]) -> Iterator[Session]:
    """The project's copy as a git repository in its work directory, for as long as the script runs."""
    workdir, scratch = Path(meta["workdir"]), Path(f"/srv/.run-{name}")
    mark = workdir / ".git" / "sample-recording"
    if workdir.exists() and not mark.exists():
        raise SystemExit(f"{workdir} exists and is not ours: remove it first")
    for old in (workdir, scratch):
        shutil.rmtree(old, ignore_errors=True)
    project = PROJECTS / meta["project"]
    junk = shutil.ignore_patterns("__pycache__", ".pytest_cache", "node_modules", "*.pyc")
    shutil.copytree(project, workdir, ignore=junk)
    for folder in ("home", "tmp"):
        (scratch / folder).mkdir(parents=True)
    session = Session(name, meta, workdir, scratch)
    begin = session.now
    session.now = begin - timedelta(days=3, hours=2)
    try:
        first = meta.get("first_commit", "Import the project")
        text, code = session._run(f"git init -q -b main && git add -A && git commit -q -m {_quote(first)}")
        if code:
            raise SystemExit(text)
        mark.touch()
        meta["commit"] = session._run("git rev-parse HEAD")[0].strip()
        _node_modules(project, workdir)
        session.now = begin
        yield session
    finally:
        shutil.rmtree(workdir, ignore_errors=True)
        shutil.rmtree(scratch, ignore_errors=True)


def tokens(text: str) -> int:
    """o200k tokens when the vocabulary is at hand, else characters / 4."""
    try:
        from compaction.tokens import TiktokenCounter

        return TiktokenCounter().count(text)
    except ImportError:
        return len(text) // 4


def tally(turns: Sequence[Turn]) -> tuple[int, int]:
    """Messages (one per model response, one per result) and tokens of a session."""
    parts: list[str] = []
    messages = 0
    for turn in turns:
        messages += (turn.role != "condensation") + len(turn.calls)
        parts += [turn.text, turn.think]
        for call in turn.calls:
            kept = {k: v for k, v in call.args.items() if k != "old" or call.kind != "todo"}
            parts += [json.dumps(kept, ensure_ascii=False), call.text]
    return messages, tokens("\n".join(parts))


def record(name: str) -> Path:
    """Run one script and write its session; returns the file."""
    module = importlib.import_module(f"tests.samples.scripts.{name}")
    meta = dict(module.META)
    _tools()
    begun = time.monotonic()
    with _checkout(name, meta) as session:
        module.script(session)
        session._flush()
        data = WRITERS[meta["format"]](session)
    OUT.mkdir(parents=True, exist_ok=True)
    target = OUT / f"{name}{EXTENSIONS[meta['format']]}"
    if isinstance(data, list):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in data)
    else:
        text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    for here, there in _host_paths(Path(f"/srv/.run-{name}")):
        text = text.replace(here, there)
    target.write_text(text, encoding="utf-8")
    messages, size = tally(session.turns)
    failed = sum(call.error for turn in session.turns for call in turn.calls)
    print(
        f"{target.relative_to(ROOT)}: {messages} messages, {size} tokens, {failed} failed calls, "
        f"{len(text) // 1024} KiB, {time.monotonic() - begun:.0f} s"
    )
    leaks = sorted(set(re.findall(r"/(?:work|farm|root|home)/[^\s\"\\]*|/tmp/[^\s\"\\]*|pyenv[^\s\"\\]*", text)))
    if leaks:
        print("  paths of this machine:", leaks[:8])
    return target


def main() -> None:
    """Command line: names of scripts, or `all`."""
    parser = argparse.ArgumentParser(description="Record the sample sessions.")
    parser.add_argument("names", nargs="+")
    names = parser.parse_args().names
    if names == ["all"]:
        names = sorted(p.stem for p in (Path(__file__).parent / "scripts").glob("*.py") if p.stem != "__init__")
    for name in names:
        record(name)


if __name__ == "__main__":
    main()
