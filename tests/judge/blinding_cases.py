"""Compacted contexts of every method, with all texts that a strategy can have taken something from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import flows.samples
from compaction import Message, Method, NotApplicable, SummaryError, SummaryRequest, compact
from compaction.methods import parse_method, parse_methods
from compaction.model import NativeRequest
from compaction.testing import CharacterCounter, ScriptedProvider, ScriptedSummarizer, history, talk
from compaction.tokens import counted
from compaction.transcript import RecordedCompaction
from flows.sources import discover, read_input
from judge.blinding import Blinder
from tests.compaction.histories import build, compacted, random_words
from tests.compaction.test_strategies import METHODS

BITING = (
    "af_py_tool_result(max_chars=60)",
    "af_py_tool_result(keep_last_tool_call_groups=0)",
    'af_net_tool_result(text="names",minimum_preserved_groups=0,trigger="tokens>1")',
    'af_net_tool_result(minimum_preserved_groups=0,trigger="tokens>1")',
    "codex_local(user_tokens=3)",
    "gemini_snapshot(output_tokens=0,output_chars=40)",
    "letta_sliding(clip_chars=30)",
    "structured_notes(all_notes_tokens=6,tail_tokens=20)",
    "sub_agent_contexts(tail_tokens=20,segment_tokens=30)",
    "opencode_summary(prune=true,prune_protect=0,prune_minimum=0,tail_tokens=4000)",
    "retrieval_bm25(target=60)",
    "retrieval_bm25(target=600)",
    "complexity_trap_summary(omit_turns=true,n=2)",
    "complexity_trap_hybrid(n=2,keep_last_m_turns=6,mask_n=1)",
    "clear_tool_uses(keep=0,clear_tool_inputs=true)",
    "mask_sweagent(n=1)",
    "mask_openhands_v0(attention_window=1)",
    'mask_openhands_v0(attention_window=1,mode="valid")',
    "inspect_edit(keep_tool_uses=0)",
    "tool_fifo",
    'tool_fifo(mode="faithful")',
    "pi_anchored_files(keep_recent_tokens=60)",
    'langchain_summary(keep=3,trim_tokens=1,mode="faithful")',
    'langchain_summary(keep=3,mode="faithful")',
    'file_index(over="empty")',
    'file_index(over="freeform_summary")',
    'file_index(over="head_tail",index_tokens=20)',
    'file_index(over="mask_sweagent(n=1)")',
    'constraint_pinning(over="empty")',
    'constraint_pinning(over="empty",pin_tokens=30)',
    'checklist(over="empty")',
    'checklist(over="empty",pin_tokens=20)',
    'pipeline(steps="mask_seed -> af_py_tool_result -> head_tail")',
    'pipeline(steps="clear_tool_uses(keep=1) -> autogen_head_tail")',
    'pipeline(steps="tool_fifo -> af_py_summarization(max_summary_input_tokens=100000)")',
    "roo_condense(condense=false)",
    "cline_auto_compact(condense=false)",
    "goose_summarize(cutoff=1,threshold=0)",
    "openai_compact",
    "anthropic_compact",
    "anthropic_clear(keep=1)",
    "anthropic_clear(keep=1,clear_tool_inputs=true)",
)
"""Methods with parameters that make them write what they seldom write."""

HEADINGS: tuple[Callable[[str], str], ...] = (
    lambda title: f"## {title}\n",
    lambda title: f"**{title}**\n",
    lambda title: f"3. {title}:\n",
    lambda title: f"{title}: ",
    lambda title: f"### {title}:\n",
    lambda title: f"**{title}:** ",
    lambda title: f"# {title.upper()}\n",
)
"""How models write the headings that they are asked for."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a method left of a history."""

    method: str
    context: tuple[Message, ...]
    history: tuple[Message, ...]
    summaries: tuple[str, ...]


def methods() -> dict[str, Method]:
    """Every strategy with parameters that bite on a short history, all variants, and what is made of strategies."""
    found = {f"{name} small": method for name, method in METHODS.items()}
    found |= {method.name: method for method in (*parse_methods("@all"), *map(parse_method, BITING))}
    return found


def free_text(number: int, request: SummaryRequest) -> tuple[str, str]:
    """A summary in one line, of words that stand nowhere else; and what it says, which is the same."""
    text = f"alpha{number} beta{number} gamma{number} delta{number} in file{number}.py"
    return text, text


def obedient(number: int, request: SummaryRequest) -> tuple[str, str]:
    """A summary in the form that the prompt asks for, as different models write it; and what it says, without it."""
    if not request.sections:
        prose = f"epsilon{number} zeta{number} eta{number}"
        return f"<summary>\n{prose}\n</summary>", prose
    heading = HEADINGS[number % len(HEADINGS)]
    blocks, said = [], []
    for place, section in enumerate(request.sections):
        word = f"{number}x{place}"
        lines = f"- theta{word} iota{word}\n- kappa{word} lambda{word} mu{word}"
        body = "- (none)" if place % 4 == 3 else lines
        said.append(lines)
        if number % len(HEADINGS) == 1 and section.title.islower():
            blocks.append(f"<{section.title}>\n{body}\n</{section.title}>")
        else:
            blocks.append(heading(section.title) + body)
    text = "\n\n".join(blocks)
    said += [f"- nu{number} xi{number}", f"- rho{number}"]
    if any("### Done" in section.ask for section in request.sections):
        text += f"\n\n### Done\n- [x] nu{number} xi{number}\n### In Progress\n- [ ] rho{number}\n### Blocked\n- (none)"
    if "[DONE]" in request.sections[-1].ask:
        text = f"<scratchpad>\nnu{number} xi{number}\n</scratchpad>\n<state_snapshot>\n{text}\n</state_snapshot>"
        text += f"\n- [DONE] rho{number}"
    return text, "\n".join(said)


