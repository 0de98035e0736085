"""Cline's task history (``api_conversation_history.json``, ``<session>.messages.json``), and that of Roo and Kilo Code.

Messages of Anthropic's API as they were sent. Results are plain text under a heading, in the order of the calls; newer
versions have results with ids. Older versions have the calls as XML in the text of the answer. ``ui_messages.json`` in
the same folder says when, for what price, and what the truncation of the context took away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.cline import _text as texts
from flows.sources.formats.cline._condensed import Condensings, is_condensed
from flows.sources.formats.cline._parts import blocks_of_answer, blocks_of_prompt, usage_of
from flows.sources.formats.cline._screen import Screen, read_screen
from flows.sources.reading.anthropic_blocks import Turns, blocks_of, is_result, prompt_text, visible_text
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import first_line, iso_time
from flows.sources.reading.inputs import plain_name
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.siblings import load_sibling, sibling_path
from flows.sources.reading.values import as_dict, first_text, need_list, nested, objects_in, text_or_none

NAME = "cline"
_HISTORY = "api_conversation_history.json"
_SESSION = ".messages.json"
_TASK_ID = re.compile(r"\d{13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOOKED_AT = 8
_TREE_KEYS = ("condenseParent", "condenseId", "truncationParent", "truncationId")


def detect(head: Head) -> bool:
    """Whether one of the first messages has Cline's details of the environment, headings or fields."""
    document = head.document
    if isinstance(document, dict):
        messages = objects_in(document.get("messages"))
        has_mark = head.name.endswith(_SESSION) or any("modelInfo" in one or "metrics" in one for one in messages)
        return "sessionId" in document and has_mark and any("role" in one for one in messages)
    messages = objects_in(document)[:_LOOKED_AT]
    if not any(one.get("role") in ("user", "assistant") for one in messages):
        return False
    if any("tool_calls" in one or one.get("role") == "tool" for one in messages):
        return False
    return any(_is_own(message) for message in messages) or head.name.endswith(_HISTORY)


def _is_own(message: Record) -> bool:
    if "modelInfo" in message or any(key in message for key in _TREE_KEYS):
        return True
    if message.get("role") != "user" or not isinstance(message.get("content"), (str, list)):
        return False
    for block in blocks_of(message):
        text = nested(block, "text")
        if isinstance(text, str) and (
            "<environment_details>\n" in text or ((named := texts.heading(text)) and named[0] in texts.TOOLS)
        ):
            return True
    return False


def read(source: Source) -> list[Transcript]:
    """The session of the file."""
    document = source.document
    about = as_dict(document)
    messages = need_list(about.get("messages") if about else document, "messages")
    task = _Task(source, messages, read_screen(source), _compaction_beside(source))
    prompt = text_or_none(about.get("systemPrompt") or about.get("system_prompt"))
    if prompt:
        task.session.say("system", prompt, source.name)
    for index, message in enumerate(messages):
        task.take(index, message)
    task.condensings.place(task.spans)
    folder = source.input.path.absolute().parent.name
    native = text_or_none(about.get("sessionId")) or (folder if _is_task(source, folder) else None)
    return task.session.build(NAME, native)


def _compaction_beside(source: Source) -> Record:
    """The context after the last compaction (since version 4), which stands in a file of its own; empty without one."""
    name, ending, _ = source.name.partition(_SESSION)
    path = sibling_path(source, f"{name}.compaction.json") if ending else None
    return as_dict(load_sibling(path)) if path is not None else {}


def _number_compacted(messages: list[Any], compaction: Record) -> int | None:
    """Count the messages before the compaction; None without one.

    Where the file does not say it: behind the last message that it kept, or at the end where its summary comes last.
    """
    context = objects_in(compaction.get("messages"))
    if not context:
        return None
    number = compaction.get("source_message_count")
    if isinstance(number, int) and 0 < number <= len(messages):
        return number
    said = [(nested(one, "role"), nested(one, "content")) for one in messages]
    last = (context[-1].get("role"), context[-1].get("content"))
    return len(said) - said[::-1].index(last) if last in said else len(said)


