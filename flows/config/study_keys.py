"""The keys of a study: what each means, its default and its bounds.

The study file, the options of the commands, their help, the check of values and ``init``'s file are made of it. It
imports nothing but names, so that help and completion start at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from flows.support.choices import DEFAULT_STORE, HISTORIES, PROTOCOLS, TOKENIZERS, PanelRule
from flows.support.keys import Key, keys_of

COMPARED, MODELS, RUNS = "What is compared", "Language models", "How it runs"
"""Headings of the options."""
MODEL_ROLES = ("summarizer", "responder", "prober", "judge")
"""Keys that name a model."""
JUDGE_KEYS = tuple(
    """judge judges panel_rule own_summaries pack rubric protocol judge_replicates concurrency runner budget_usd
    budget_tokens""".split()
)
"""What of a study a backfill may change."""


@dataclass(frozen=True)
class StudyKeys:
    """The settings of a run, as its user gives them."""

    sources: Annotated[
        tuple[str, ...],
        Key(
            "Files, folders or globs of sessions; the format is detected.",
            "the sample sessions of the package",
            "SOURCE",
        ),
    ] = ()
    store: Annotated[
        str,
        Key(
            "Where everything is kept: a folder, or s3://bucket/prefix (also gs, az).",
            metavar="DIR_OR_URL",
            heading=RUNS,
        ),
    ] = DEFAULT_STORE
    strategies: Annotated[
        tuple[str, ...],
        Key(
            "Strategies to compare, `id`, `id(name=value,…)` or `FILE.py:id` for one of your own; `id(name=[1,2])` is "
            "one for each value; sets: @defaults (one a product or idea), @all, a family as in @openhands, "
            "@recency-ladder (plain recency at several sizes, for the view matched_budget).",
            "@defaults",
            "A,B(X=1),@SET",
            longest=100_000,
        ),
    ] = ()
    named_methods: tuple[str, ...] = ()
    """Methods of one's own, ``name = id(…)``, which ``strategies`` may name; in a study file ``[[methods]]``, which run
    beside what the file's ``strategies`` list."""
    points: Annotated[
        str,
        Key(
            "Where sessions are compacted: tokens:N, messages:N (every so many), share:0.5,0.9 (of a session's "
            "tokens), sizes:8000,32000 (once, at each size, to see when) or recorded (where they were).",
            metavar="SPEC",
        ),
    ] = "tokens:32000"
    history: Annotated[
        str,
        Key(
            "prefix: each point compacts the whole session so far. chain: what the method left last time, and the "
            "rest.",
            choices=HISTORIES,
        ),
    ] = "prefix"
    summarizer: Annotated[str, Key("What writes the summaries.", metavar="SPEC", heading=MODELS)] = "embedded"
    responder: Annotated[
        str, Key("What answers the probes, from the compacted context.", metavar="SPEC", heading=MODELS)
    ] = "embedded"
    prober: Annotated[
        str, Key("What makes the probes, from the history before the point.", metavar="SPEC", heading=MODELS)
    ] = "embedded"
    judge: Annotated[
        str,
        Key(
            "What scores the answers: embedded, openai:MODEL, anthropic:MODEL, or file (file:NAME) to answer by hand.",
            metavar="SPEC",
            heading=MODELS,
        ),
    ] = "embedded"
    judges: Annotated[
        tuple[str, ...],
        Key(
            "A panel in the place of the judge: two or more such specs, whose verdicts become one by panel_rule.",
            "no panel",
            "SPEC,SPEC,…",
            heading=MODELS,
        ),
    ] = ()
    panel_rule: Annotated[
        PanelRule,
        Key(
            "How a panel's score comes of its members': their mean, their median, or the mean of the majority that "
            "lies within a point.",
            heading=MODELS,
        ),
    ] = "median"
    own_summaries: Annotated[
        bool,
        Key(
            "Let a member of a panel judge answers from summaries that its own model wrote too, instead of leaving it "
            "out there.",
            heading=MODELS,
        ),
    ] = False
    pack: Annotated[
        bool,
        Key(
            "Have a model as judge score all answers from one context in one call, which is another judge than one "
            "that sees each alone (docs/judge.md).",
            heading=MODELS,
        ),
    ] = False
    rubric: Annotated[str, Key("What it scores them by: the id of a rubric, or a file.", metavar="ID|FILE.toml")] = (
        "software_engineering"
    )
    replicates: Annotated[
        int, Key("How often each compaction is made, and each answered.", metavar="N", least=1, most=1_000)
    ] = 1
    judge_replicates: Annotated[int, Key("How often each answer is judged.", metavar="N", least=1, most=1_000)] = 1
    anchors: Annotated[
        int,
        Key(
            "Draw N answers once, and score them anew in every run on a new day, to see the judge drift; 0 for none.",
            metavar="N",
            least=0,
            most=10**6,
        ),
    ] = 0
    anchor_days: Annotated[
        int, Key("Days from one scoring of the anchors to the next.", metavar="N", least=1, most=36_500)
    ] = 1
    replay: Annotated[
        float,
        Key(
            "Share of the sessions, 0 to 1, that are replayed call by call under every method, for what each would "
            "cost (view replay_cost); 0 for none.",
            metavar="SHARE",
            least=0,
            most=1,
        ),
    ] = 0.0
    next_action: Annotated[
        float,
        Key(
            "Share of the points, 0 to 1, at which the responder, which must be a model, is asked for the next tool "
            "call: from the whole history twice and from each context (view next_action); 0 for none.",
            metavar="SHARE",
            least=0,
            most=1,
        ),
    ] = 0.0
    recover: Annotated[
        int,
        Key(
            "Beside every method run it with at most N fetches of dropped messages a question (methods "
            "recover(over=…), view recovery); 0 for none.",
            metavar="N",
            least=0,
            most=20,
        ),
    ] = 0
    limit: Annotated[
        int | None,
        Key("Take N sessions only, those of the sources first.", "all", "N", least=1, most=10**9, example=100),
    ] = None
    concurrency: Annotated[
        int | None,
        Key(
            "Most worker processes, and most model calls in flight.",
            "one a core, and 64",
            "N",
            least=1,
            most=1_024,
            example=4,
            heading=RUNS,
        ),
    ] = None
    runner: Annotated[
        str,
        Key(
            "What does the work that only computes, which changes no result. local: processes of this machine. dask: "
            "a cluster that is started for the run, or the one at ADDRESS.",
            metavar="local|dask[:ADDRESS]",
            heading=RUNS,
        ),
    ] = "local"
    tokenizer: Annotated[str, Key("What counts tokens; a store keeps to the first.", choices=TOKENIZERS)] = TOKENIZERS[
        0
    ]
    redact: Annotated[
        bool,
        Key(
            "Whether credentials are masked before anything is stored.",
            off="Store credentials as they are in the sessions, instead of a mark for each.",
        ),
    ] = True
    task_types: Annotated[
        str | None,
        Key(
            "CSV, Parquet or JSON lines with session_id (or source_path) and task_type; goes before the rule.",
            "the rule's",
            "FILE",
            example="task_types.csv",
        ),
    ] = None
    protocol: Annotated[
        str,
        Key(
            "What a model as judge is shown. study: the compacted context too. closed: question, answer and truth "
            "only. auto: study, unless a method leaves what only its provider can read.",
            choices=PROTOCOLS,
            heading=MODELS,
        ),
    ] = "auto"
    budget_usd: Annotated[
        float | None,
        Key(
            "Spend at most X US dollars on model calls in one run.",
            "no limit",
            "X",
            "an amount in US dollars",
            least=0,
            most=10**9,
            is_open=True,
            example=20.0,
            heading=MODELS,
        ),
    ] = None
    budget_tokens: Annotated[
        int | None,
        Key(
            "Spend at most N tokens, sent and received together, on model calls in one run.",
            "no limit",
            "N",
            least=1,
            most=10**15,
            example=5_000_000,
            heading=MODELS,
        ),
    ] = None
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Spec → settings of every model that the study names (``flows.llm.settings``), base URL filled in."""


KEYS: Mapping[str, Key] = keys_of(StudyKeys)
MODEL = Key(
    "Summariser, responder and prober at once: embedded, openai:MODEL (OPENAI_API_KEY; OPENAI_BASE_URL for any "
    "compatible server) or anthropic:MODEL.",
    metavar="SPEC",
    heading=MODELS,
    type=str,
    default="embedded",
)
"""The key ``model``, which sets three others."""