def histories() -> Iterator[tuple[Message, ...]]:
    """Histories of every awkward shape, a plain one, and parts of real sessions."""
    yield from (build(random_words(seed)) for seed in (1, 4, 8, 11, 17))
    yield talk("s u a2 u a1 a3 a u a1 a1 u a2 a1", tokens=None)
    yield with_memory(talk("s u a1 u a1 a2 u a1", tokens=None))
    samples = Path(flows.samples.__path__[0])
    for name, end in (("auth_service.jsonl", 46), ("ledger.jsonl", 60)):
        for found in discover([str(samples / name)]):
            for transcript in read_input(found).transcripts:
                yield tuple(counted(m, CharacterCounter()) for m in transcript.messages[:end])


def with_memory(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The same with calls of a tool that stores text."""
    arguments = '{"command": "create", "file_text": "omega written down"}'
    calls = [tuple(replace(c, name="memory", arguments=arguments) for c in m.tool_calls) for m in messages]
    names = [m.tool_name and "memory" for m in messages]
    return tuple(replace(m, tool_calls=c, tool_name=n) for m, c, n in zip(messages, calls, names, strict=True))


@cache
def cases() -> tuple[Case, ...]:
    """The contexts of every method, from every history, with two summarisers."""
    return tuple(
        case
        for messages in histories()
        for name, method in methods().items()
        for answer in (free_text, obedient)
        if (case := _case(name, method, messages, answer)) is not None
    )


def _case(
    name: str, method: Method, messages: tuple[Message, ...], answer: Callable[[int, SummaryRequest], tuple[str, str]]
) -> Case | None:
    given: list[str] = []

    def say(request: SummaryRequest) -> str:
        text, said = answer(len(given) + len(messages), request)
        given.append(said)
        return text

    if answer is obedient and not method.needs_model:
        return None
    recorded: Sequence[RecordedCompaction] = [
        replace(c, cleared_text="[Old tool result content cleared]", summary=c.summary and continued(c.summary))
        for c in compacted(messages)
    ]
    size = sum(message.tokens or 0 for message in messages)
    asked = history(
        messages,
        budget=max(24, size // 3),
        summarizer=ScriptedSummarizer(say),
        recorded=recorded,
        provider=ScriptedProvider(_service),
    )
    try:
        left = compact(asked, method).messages
    except (SummaryError, NotApplicable):
        return None
    theirs = ("Told: sigma {} upsilon", *(found.summary for found in compacted(messages) if found.summary))
    return Case(name, left, messages, (*given, *theirs))


def _service(request: NativeRequest) -> Mapping[str, Any]:
    """A provider that repeats the form in which it is told of calls and results, in the tags of its own prompt."""
    text = "<summary>Told:\n[call without a result] sigma {}\n[result without a call] upsilon</summary>"
    if request.model:
        return ScriptedProvider().compact(request)[0]
    if request.provider == "openai":
        said = {"type": "message", "role": "user", "content": text.removeprefix("<summary>").removesuffix("</summary>")}
        return {"output": [said, {"type": "compaction", "encrypted_content": "gAAAA"}]}
    if "compaction" in request.body:
        return {"content": [{"type": "compaction", "content": text}]}
    return {"context_management": {"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3}]}}


def continued(summary: str) -> str:
    """A summary as an agent's log has it."""
    return (
        "This session is being continued from a previous conversation that ran out of room.\n\n"
        f"Summary:\n{summary}\n\nPlease continue the conversation from where we left off, without questions."
    )


COMMON = re.compile(
    r"\[removed\]|\[shortened\]|\[not readable\]"
    r"|^(?:summary|intent|files|decisions|errors|state|details|next_steps|free):$"
    r"|^(?:call|result:(?: \(error\))?|system:|user:|assistant:|thinking:) ?"
    r"|^- (?:\((?:done|open|in progress|todo)\) )?|\((?:examined|modified|created|deleted)\)",
    re.MULTILINE,
)
"""What all methods' contexts are written with."""


def unexplained(text: str, sources: str) -> set[str]:
    """What of a text stands neither in the sources nor in the forms that all contexts have: two words, or one."""
    found = set()
    for line in COMMON.sub("\n", text).splitlines():
        words = line.split()
        for pair in zip(words, words[1:] or words, strict=False):
            said = " ".join(dict.fromkeys(pair))
            if not _is_explained(said, pair, sources):
                found.add(said)
    return found


@cache
def _is_explained(said: str, pair: tuple[str, str], sources: str) -> bool:
    known = said in sources or all(_is_listed(word, sources) for word in pair)
    return known or said.replace(";", "") in sources


def _is_listed(word: str, sources: str) -> bool:
    """Whether a word is a name or a path that a list tells of, without what holds the list together."""
    name = word.strip("`,:;-")
    return not name or (word != name and name in sources) or ("/" in name and name.rpartition("/")[2] in sources)


@cache
def _sources(messages: tuple[Message, ...], summaries: tuple[str, ...], blinder: Blinder) -> str:
    said = [
        part for m in messages for part in (m.text, m.reasoning, *(f"{c.name} {c.arguments}" for c in m.tool_calls))
    ]
    return " ".join(" ".join((*said, *summaries, blinder.context(messages))).split())


def of_the_method(case: Case, blinder: Blinder) -> set[str]:
    """What a judge would see of a context that only the method can have written."""
    return unexplained(blinder.context(case.context), _sources(case.history, case.summaries, blinder))
