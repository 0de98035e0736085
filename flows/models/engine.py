"""The engine's parts by their specs: what summarises, asks, answers and judges.

Only ``embedded`` exists in this version. A part's ``name`` carries its version and goes into the ids of what it made.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache

from compaction import Summarizer, TiktokenCounter, TokenCounter
from compaction.embedded import EmbeddedSummarizer
from flows.ids import content_id
from flows.problems import UsageProblem
from flows.study import Study
from judge import Judge, Prober, Responder
from judge.embedded import EmbeddedJudge, EmbeddedProber, EmbeddedResponder


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

    @property
    def judge_id(self) -> str:
        """Hash of everything that the judge's scores depend on."""
        return content_id("judge", asdict(self.judge.version))


def engine_for(study: Study) -> Engine:
    """The engine of a study; the same object for the same parts, so that what it has worked out is kept."""
    return _engine(study.tokenizer, study.rubric, study.summarizer, study.prober, study.responder, study.judge)


@lru_cache(maxsize=4)
def _engine(tokenizer: str, rubric: str, *specs: str) -> Engine:
    unknown = sorted({spec for spec in specs if spec != "embedded"})
    if unknown:
        raise UsageProblem(f"model {unknown[0]!r}: this version has embedded only")
    counter = LazyCounter(tokenizer)
    study = Study(rubric=rubric)
    return Engine(
        counter=counter,
        summarizer=EmbeddedSummarizer(counter),
        prober=EmbeddedProber(),
        responder=EmbeddedResponder(),
        judge=EmbeddedJudge(study.load_rubric(), counter),
    )
