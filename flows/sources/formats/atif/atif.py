"""Harbor's Agent Trajectory Interchange Format (ATIF): steps that hold a response together with its results.

A run that was summarised continues in another file (``continued_trajectory_ref``): whichever file is read, the parts in
the folder are one session. Steps that were copied from an earlier part count there and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction.transcript import Transcript
from flows.sources.formats.atif import _terminus
from flows.sources.formats.atif._files import (
    TrajectoryPart,
    chain_parts,
    is_continuation,
    is_trajectory,
    native_id,
    open_part,
    parent_of,
    references,
    references_of,
)
from flows.sources.formats.atif._values import handed_over, is_handoff, is_refused_answer, says_error, text_of_content
from flows.sources.reading.account import Kind
from flows.sources.reading.base import Head, MalformedError, Record, Source, SourceFormat, kind_of
from flows.sources.reading.blocks import iso_time
from flows.sources.reading.identity import plain_id
from flows.sources.reading.session import BOOKKEEPING, MessageDraft, SessionDraft
from flows.sources.reading.usage import make_usage
from flows.sources.reading.values import as_dict, as_list, first_item, need_list, need_object, nested, text_or_none

NAME = "atif"
COPIED = "copied context"
_LEFT_BRANCH = "summary of a left branch"
_ROLES: dict[str, Kind] = {"system": "system", "user": "user", "agent": "assistant"}
_DEEPEST = 20


def detect(head: Head) -> bool:
    """Whether the file holds trajectories."""
    return any(map(is_trajectory, head.values()[:5]))


def read(source: Source) -> Iterator[Transcript]:
    """The run with its continuations, then its sub-agents; many trajectories in a file are a session each."""
    document = source.document
    if isinstance(document, dict):
        parts, missing = chain_parts(source, document)
        parent = parent_of(source, document) if not is_continuation(parts[0]) else None
        yield from _run(source, parts, parent, missing=missing)
        return
    for where, ref, value in source.values():
        if is_trajectory(value):
            yield from _run(source, [TrajectoryPart(ref, value)], None)
        else:
            source.quarantine(where, f"{ref}: expected a trajectory with steps", value)


def _run(
    source: Source, parts: list[TrajectoryPart], parent: str | None, *, missing: str | None = None, depth: int = 0
) -> Iterator[Transcript]:
    """A trajectory and its sub-agents; ``parent`` is the id of the run that started it."""
    native = native_id(parts[0], parent)
    run = _Run(source)
    for part in parts:
        run.part(part)
    if missing is not None:
        run.session.leave_out("continuation that is not in the folder")
    for built in run.session.build(NAME, native, parent_session_id=_session_id(parent)):
        native = native or built.session_id.removeprefix(f"{NAME}-")
        yield built
    for agent, side in run.sides.items():
        yield from side.session.build(NAME, f"{native or 'run'}.{agent}", parent_session_id=_session_id(native))
    if depth < _DEEPEST:
        yield from _sub_agents(source, parts, native, depth)


def _session_id(native: str | None) -> str | None:
    return f"{NAME}-{plain_id(native)}" if native else None


def _sub_agents(source: Source, parts: list[TrajectoryPart], native: str | None, depth: int) -> Iterator[Transcript]:
    """Yield the sub-agents in the file, then those in other files that the steps name."""
    taken: set[str] = set()
    for part in parts:
        for index, sub in enumerate(as_list(part.trajectory.get("subagent_trajectories"))):
            ref = f"{part.name}/subagent_trajectories#{index}"
            if not is_trajectory(sub):
                source.quarantine(None, f"{ref}: expected a trajectory with steps", sub)
                continue
            own = text_or_none(sub.get("trajectory_id"))
            taken.update({own} if own else ())
            # Ids of the run are shared by its sub-agents: the trajectory's own tells them apart.
            named = {**sub, "session_id": f"{native}.{own}"} if own and native else sub
            yield from _run(source, [TrajectoryPart(ref, named)], native, depth=depth + 1)
        for reference in references(part.trajectory):
            name = reference.get("trajectory_path")
            if reference.get("trajectory_id") in taken or not isinstance(name, str) or name in taken:
                continue
            taken.add(name)
            found = open_part(source, name)
            if found is None:
                source.account.leave_out("sub-agent that is not in the folder")
            else:
                yield from _run(source, [found], native, depth=_DEEPEST)


class _Run:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.session = SessionDraft(source)
        self.tokens: int | None = None
        self.copied: list[tuple[Kind, str]] = []
        self.is_terminus = False
        self.is_open = False
        self.name = ""
        self.has_usage = False
        self.sides: dict[str, _Run] = {}

    def part(self, part: TrajectoryPart) -> None:
        trajectory, self.name = part.trajectory, part.name
        self._agent(trajectory.get("agent"))
        self.copied = []
        self.is_open = is_continuation(part) or bool(self.session.drafts)
        for index, step in enumerate(trajectory["steps"]):
            ref = f"{part.name}#{index}"
            with self.source.setting_aside(None, ref, step):
                self._side(need_object(step, "a step"))._step(step, ref)
        self._join()
        self._totals(trajectory.get("final_metrics"))

    def _side(self, step: Record) -> _Run:
        """Claude Code's converter has the steps of sub-agents among those of the session, by their times."""
        extra = as_dict(step.get("extra"))
        if extra.get("is_sidechain") is not True:
            return self
        agent = text_or_none(extra.get("agent_id")) or "sidechain"
        if agent not in self.sides:
            self.sides[agent] = _Run(self.source)
            self.sides[agent].session.cwd = self.session.cwd
        return self.sides[agent]

    def _agent(self, agent: Any) -> None:
        if not isinstance(agent, dict):
            return
        self.is_terminus = str(agent.get("name")).lower().startswith("terminus")
        extra = as_dict(agent.get("extra"))
        folder = first_item(extra.get("cwds"), extra.get("cwd"))
        self.session.model = self.session.model or text_or_none(agent.get("model_name"))
        self.session.cwd = self.session.cwd or text_or_none(folder)

    def _totals(self, totals: Any) -> None:
        """The totals say what the steps do not; a continuation's hold those of the parts before it."""
        if isinstance(totals, dict) and not self.has_usage:
            names = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd")
            self.session.use("totals", make_usage(*(totals.get(name) for name in names)))

    def _step(self, step: Record, ref: str) -> None:
        kind = _ROLES.get(str(step.get("source")))
        if kind is None:
            raise MalformedError(f"source is {step.get('source')!r}, expected system, user or agent")
        text = text_of_content(step.get("message"))
        if step.get("is_copied_context") is True:
            self._copy(kind, text, step)
            return
        self._join()
        time, extra = iso_time(step.get("timestamp")), as_dict(step.get("extra"))
        if kind == "assistant":
            self._answer(text, step, extra, ref, time)
            return
        is_compaction = nested(extra, "context_management", "type") == "compaction"
        if kind == "system" and (is_compaction or (self.is_terminus and is_handoff(step))):
            self._note_compaction(step)
            return
        if kind == "system":
            self.session.say("system", text, ref, time)
        else:
            self.session.say("user", text, ref, time, typed=True)
        self._results(step, [], ref, time)

    def _copy(self, kind: Kind, text: str, step: Record) -> None:
        self.session.leave_out(COPIED, kind)
        calls, results = step.get("tool_calls"), (step.get("observation") or {}).get("results")
        self.session.leave_out(COPIED, "tool_call", len(as_list(calls)))
        self.session.leave_out(COPIED, "tool", len(as_list(results)))
        self.copied.append((kind, text))

    def _join(self) -> None:
        """Notes the compaction between two parts: new text among the copied steps replaces what was not copied."""
        if not (self.is_open and self.copied):
            return
        self.is_open = False
        copied, said = set(self.copied), self.session.drafts
        known = {(draft.role, "\n".join(draft.texts)) for draft in said}
        fresh = [text for kind, text in self.copied if (kind, text) not in known and text]
        self.session.compacted(
            summary="\n\n".join(fresh) or None,
            dropped=[draft for draft in said if (draft.role, "\n".join(draft.texts)) not in copied],
            tokens_before=self.tokens,
        )

    def _note_compaction(self, step: Record) -> None:
        """A notice of a compaction. Terminus keeps the task, and has its summary in the file of a sub-agent."""
        self.session.leave_out(BOOKKEEPING, "system")
        refs = list(references_of(step.get("observation")))
        said = self.session.drafts
        kept = {id(draft) for at, draft in enumerate(said) if draft.role == "system" or (self.is_terminus and at == 0)}
        summary = handed_over(self.source, refs)
        self.session.compacted(
            summary=summary,
            dropped=[draft for draft in said if id(draft) not in kept],
            tokens_before=self.tokens,
            has_opaque_summary=bool(refs) and summary is None,
        )

    def _answer(self, text: str, step: Record, extra: Record, ref: str, time: str | None) -> None:
        event = extra.get("pi_event_type")
        if event == "compaction":
            self.session.compacted(summary=text or None, dropped=None, tokens_before=extra.get("tokens_before"))
            self._use(step, ref)
            return
        if event in ("branch_summary", "tool_result_usage"):
            self.session.leave_out(_LEFT_BRANCH if event == "branch_summary" else BOOKKEEPING)
            self._use(step, ref)
            return
        draft = self.session.respond(None, ref, time)
        draft.add_reasoning(step.get("reasoning_content"))
        self.session.model = self.session.model or text_or_none(step.get("model_name"))
        self._use(step, ref)
        calls = need_list(step.get("tool_calls") or [], "tool_calls")
        is_refused = not calls and is_refused_answer(step)
        parsed = _terminus.parse_answer(text) if not calls and not is_refused else None
        draft.add_text(parsed[0] if parsed is not None else text)
        ids = [self._call(draft, call, ref) for call in calls]
        if parsed is not None:
            ids = [self.session.call(draft, None, parsed[1], parsed[2])]
        if is_refused:  # nothing ran: what follows is the harness asking again
            self.session.say("user", text_of_content(step["observation"]["results"][0].get("content")), ref, time)
            step = {**step, "observation": {"results": step["observation"]["results"][1:]}}
        self._results(step, [one for one in ids if one is not None], ref, time)

    def _call(self, draft: MessageDraft, call: Any, ref: str) -> str | None:
        if not isinstance(call, dict):
            self.source.quarantine(None, f"{ref}: a call is {kind_of(call)}, expected an object", call)
            return None
        name = call.get("function_name") or call.get("name")
        return self.session.call(draft, call.get("tool_call_id") or call.get("id"), name, call.get("arguments"))

    def _results(self, step: Record, ids: list[str], ref: str, time: str | None) -> None:
        observation = step.get("observation")
        results = nested(observation, "results")
        if observation is not None and not isinstance(results, list):
            raise MalformedError(f"observation is {kind_of(observation)}, expected an object with a list of results")
        results = results or []
        named = {one.get("source_call_id") for one in results if isinstance(one, dict)}
        free = [one for one in ids if one not in named]
        unnamed = sum(isinstance(one, dict) and one.get("source_call_id") is None for one in results)
        if unnamed == 1:
            free = free[-1:]  # the result of the step as a whole came after the last call
        for result in results:
            self._result(result, free, ref, time)

    def _result(self, result: Any, free: list[str], ref: str, time: str | None) -> None:
        if not isinstance(result, dict):
            self.source.quarantine(None, f"{ref}: a result is {kind_of(result)}, expected an object", result)
            return
        own, content, extra = result.get("source_call_id"), result.get("content"), result.get("extra")
        if own is None and content is None:
            self.session.leave_out(BOOKKEEPING)
            return
        if own is None and free:
            own = free.pop(0)
        self.session.result(own, text_of_content(content), ref, time, is_error=says_error(extra))

    def _use(self, step: Record, ref: str) -> None:
        metrics = as_dict(step.get("metrics"))
        names = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
        usage = make_usage(*(metrics.get(name) for name in names))
        if usage is not None:
            self.has_usage = True
            self.session.use(ref, usage)
            self.tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)


FORMAT = SourceFormat(
    NAME,
    "Harbor ATIF trajectory (Agent Trajectory Interchange Format), with continuations and sub-agents",
    "`schema_version` ATIF-v1 and `steps` of source system, user or agent",
    detect,
    read,
    order=120,
    is_made_of_others=True,
)
