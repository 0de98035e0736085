"""Probes that a language model writes and this code verifies.

The model is shown a part of the history (``probes.show``) and drafts questions with true answers and quotes
(``probes.reply``); every quote, name and number is looked up (``probes.check``), what the tool calls prove is put right
and completed (``probes.build``), and a question that the model answers without the history is dropped. docs/probes.md
tells it in full.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from importlib.resources import files
from string import Template

from compaction.code_version import identity_version
from compaction.methods import load_registry
from compaction.model import CallsStoppedError, Model, ModelError, ModelRequest
from compaction.points import CompactionPoint
from compaction.reading.message_facts import project_ops
from compaction.tokens import DEFAULT_ENCODING, TiktokenCounter, TokenCounter
from compaction.transcript import Message, Transcript
from judge.embedded.constraints import said_by_rule_givers
from judge.embedded.facts import SessionFacts
from judge.llm.data import json_text
from judge.llm.probes import check
from judge.llm.probes.build import BUILDERS, Ground
from judge.llm.probes.check import ProbeDropped
from judge.llm.probes.reply import SCHEMAS, ProbeDraft, parse_drafts
from judge.llm.probes.show import ShownHistory, draw_number, end_of, file_calls, history_windows, rule_givers
from judge.probe import PROBE_TYPES, NotAsked, Probe, ProbeFailed, ProbeType

VERSION = 4
"""Raise it when a model is shown or asked something else, or other drafts pass. The prompts take part by their text."""

SHOWN_TOKENS = 12_000
"""Tokens of the history that one call shows: some dozens of messages, enough for a decision and what came before it,
and a price a point that does not grow with the session."""

LEAST_SHOWN = 500
"""Tokens below which nothing worth asking for can be shown."""

WINDOWS = 2
"""Parts of the history that are tried for a fact or a decision: not every part has one."""

DRAFTS = 3
"""Questions that one call writes for a fact or a decision; the first that passes is asked."""

REPLY_TOKENS: dict[ProbeType, int] = {
    "recall": 1_500,
    "artifact": 3_000,
    "continuation": 2_500,
    "decision": 2_000,
    "constraint": 2_000,
}
"""Most tokens of a reply: about twice what the prompts ask for, since a reply that is cut off is none."""

GUESS_TOKENS = 500
"""Most tokens of a guess: a right one is right from its first items on, and a long one is worth no money."""

_SHOWN: dict[ProbeType, Callable[[SessionFacts, int, int, TokenCounter], ShownHistory | None]] = {
    "artifact": file_calls,
    "continuation": end_of,
    "constraint": rule_givers,
}
"""What is shown for the types that are not asked of windows of the history."""

_PROMPTS = ("rules", "guess", *PROBE_TYPES)
_NO_GUESS = ("blank", "refused", "truncated")
"""Kinds of errors by which a model does not come to a guess: then it does not know."""


class ModelProber:
    """Has a model write the probes of a point, and asks only what it can verify.

    Args:
        model: Any language model. It writes and it guesses, so a probe that passes is one that this model at least
            cannot answer from its own knowledge.
        counter: Counts what is shown; o200k when None.
        shown_tokens: Tokens of the history that one call shows.
    """

    def __init__(self, model: Model, *, counter: TokenCounter | None = None, shown_tokens: int = SHOWN_TOKENS) -> None:
        self._model = model
        self._given_counter = counter
        self._shown_tokens = shown_tokens
        self._own = threading.local()
        self._lock = threading.Lock()
        self._left_out: Counter[str] = Counter()
        identity = {
            "model": model.identity,
            "version": VERSION,
            "prompts": [*map(_prompt, _PROMPTS)],
            "shown_tokens": shown_tokens,
            "tokenizer": counter.name if counter else DEFAULT_ENCODING,
        }
        self.name = f"{model.name}@{identity_version(identity)}"

    @property
    def left_out(self) -> Counter[str]:
        """``type: what`` → how many drafts, quotes and parts were dropped, added or put right since it was made."""
        with self._lock:
            return Counter(self._left_out)

    def probes(self, transcript: Transcript, point: CompactionPoint) -> Sequence[Probe | NotAsked | ProbeFailed]:
        """One entry for each probe type, from the messages before the cut alone; the same for the same answers.

        A call that fails costs its type and no other. Raises CallsStoppedError when no call may be made any more.
        """
        facts = self._facts(transcript)
        history = cache(lambda: check.all_text(facts.messages[: point.cut_seq]))
        left_out: Counter[str] = Counter()
        stops: list[CallsStoppedError] = []

        def one(probe_type: ProbeType) -> Probe | NotAsked | ProbeFailed:
            def note(what: str) -> None:
                left_out[f"{probe_type}: {what}"] += 1

            try:
                return self._probe(probe_type, facts, point, history, note)
            except ModelError as error:
                return ProbeFailed(probe_type, str(error))
            except CallsStoppedError as stop:  # the calls of the other types can go into the same batch
                stops.append(stop)
                return ProbeFailed(probe_type, str(stop))

        found = tuple(map(one, PROBE_TYPES))
        if stops:
            raise stops[0]
        with self._lock:
            self._left_out += left_out
        return found

    def _probe(
        self,
        probe_type: ProbeType,
        facts: SessionFacts,
        point: CompactionPoint,
        history: Callable[[], str],
        note: Callable[[str], None],
    ) -> Probe | NotAsked:
        ground = Ground(facts, point.cut_seq, self._counter, _methods(), note, history)
        reasons = []
        try:
            for shown, drafts in self._write_drafts(probe_type, facts, point):
                for draft in drafts:
                    try:
                        probe = BUILDERS[probe_type](draft, shown, ground)
                        self._must_not_guess(probe)
                        return probe
                    except ProbeDropped as dropped:
                        note(dropped.reason)
                        reasons.append(dropped.reason)
        except ProbeDropped as dropped:
            reasons.append(dropped.reason)
        return NotAsked(probe_type, max(reasons, key=check.REASONS.index, default=check.NOTHING))

    def _write_drafts(
        self, probe_type: ProbeType, facts: SessionFacts, point: CompactionPoint
    ) -> Iterator[tuple[ShownHistory, list[ProbeDraft]]]:
        """Yield each shown history with the model's drafts, until enough probes are found.

        Raises Dropped when there is nothing to show, or the model's window is too small for it.
        """
        if probe_type == "artifact" and not _changes_files(facts, point.cut_seq):
            raise ProbeDropped(check.NO_FILES)
        if probe_type == "constraint" and not said_by_rule_givers(facts, point.cut_seq):
            raise ProbeDropped(check.NO_RULES)
        budget = self._shown_tokens
        while budget >= LEAST_SHOWN:
            try:
                for shown in self._parts(probe_type, facts, point, budget):
                    yield shown, self._write(probe_type, shown)
                return
            except ModelError as error:
                if error.kind != "overflow":
                    raise
                budget //= 2
        raise ProbeDropped(check.TOO_SMALL)

    def _parts(
        self, probe_type: ProbeType, facts: SessionFacts, point: CompactionPoint, budget: int
    ) -> Iterator[ShownHistory]:
        cut, counter = point.cut_seq, self._counter
        if probe_type in ("recall", "decision"):
            parts = history_windows(facts.messages[:cut], draw_number(point, probe_type), budget, counter, WINDOWS)
        else:
            parts = iter(filter(None, [_SHOWN[probe_type](facts, cut, budget, counter)]))
        first = next(parts, None)
        if first is None:
            raise ProbeDropped(check.TOO_SMALL)
        yield first
        yield from parts

    def _write(self, probe_type: ProbeType, shown: ShownHistory) -> list[ProbeDraft]:
        rules = Template(_prompt("rules")).substitute(task=Template(_prompt(probe_type)).substitute(drafts=DRAFTS))
        data = f"<session>\n{shown.text}\n</session>\n\nThe session ends here. Write the JSON that you were told to."
        request = ModelRequest(
            (Message("system", rules), Message("user", data)),
            REPLY_TOKENS[probe_type],
            SCHEMAS[probe_type],
            check=partial(parse_drafts, probe_type),
        )
        return parse_drafts(probe_type, self._model.complete(request).text)[:DRAFTS]

    def _must_not_guess(self, probe: Probe) -> None:
        """Raises Dropped when the model states the truth without having seen anything."""
        messages = (Message("system", _prompt("guess")), Message("user", json_text({"question": probe.question})))
        try:
            guess = self._model.complete(ModelRequest(messages, GUESS_TOKENS)).text
        except ModelError as error:
            if error.kind not in _NO_GUESS:
                raise
            return
        if check.guessed_share(probe, guess) >= check.GUESSED_SHARE:
            raise ProbeDropped(check.GUESSED)

    @cached_property
    def _counter(self) -> TokenCounter:
        return self._given_counter or TiktokenCounter()

    def _facts(self, transcript: Transcript) -> SessionFacts:
        """The session's facts; each thread keeps those of its last session."""
        facts: SessionFacts | None = getattr(self._own, "facts", None)
        if facts is None or facts.transcript is not transcript:
            facts = self._own.facts = SessionFacts(transcript)
        return facts


def _changes_files(facts: SessionFacts, cut: int) -> bool:
    ledger = facts.ledger(cut)
    return bool(project_ops([*ledger.created.values(), *ledger.modified.values()]))


@cache
def _prompt(name: str) -> str:
    return files("judge").joinpath("prompts", f"probe_{name}.md").read_text(encoding="utf-8").strip()


@cache
def _methods() -> frozenset[str]:
    """Names of methods that are no words of a language."""
    return frozenset(name.lower() for name in load_registry() if "_" in name)
