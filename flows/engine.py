"""The engine's parts by their specs: what summarises, asks, answers and judges.

A part is ``embedded`` (in the process, without a language model) or a language model behind the gateway of the run. A
part's ``name`` carries its version and goes into the ids of what it made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

import orjson

from compaction import NativeCompactor, Summarizer, TiktokenCounter, TokenCounter
from compaction.embedded import EmbeddedSummarizer
from compaction.summarizer import ModelSummarizer
from flows.ids import content_id
from flows.models.remote import Calls, RemoteCompactor, RemoteModel
from flows.models.settings import ModelSettings
from flows.study import Study
from judge import Judge, Prober, Responder, Rubric
from judge.embedded import EmbeddedJudge, EmbeddedProber, EmbeddedResponder
from judge.llm import ModelJudge, ModelResponder
from judge.llm.prober import ModelProber

Part = Literal["summarizer", "prober", "responder", "judge"]


class LazyCounter:
    """Exact counts; the vocabulary is loaded when the first text is counted."""

    def __init__(self, encoding: str) -> None:
        self.name = encoding

    @cached_property
    def _counter(self) -> TiktokenCounter:
        return TiktokenCounter(self.name)

    def count(self, text: str) -> int:
        """Tokens of a text, special tokens read as plain text."""
        return self._counter.count(text)


@dataclass(frozen=True)
class Engine:
    """All parts that one study works with."""

    counter: TokenCounter
    summarizer: Summarizer
    prober: Prober
    responder: Responder
    judge: Judge
    remote: frozenset[Part] = frozenset()
    """The parts that call a language model: they wait more than they work."""
    summarizes: ModelSettings | None = field(default=None)
    """The model that summarises; None for the embedded summariser."""

    @property
    def judge_id(self) -> str:
        """Hash of everything that the judge's scores depend on."""
        return content_id("judge", asdict(self.judge.version))

    def summarizer_for(self, replicate: int) -> Summarizer:
        """What summarises in one compaction; a language model's remembers what went wrong in it."""
        if self.summarizes is None:
            return self.summarizer
        return ModelSummarizer(RemoteModel(self.summarizes, gateway), replicate)

    def natives_for(self, replicate: int) -> Mapping[str, NativeCompactor]:
        """The provider that compacts on its side, by name, if the summarising model has one."""
        if self.summarizes is None:
            return {}
        return {self.summarizes.provider: RemoteCompactor(self.summarizes, gateway, replicate)}


_open: list[Calls] = []


def gateway() -> Calls:
    """The gateway of the run under way. Raises RuntimeError when none is open."""
    if not _open:
        raise RuntimeError("no run is under way that may call a model")
    return _open[-1]


@contextmanager
def calls_through(opened: Calls) -> Iterator[Calls]:
    """Have the models of this process call through a gateway, which is closed at the end."""
    _open.append(opened)
    try:
        yield opened
    finally:
        opened.close()
        _open.remove(opened)


def engine_for(study: Study) -> Engine:
    """The engine of a study; the same object for the same parts, so that what it has worked out is kept."""
    specs = (study.summarizer, study.prober, study.responder, study.judge)
    protocol = study.judge_protocol if study.judge != "embedded" else "study"
    return _engine(study.tokenizer, study.rubric, specs, orjson.dumps(study.models), protocol)


@lru_cache(maxsize=4)
def _engine(
    tokenizer: str, rubric: str, specs: tuple[str, str, str, str], models: bytes, protocol: Literal["study", "closed"]
) -> Engine:
    counter = LazyCounter(tokenizer)
    study = Study(rubric=rubric, models=orjson.loads(models))
    summarizer, prober, responder, judge = map(study.settings, specs)
    names: tuple[Part, ...] = ("summarizer", "prober", "responder", "judge")
    return Engine(
        counter=counter,
        summarizer=ModelSummarizer(RemoteModel(summarizer, gateway)) if summarizer else EmbeddedSummarizer(counter),
        prober=ModelProber(RemoteModel(prober, gateway), counter=counter) if prober else EmbeddedProber(),
        responder=ModelResponder(RemoteModel(responder, gateway)) if responder else EmbeddedResponder(),
        judge=_judge(judge, study.load_rubric(), counter, protocol),
        remote=frozenset(name for name, spec in zip(names, specs, strict=True) if spec != "embedded"),
        summarizes=summarizer,
    )


def _judge(
    settings: ModelSettings | None, rubric: Rubric, counter: TokenCounter, protocol: Literal["study", "closed"]
) -> Judge:
    if settings is None:
        return EmbeddedJudge(rubric, counter)
    return ModelJudge(RemoteModel(settings, gateway), rubric, protocol)