def _is_task(source: Source, folder: str) -> bool:
    """Whether the folder is the task's own: beside the file of this name stand those of one task only."""
    return plain_name(source.name) == _HISTORY and _TASK_ID.fullmatch(folder) is not None


@dataclass
class _OpenResult:
    """A result that may get more blocks."""

    name: str
    texts: list[str]
    body: str
    """What stands below the heading."""


class _Task:
    def __init__(self, source: Source, messages: list[Any], screen: Screen, compaction: Record) -> None:
        self.source = source
        self.messages = messages
        self.screen = screen
        self.compaction = compaction
        self.number_compacted = _number_compacted(messages, compaction)
        self.session = SessionDraft(source)
        self.turns = Turns(self.session)
        self.open: list[tuple[str, str]] = []
        self.spans: list[tuple[int, int]] = []
        self.condensings = Condensings(self.session, messages, screen.condensed)
        self.has_usage = any(isinstance(nested(one, "metrics"), dict) for one in messages)
        if not self.has_usage:
            for usage in screen.usage:
                self.session.use(None, usage)

    def take(self, index: int, message: Any) -> None:
        start = len(self.session.drafts)
        with self.source.setting_aside(None, f"message {index}", message):
            self._message(index, message)
        self.spans.append((start, len(self.session.drafts)))
        removed = self.screen.removed.pop(index, None)
        if removed is not None:
            self.session.compacted(summary=None, dropped=self._between(*removed))
        if index + 1 == self.number_compacted:
            self._note_compaction()

    def _note_compaction(self) -> None:
        """Notes a compaction of Cline 4: messages outside the context are dropped, new ones in it are the summary."""
        context = objects_in(self.compaction.get("messages"))
        left = [(one.get("role"), one.get("content")) for one in context]
        so_far = [(nested(one, "role"), nested(one, "content")) for one in self.messages[: len(self.spans)]]
        dropped = [at for at, message in enumerate(so_far) if message not in left]
        made = [at for at, message in enumerate(left) if message not in so_far]
        told = [visible_text(block) or "" for at in made for block in blocks_of(context[at])]
        event = self.session.compacted(
            summary="\n".join(filter(None, told)), dropped=[draft for at in dropped for draft in self._between(at, at)]
        )
        before = [at for at, message in enumerate(so_far) if made and message in left[: made[0]]]
        if before:
            prompts = sum(draft.role == "system" for draft in self.session.drafts[: self.spans[0][0]])
            event["summary_at"] = prompts + sum(len(self._between(at, at)) for at in before)

    def _message(self, index: int, message: Any) -> None:
        if not isinstance(message, dict):
            raise MalformedError(f"expected an object, found {kind_of(message)}")
        ref = f"{self.source.name}#{index}"
        time = iso_time(message.get("ts")) or iso_time(self.screen.times.get(index))
        if is_condensed(message):
            self.condensings.take(message, self.spans)
        elif message.get("type") == "reasoning" and not message.get("content"):
            self.session.leave_out(BOOKKEEPING)  # Roo Code: encrypted
        elif message.get("role") == "assistant":
            self._answer(index, message, ref, time)
        elif message.get("role") == "user":
            self._prompt(index, message, ref, time)
        else:
            self.turns.take(message, ref, time=time)

    def _answer(self, index: int, message: Record, ref: str, time: str | None) -> None:
        blocks = blocks_of_answer(message)
        draft = self.turns.answer({"role": "assistant", "content": blocks}, ref, time)
        if draft is None:
            return
        if not draft.calls:
            self._calls_in_text(draft)
        self.open = [(call.id, call.name) for call in draft.calls]
        about = as_dict(message.get("modelInfo"))
        self.session.model = self.session.model or first_text(about.get("modelId"), about.get("id"))
        self.session.use(f"message {index}", usage_of(as_dict(message.get("metrics"))))

    def _calls_in_text(self, draft: MessageDraft) -> None:
        reasoning, text = texts.reasoning_of("\n".join(draft.texts))
        text, calls = texts.calls_of(text)
        if reasoning or calls:
            draft.texts = [text] if text else []
            draft.add_reasoning(reasoning)
        for name, arguments in calls:
            self.session.call(draft, None, name, arguments)

    def _prompt(self, index: int, message: Record, ref: str, time: str | None) -> None:
        """The results first, each under its heading, then what else the turn says."""
        rest: list[str] = []
        typed = False
        held: _OpenResult | None = None
        for block in blocks_of_prompt(message):
            if is_result(nested(block, "type")):
                self._numbered(block, ref, time)
                continue
            text = visible_text(block) or ""
            named, skipped = texts.heading(text), texts.not_run(text)
            if named is not None and (self.open or named[0] in texts.TOOLS):
                self._flush(held, ref, time)
                held = _OpenResult(named[0], [text], named[1])
            elif skipped is not None and self.open:
                self._flush(held, ref, time)
                held = None
                self._result(skipped, text, ref, time, failed=True)
            elif held is not None and not texts.is_notice(text) and (not held.body or block.get("type") != "text"):
                held.texts.append(text)
                held.body = held.body or text
            else:
                rest.append(text)
                typed = typed or not text.lstrip().startswith(("<environment_details>", "# t", "# T", "["))
        self._flush(held, ref, time)
        if rest or not blocks_of(message):
            self._say("\n".join(rest), ref, time, typed)

    def _say(self, text: str, ref: str, time: str | None, typed: bool) -> None:
        self.session.say("user", text, ref, time, typed=typed)
        task = texts.task_of(text)
        if task and self.session.title is None:
            self.session.title = first_line(task)
        self.session.cwd = self.session.cwd or texts.folder_of(text)
        self.session.model = self.session.model or texts.model_of(text)

    def _numbered(self, block: Record, ref: str, time: str | None) -> None:
        condensed = next((name for own, name in self.open if own == block.get("tool_use_id")), None)
        text = prompt_text(block.get("content"))
        if condensed == "summarize_task" and texts.CONTINUED in text[:1000]:
            self._flush(_OpenResult(condensed, [text], text), ref, time)
            return
        draft = self.turns.result(block, ref, time)
        self.open = [one for one in self.open if one[0] != block.get("tool_use_id")]
        if draft is not None:
            named = texts.heading(text)
            draft.is_error = draft.is_error or texts.says_failure(named[1] if named else text)

    def _flush(self, held: _OpenResult | None, ref: str, time: str | None) -> None:
        if held is None:
            return
        text = "\n".join(held.texts)
        if held.name == "summarize_task" and texts.CONTINUED in text[:1000]:
            self._take_open(held.name)
            self._note_shortening(text, last=len(self.spans) - 1)
            return
        self._result(held.name, text, ref, time, failed=texts.says_failure(held.body))
        if held.name == "condense" and texts.ACCEPTED in text[:1000]:
            self._note_shortening(None, last=len(self.spans) - 2)

    def _result(self, name: str, text: str, ref: str, time: str | None, *, failed: bool) -> None:
        self.session.result(self._take_open(name), text, ref, time, is_error=failed, name=name)

    def _take_open(self, name: str) -> str | None:
        """The call of a result without an id: the first open call of its name, else the first open call."""
        at = next((at for at, call in enumerate(self.open) if call[1] == name), 0)
        return self.open.pop(at)[0] if self.open else None

    def _note_shortening(self, summary: str | None, last: int) -> None:
        """Cline's own summary: the first exchange stays, up to ``last`` the rest leaves the context."""
        index = len(self.spans)
        told = next((at for at in range(index - 1, index + 2) if at in self.screen.removed), None)
        first, last = self.screen.removed.pop(told) if told is not None else (2, last)
        self.session.compacted(summary=summary, dropped=self._between(first, last))

    def _between(self, first: int, last: int) -> list[MessageDraft]:
        """The messages that the history's messages from ``first`` to ``last`` were turned into."""
        spans = self.spans[max(first, 0) : last + 1]
        return [draft for start, end in spans for draft in self.session.drafts[start:end]]


FORMAT = SourceFormat(
    NAME,
    "Cline, Roo Code or Kilo Code task history (api_conversation_history.json)",
    "a list of messages with <environment_details>, `[read_file for '…'] Result:` or Cline's modelInfo",
    detect,
    read,
    order=200,
    version=4,
)
