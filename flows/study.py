"""A study: all that one run depends on, frozen and typed.

Defaults ← TOML file (``--study``) ← flags. The effective study is stored with the run.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from compaction import Method, PointsError, PointsSpec, StrategyError, default_methods, parse_method
from compaction.pipeline import read_table
from compaction.strategy import split_specs
from compaction.tokens import DEFAULT_ENCODING
from flows.ids import content_id
from flows.problems import UsageProblem
from flows.task_labels import read_labels
from judge.rubric import DEFAULT_RUBRIC, Rubric, RubricError, load_rubric

DEFAULT_STORE = "./compaction-eval-store"
TOKENIZERS = ("o200k_base", "cl100k_base")
HISTORIES = ("prefix", "chain")
MODEL_ROLES = ("summarizer", "responder", "prober", "judge")
LATER_PROVIDERS = ("openai", "anthropic")


@dataclass(frozen=True)
class Study:
    """Everything that a run depends on. Plain data, so that Prefect can show and store it."""

    sources: tuple[str, ...] = ()
    """Files, folders and globs of sessions; empty for the sample sessions of the package."""
    store: str = DEFAULT_STORE
    strategies: tuple[str, ...] = ()
    """``id`` or ``id(name=value,…)``; empty for all that are registered and need no key."""
    named_methods: tuple[str, ...] = ()
    """Methods of one's own, ``name = id(…)``, which ``strategies`` may name; in a study file tables ``[[methods]]``."""
    points: str = "tokens:32000"
    history: str = "prefix"
    """``prefix``: each point compacts the session up to it. ``chain``: what the method left last time, and the rest."""
    summarizer: str = "embedded"
    responder: str = "embedded"
    prober: str = "embedded"
    judge: str = "embedded"
    rubric: str = DEFAULT_RUBRIC
    """Id of a rubric, or the path of its TOML file."""
    replicates: int = 1
    """How often each compaction is made and answered."""
    judge_replicates: int = 1
    limit: int | None = None
    """Sessions at most; None for all."""
    concurrency: int | None = None
    """Worker processes; None for one a core."""
    tokenizer: str = DEFAULT_ENCODING
    redact: bool = True
    """Whether credentials are masked before anything is stored."""
    task_types: str | None = None
    """A file of task types by session (CSV, Parquet, JSON lines), which go before the rule's."""

    @property
    def points_spec(self) -> PointsSpec:
        """``points``, parsed."""
        return PointsSpec.parse(self.points)

    @property
    def study_key(self) -> str:
        """Hash of what makes answers comparable; runs with the same key add to one leaderboard."""
        return content_id(
            "study", self.points, self.history, self.summarizer, self.responder, self.prober, self.tokenizer
        )

    @property
    def label_sha256(self) -> str | None:
        """Hash of the file of task types as it is now; None without one."""
        try:
            return hashlib.sha256(Path(self.task_types).read_bytes()).hexdigest() if self.task_types else None
        except OSError as error:
            raise UsageProblem(f"task types {self.task_types}: {error.strerror or error}") from None

    def methods(self) -> list[Method]:
        """The strategies with their parameters, each once; without ``strategies`` all and those with a name."""
        own = {method.name: method for method in map(parse_method, self.named_methods)}
        methods = [own.get(spec) or parse_method(spec) for spec in self.strategies]
        found: dict[str, Method] = {}
        for method in methods or [*default_methods(), *own.values()]:
            known = found.get(method.spec, method)
            if known.label and method.label and known.label != method.label:
                raise StrategyError(f"{known.label!r} and {method.label!r} are the same method")
            found[method.spec] = method if method.label else known
        return list(found.values())

    def load_rubric(self) -> Rubric:
        """The rubric that the judge scores by."""
        return load_rubric(self.rubric)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as stored with the run."""
        return asdict(self)


_INTEGERS = {"replicates": 1, "judge_replicates": 1, "limit": 1, "concurrency": 1}
"""Key → smallest value."""
_LISTS = ("sources", "strategies")
_SWITCHES = ("redact",)
_KEYS = tuple(field.name for field in fields(Study) if field.name != "named_methods")


def make_study(flags: Mapping[str, Any], path: str | None = None) -> Study:
    """The effective study of a run.

    ``flags`` holds what was given on the command line (None for not given); ``model`` sets summariser, responder and
    prober at once. Raises UsageProblem, naming the flag, or the file and line.
    """
    study = Study()
    if path is not None:
        study = _apply(study, *_read(Path(path)))
    given = {key: value for key, value in flags.items() if value is not None and value != ()}
    return _apply(study, given, {key: "--" + key.replace("_", "-") for key in given})


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a study file, and for each key the place to name when it is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageProblem(f"study {path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"study {path}: cannot be read as UTF-8 text: {error}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"study {path}: not TOML: {error}") from None
    places = {}
    for key in data:
        pattern = re.compile(rf"""^\s*\[*\s*["']?{re.escape(key)}["']?\s*[=\].]""")
        line = next((n for n, content in enumerate(text.splitlines(), 1) if pattern.match(content)), None)
        places[key] = f"study {path}, line {line}: {key}" if line else f"study {path}: {key}"
    return data, places


def _apply(study: Study, values: Mapping[str, Any], places: Mapping[str, str]) -> Study:
    changes: dict[str, Any] = {}
    if "model" in values:
        model = _spec(values["model"], places["model"])
        changes.update(summarizer=model, responder=model, prober=model)
    for key, value in values.items():
        if key == "model":
            continue
        if key == "methods":
            changes["named_methods"] = _named(value, places[key])
            continue
        if key not in _KEYS:
            raise UsageProblem(f"{places[key]}: unknown key; known: {', '.join(sorted((*_KEYS, 'methods', 'model')))}")
        changes[key] = _checked(key, value, places[key])
    changed = replace(study, **changes)
    if changed.task_types and "task_types" in changes:
        read_labels(changed.task_types)  # says what is wrong with the file before anything is done
    for key in ("methods", "strategies", "points", "rubric"):
        if key in values:
            _check_meaning(changed, key, places[key])
    return changed


def _checked(key: str, value: Any, place: str) -> Any:
    if key in _LISTS:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            raise UsageProblem(f"{place}: expected a text or a list of texts, found {value!r}")
        return tuple(spec for item in items for spec in split_specs(item)) if key == "strategies" else tuple(items)
    if key in _INTEGERS:
        if not isinstance(value, int) or isinstance(value, bool) or value < _INTEGERS[key]:
            raise UsageProblem(f"{place}: expected a whole number of at least {_INTEGERS[key]}, found {value!r}")
        return value
    if key in _SWITCHES:
        if not isinstance(value, bool):
            raise UsageProblem(f"{place}: expected true or false, found {value!r}")
        return value
    if not isinstance(value, str) or not value:
        raise UsageProblem(f"{place}: expected a text, found {value!r}")
    if key in MODEL_ROLES:
        return _spec(value, place)
    for name, choices in (("history", HISTORIES), ("tokenizer", TOKENIZERS)):
        if key == name and value not in choices:
            raise UsageProblem(f"{place}: expected {' or '.join(choices)}, found {value!r}")
    return value


def _named(tables: Any, place: str) -> tuple[str, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageProblem(f"{place}: expected tables [[methods]], found {tables!r}")
    try:
        specs = tuple(map(read_table, tables))
    except StrategyError as error:
        raise UsageProblem(f"{place}: {error}") from None
    names = [table["name"].strip() for table in tables]
    for name in names:
        if names.count(name) > 1:
            raise UsageProblem(f"{place}: two methods are called {name!r}")
    return specs


def _spec(value: Any, place: str) -> str:
    if value == "embedded":
        return "embedded"
    if isinstance(value, str) and value.partition(":")[0] in LATER_PROVIDERS:
        raise UsageProblem(f"{place}: {value!r} needs a model client, which this version lacks; use embedded")
    raise UsageProblem(f"{place}: expected embedded, found {value!r}")


def _check_meaning(study: Study, key: str, place: str) -> None:
    try:
        if key in ("strategies", "methods"):
            _check_needs(study, place)
        elif key == "points":
            _ = study.points_spec
        else:
            study.load_rubric()
    except (StrategyError, PointsError, RubricError) as error:
        raise UsageProblem(f"{place}: {error}") from None


def _check_needs(study: Study, place: str) -> None:
    for method in study.methods():
        if method.needs == "key":
            raise UsageProblem(f"{place}: {method.name} needs a key and a model client, which this version lacks")
