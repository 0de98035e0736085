"""The agents of a session of Copilot CLI: the main one, and those that it started."""

from __future__ import annotations

from collections.abc import Iterator

from compaction.transcript import Transcript
from flows.sources.formats.copilot._parts import AgentSession
from flows.sources.reading.base import Record, Source
from flows.sources.reading.blocks import text_of
from flows.sources.reading.values import first_text


class Agents:
    """The sessions of all agents while they are read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.by_key: dict[str | None, AgentSession] = {None: AgentSession(source, None)}
        """An agent's key, None for the main one → its session."""
        self.native: str | None = None
        self.owners: dict[str, AgentSession] = {}
        """Id of a call → the agent that asked for it."""
        self.started: dict[str, Record] = {}
        """Id of a call → the sub-agent that it started; also by the sub-agent's own id."""
        self.keys: dict[str, str] = {}
        """Id of a call → the own id of the sub-agent that it started."""
        self.tasks: dict[str, str] = {}
        """Prompt of a sub-agent that has started → its key: not all versions say whose the first prompt is."""

    def find(self, event: Record, data: Record) -> AgentSession:
        """The session of the agent that an event belongs to."""
        key = first_text(event.get("agentId"), data.get("parentToolCallId"))
        if event.get("type") == "user.message":
            key = key or self.tasks.pop(text_of(data.get("content")), None)
        if str(event.get("type")).startswith("subagent."):
            if key is not None:
                self.started[key] = data
                self.keys[str(data.get("toolCallId"))] = key
            key = None  # what the main agent tells of another
        if key not in self.by_key:
            self.by_key[key] = AgentSession(self.source, key)
        return self.by_key[key]

    def build(self, name: str) -> Iterator[Transcript]:
        """The main session, then the sub-agents."""
        in_total = self.by_key[None].add_usage()  # the totals of a run hold those of its sub-agents
        for key, agent in self.by_key.items():
            agent.say_announced()
            for text in agent.reasoning:
                agent.session.respond("reasoning at the end", self.source.name).add_reasoning(text)
            native, parent = self.native, None
            if key is not None:
                about = self.started.get(key, {})
                agent.session.title = first_text(about.get("agentDisplayName"), about.get("agentName"))
                started_by = self.owners.get(key) or self.owners.get(str(about.get("toolCallId")))
                parent = self._name(started_by or self.by_key[None])
                native = self._name(agent)
                agent.session.cwd = agent.session.cwd or self.by_key[None].session.cwd
                if not in_total:
                    agent.add_usage()
            if not agent.session.drafts and key is not None:
                continue
            started_from = f"{name}-{parent}" if parent is not None else None
            yield from agent.session.build(name, native, parent_session_id=started_from)

    def _name(self, agent: AgentSession) -> str | None:
        if self.native is None:
            return None
        return self.native if agent.key is None else f"{self.native}-{agent.key}"


def rewound_positions(records: list[Record]) -> set[int]:
    """Positions of the events that a rewind took back: from the named event up to the rewind."""
    places: dict[str, int] = {}
    gone: set[int] = set()
    for at, record in enumerate(records):
        data, own = record.get("data"), record.get("id")
        if record.get("type") == "session.snapshot_rewind" and isinstance(data, dict):
            start = places.get(str(data.get("upToEventId")))
            gone.update(range(at if start is None else start, at))
        elif isinstance(own, str):
            places.setdefault(own, at)
    return gone
