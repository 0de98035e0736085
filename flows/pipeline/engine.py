"""The engine's parts by their specs: what summarises, asks, answers and judges.

A part is ``embedded`` (in the process, without a language model) or a language model behind the gateway of the run. A
part's ``name`` carries its version and goes into the ids of what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import orjson

from compaction import Method, NativeCompactor, Summarizer, TiktokenCounter, TokenCounter
from compaction.strategies.recovery import fetches_of
from compaction.summarizers.extractive import EmbeddedSummarizer
from compaction.summarizers.model import ModelSummarizer
from flows.config.study import Study
from flows.llm.remote_model import Calls, RemoteCompactor, RemoteModel
from flows.llm.settings import ModelSettings
from flows.support.ids import content_id
from judge import Judge, Prober, Responder
from judge.embedded import EmbeddedJudge, EmbeddedProber, EmbeddedResponder
from judge.llm import ModelJudge, ModelResponder, PackedJudge
from judge.llm.actor import ModelActor
from judge.llm.prober import ModelProber
from judge.llm.recovery import RecoveringResponder
from judge.panel import PanelJudge, PanelRule

Role = Literal["summarizer", "prober", "responder", "judge"]


def judge_id_of(judge: Judge) -> str:
    """Hash of all settings that change a judge's scores."""
    return content_id("judge", asdict(judge.version))


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


def no_gateway() -> Calls:
    """The gateway of an engine that is not to call a model. Raises RuntimeError."""
    raise RuntimeError("no run is under way that may call a model")


@dataclass(frozen=True)
class Engine:
    """All parts of a study's measurement: counter, summariser, prober, responder, judge."""

    counter: TokenCounter
    summarizer: Summarizer
    prober: Prober
    responder: Responder | EmbeddedResponder
    judge: Judge
    actor: ModelActor | None = None
    """Says the next action, by the model that answers; None for the embedded responder."""
    recovering: RecoveringResponder | None = None
    """Answers where a method lets it fetch dropped messages; None for the embedded responder."""
    remote: frozenset[Role] = frozenset()
    """The parts that call a model: they wait more than they work. Embeddings are asked for where summaries are."""
    summarizes: ModelSettings | None = field(default=None)
    """The model that summarises; None for the embedded summariser."""
    embedders: tuple[ModelSettings, ...] = ()
    """The models for embeddings that there is a key for, or an address of one's own."""
    gateway: Callable[[], Calls] = no_gateway
    """What the models call through."""

    @cached_property
    def judge_id(self) -> str:
        """Hash of all settings that change the judge's scores."""
        return judge_id_of(self.judge)

    @cached_property
    def judges(self) -> Mapping[str, Judge]:
        """The judges that are asked, by id: the judge, or the members of a panel."""
        return self.judge.members if isinstance(self.judge, PanelJudge) else {self.judge_id: self.judge}

    def answerer(self, method: Method) -> str:
        """Name of what answers from a method's contexts: the responder, or the one that may fetch what was dropped."""
        return self.recovering.name if self.recovering and fetches_of(method) else self.responder.name

    def summarizer_for(self, replicate: int) -> Summarizer:
        """Return the summariser of one compaction; that of a language model remembers its failures."""
        if self.summarizes is None:
            return self.summarizer
        return ModelSummarizer(RemoteModel(self.summarizes, self.gateway), replicate)

    def natives_for(self, replicate: int) -> Mapping[str, NativeCompactor]:
        """The provider that compacts on its side, by name, if the summarising model has one; embedders by spec."""
        asked = {settings.spec: settings for settings in self.embedders}
        if self.summarizes is not None:
            asked[self.summarizes.provider] = self.summarizes
        return {name: RemoteCompactor(settings, self.gateway, replicate) for name, settings in asked.items()}


def engine_for(study: Study) -> Engine:
    """The engine of a study, which calls no model.

    It is the same object for the same parts, so that what it has worked out is kept.
    """
    return _engine(*_parts(study))


def engine_calling(study: Study, gateway: Callable[[], Calls]) -> Engine:
    """An engine of a study whose models call through a gateway, which is asked for at each call."""
    return _make_engine(*_parts(study), gateway)


class _Judging(NamedTuple):
    """The settings of a study that change its judge, beside rubric and models."""

    specs: tuple[str, ...]
    protocol: Literal["study", "closed"]
    rule: PanelRule | None
    """Of a panel; None for a single judge."""
    own_summaries: bool
    pack: bool


_Parts = tuple[str, str, tuple[str, str, str], _Judging, bytes, tuple[str, ...]]


def _parts(study: Study) -> _Parts:
    """The settings of a study that change its engine."""
    specs = (study.summarizer, study.prober, study.responder)
    is_model = any(spec != "embedded" for spec in study.judge_specs)
    rule = study.panel_rule if study.judges else None
    judging = _Judging(
        study.judge_specs,
        study.judge_protocol if is_model else "study",
        rule,
        bool(rule) and study.own_summaries,
        study.pack,
    )
    embedders = tuple(one.spec for one in study.embedders if one.api_key() or not one.is_official)
    return study.tokenizer, study.rubric, specs, judging, orjson.dumps(study.models), embedders


@lru_cache(maxsize=4)
def _engine(*parts: *_Parts) -> Engine:
    return _make_engine(*parts, no_gateway)


_counter = lru_cache(maxsize=4)(LazyCounter)


def _make_engine(
    tokenizer: str,
    rubric: str,
    specs: tuple[str, str, str],
    judging: _Judging,
    models: bytes,
    embedders: tuple[str, ...],
    gateway: Callable[[], Calls],
) -> Engine:
    counter = _counter(tokenizer)
    study = Study(rubric=rubric, models=orjson.loads(models))
    summarizer, prober, responder = map(study.settings, specs)
    answers_by = RemoteModel(responder, gateway) if responder else None
    names: tuple[Role, ...] = ("summarizer", "prober", "responder")
    remote = {name for name, spec in zip(names, specs, strict=True) if spec != "embedded"}
    remote |= {"summarizer"} if embedders else set()
    remote |= {"judge"} if any(spec != "embedded" for spec in judging.specs) else set()
    return Engine(
        counter=counter,
        summarizer=ModelSummarizer(RemoteModel(summarizer, gateway)) if summarizer else EmbeddedSummarizer(counter),
        prober=ModelProber(RemoteModel(prober, gateway), counter=counter) if prober else EmbeddedProber(),
        responder=ModelResponder(answers_by) if answers_by else EmbeddedResponder(),
        judge=_judge(judging, study, counter, gateway),
        actor=ModelActor(answers_by) if answers_by else None,
        recovering=RecoveringResponder(answers_by, ModelResponder(answers_by).name) if answers_by else None,
        remote=frozenset(remote),
        embedders=tuple(settings for spec in embedders if (settings := study.settings(spec))),
        summarizes=summarizer,
        gateway=gateway,
    )


def _judge(judging: _Judging, study: Study, counter: TokenCounter, gateway: Callable[[], Calls]) -> Judge:
    rubric = study.load_rubric()
    model_judge = PackedJudge if judging.pack else ModelJudge
    judges: list[Judge] = [
        model_judge(RemoteModel(settings, gateway), rubric, judging.protocol)
        if (settings := study.settings(spec))
        else EmbeddedJudge(rubric, counter)
        for spec in judging.specs
    ]
    if judging.rule is None:
        return judges[0]
    return PanelJudge({judge_id_of(one): one for one in judges}, judging.rule, own_summaries=judging.own_summaries)
