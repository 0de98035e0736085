"""A study: all that one run depends on, frozen and typed.

Defaults ← TOML file (``--study``) ← flags. The effective study is stored with the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from compaction import Method, PointsError, PointsSpec, StrategyError, default_methods, parse_method, parse_methods
from compaction.closest import did_you_mean
from compaction.methods import make_method, split_specs, try_parameters
from compaction.strategies.recovery import RECOVER, fetches_of
from flows.config.runner_spec import Runner
from flows.config.study_keys import JUDGE_KEYS, KEYS, MODEL_ROLES, StudyKeys
from flows.config.study_values import check_methods, check_model, check_panel, check_runner
from flows.llm.settings import ModelSettings, is_by_file, is_model, make_settings
from flows.sessions.task_type_labels import MOST_BYTES, read_labels
from flows.support.errors import UsageError
from flows.support.ids import content_id
from flows.support.key_values import check_value
from flows.support.toml_lines import KeyPositions, Step, read_toml
from judge.given_files import read_given
from judge.panel import LEAST_MEMBERS
from judge.rubric import Rubric, RubricError, load_rubric

IN_FLIGHT = 64
"""Model calls at a time, where the study does not say."""


@dataclass(frozen=True)
class Study(StudyKeys):
    """The settings of a run. Plain data, so that Prefect can show and store it."""

    @property
    def points_spec(self) -> PointsSpec:
        """``points``, parsed."""
        return PointsSpec.parse(self.points)

    @property
    def on_cluster(self) -> bool:
        """Whether workers of a cluster do the work that only computes."""
        return Runner.parse(self.runner).is_cluster

    @property
    def study_key(self) -> str:
        """Hash of the settings that make answers comparable; runs with the same key add to one leaderboard."""
        parts = [self._identity(spec) for spec in (self.summarizer, self.responder, self.prober)]
        return content_id("study", self.points, self.history, *parts, self.tokenizer)

    def _identity(self, spec: str) -> Any:
        settings = self.settings(spec)
        return settings.identity if settings else spec

    def settings(self, spec: str) -> ModelSettings | None:
        """The study's settings of a model; None for ``embedded``."""
        return ModelSettings(spec=spec, **self.models[spec]) if spec in self.models else None

    @property
    def judge_specs(self) -> tuple[str, ...]:
        """The judge, or the members of the panel."""
        return self.judges or (self.judge,)

    @property
    def model_settings(self) -> list[ModelSettings]:
        """The models that the study asks, each once."""
        specs = dict.fromkeys((self.summarizer, self.prober, self.responder, *self.judge_specs))
        return [settings for spec in specs if (settings := self.settings(spec))]

    @property
    def embedders(self) -> list[ModelSettings]:
        """The models whose embeddings its methods ask for, each once."""
        specs = dict.fromkeys(method.embedder for method in self.methods() if method.embedder)
        return [settings for spec in specs if (settings := self.settings(spec))]

    @property
    def judge_protocol(self) -> Literal["study", "closed"]:
        """``protocol``, decided."""
        if self.protocol == "auto":
            return "closed" if any(method.is_opaque for method in self.methods()) else "study"
        return "closed" if self.protocol == "closed" else "study"

    @property
    def label_sha256(self) -> str | None:
        """Hash of the file of task types as it is now; None without one."""
        try:
            return hashlib.sha256(read_given(self.task_types, MOST_BYTES)).hexdigest() if self.task_types else None
        except OSError as error:
            raise UsageError(f"task types {self.task_types}: {error.strerror or error}") from None

    def methods(self) -> list[Method]:
        """The strategies with their parameters, each once; without ``strategies`` all and those with a name."""
        own = {method.name: method for method in map(parse_method, self.named_methods)}
        methods = [
            method for spec in self.strategies for method in ([own[spec]] if spec in own else parse_methods(spec))
        ]
        found: dict[str, Method] = {}
        for method in methods or [*default_methods(), *own.values()]:
            known = found.get(method.spec, method)
            if known.label and method.label and known.label != method.label:
                raise StrategyError(f"{known.label!r} and {method.label!r} are the same method")
            found[method.spec] = method if method.label else known
        dropping = [method for method in found.values() if not fetches_of(method) and method.strategy.id != "none"]
        for method in dropping if self.recover else ():
            twin = make_method(RECOVER, {"over": method.spec, "fetches": self.recover})
            found.setdefault(twin.spec, twin)
        return list(found.values())

    def load_rubric(self) -> Rubric:
        """Load the judge's rubric."""
        return load_rubric(self.rubric)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as stored with the run."""
        return asdict(self)


def make_study(flags: Mapping[str, Any], path: str | None = None) -> Study:
    """The effective study of a run.

    ``flags`` holds what was given on the command line (None for not given); ``model`` sets summariser, responder and
    prober at once. Raises UsageError, naming the flag, or the file, line and key.
    """
    study, tables, places = _overlaid(Study(), flags, path)
    study = with_models(study, tables, places)
    _check_providers(study, f"study {path}: " if path else "")
    _check_panel(study, f"study {path}: " if path else "")
    _check_pack(study, f"study {path}: " if path else "")
    _check_sizes(study, f"study {path}: " if path else "")
    _check_next_action(study, f"study {path}: " if path else "")
    for method in study.methods():
        try:
            try_parameters(method, study.points_spec.budget())
        except StrategyError as error:
            raise UsageError(f"{f'study {path}: ' if path else ''}method {method.name}: {error}") from None
    return study


def with_judge(study: Study, flags: Mapping[str, Any], path: str | None = None) -> Study:
    """A study with another judge: of a study file only what concerns the judge is taken.

    Raises UsageError, naming the flag, or the file, line and key.
    """
    study, tables, places = _overlaid(replace(study, pack=False), flags, path, JUDGE_KEYS)
    asked = {study.summarizer, study.prober, study.responder}  # as they were: what they made has their settings
    kept = {spec: values for spec, values in study.models.items() if spec in asked}
    study = with_models(replace(study, models=kept), tables, places, ("judge",))
    _check_providers(study, f"study {path}: " if path else "")
    _check_panel(study, f"study {path}: " if path else "")
    _check_pack(study, f"study {path}: " if path else "")
    return study


def _overlaid(
    study: Study, flags: Mapping[str, Any], path: str | None, keys: Collection[str] | None = None
) -> tuple[Study, Any, KeyPositions | None]:
    """The study with a file's values (of ``keys``, or all), then the flags; the file's ``[models]`` and its places."""
    tables: Any = {}
    places = None
    if path is not None:
        values, places = read_toml(Path(path), "study")
        tables = values.pop("models", {})
        study = _apply(study, {key: one for key, one in values.items() if keys is None or key in keys}, places.of)
    given = {key: value for key, value in flags.items() if value is not None and value != ()}
    return _apply(study, given, _flag), tables, places


def with_models(study: Study, tables: Any, places: KeyPositions | None, roles: Sequence[str] = MODEL_ROLES) -> Study:
    """The study with the settings of each model in these roles; ``tables`` is ``[models]`` of a study file.

    Settings that the study has already stay. Raises UsageError, naming file, line and key.
    """

    def place(*path: Step) -> str:
        return places.of("models", *path) if places else "models"

    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise UsageError(f'{place()}: expected tables such as [models."openai:NAME"]')
    for spec in tables:
        if not (is_model(spec) or is_by_file(spec)):
            raise UsageError(f"{place(spec)}: this is no model; expected openai:NAME or anthropic:NAME")
    named = [spec for role in roles for spec in (study.judge_specs if role == "judge" else [getattr(study, role)])]
    wanted = set(named) - {"embedded"}
    for method in study.methods():
        if method.embedder and not (is_model(method.embedder) and method.embedder.startswith("openai:")):
            raise UsageError(f"method {method.name}: embeddings take openai:NAME, found {method.embedder!r}")
        wanted |= {method.embedder} - {""}
    found = {}
    for spec in sorted({*wanted, *tables} - set(study.models)):  # what nobody uses is looked over, too
        settings = make_settings(spec, tables.get(spec, {}), place(spec), partial(place, spec))
        found[spec] = {key: value for key, value in asdict(settings).items() if key != "spec"}
    return replace(study, models={**study.models, **{spec: found[spec] for spec in sorted(wanted & set(found))}})


def _flag(key: Step) -> str:
    return "--" + str(key).replace("_", "-")


def _apply(study: Study, values: Mapping[str, Any], place: Callable[..., str]) -> Study:
    """The study with values; ``place`` says what an error on a key begins with."""
    changes: dict[str, Any] = {}
    if "model" in values:
        model = check_model(values["model"], place("model"))
        changes.update(summarizer=model, responder=model, prober=model)
    for key, value in values.items():
        if key == "model":
            continue
        if key == "methods":
            changes["named_methods"] = check_methods(value, place)
            continue
        if key not in KEYS:
            known = sorted((*KEYS, "methods", "model"))
            raise UsageError(f"{place(key)}: unknown key{did_you_mean(key, known)}; known: {', '.join(known)}")
        changes[key] = _check(key, value, place(key))
    if "judge" in changes and "judges" not in changes:  # a flag goes before the panel of a file
        changes["judges"] = ()
    elif changes.get("judges") and changes.get("judge", "embedded") != "embedded":
        raise UsageError(f"{place('judges')}: a study has one judge or a panel; take {place('judge')} away")
    if changes.get("strategies") and "named_methods" in changes:  # a method that a file names is wanted
        names = [parse_method(spec).name for spec in changes["named_methods"]]
        changes["strategies"] = tuple(dict.fromkeys([*changes["strategies"], *names]))
    changed = replace(study, **changes)
    if changed.task_types and "task_types" in changes:
        read_labels(changed.task_types)  # says what is wrong with the file before anything is done
    for key in ("methods", "strategies", "points", "rubric"):
        if key in values:
            _check_meaning(changed, key, place(key))
    return changed


def _check(key: str, value: Any, place: str) -> Any:
    found = check_value(KEYS[key], value, place)
    if key in MODEL_ROLES:
        return check_model(found, place, by_file=key == "judge")
    if key == "runner":
        return check_runner(found, place)
    if key == "judges":
        return check_panel(found, place)
    return tuple(spec for item in found for spec in split_specs(item)) if key == "strategies" else found


def _check_meaning(study: Study, key: str, place: str) -> None:
    try:
        if key in ("strategies", "methods"):
            study.methods()
        elif key == "points":
            _ = study.points_spec
        else:
            study.load_rubric()
    except (StrategyError, PointsError, RubricError) as error:
        raise UsageError(f"{place}: {error}") from None


def _check_sizes(study: Study, place: str) -> None:
    """Points by sizes are alternatives: a session compacts at one of them, not at one after the other."""
    if study.points_spec.kind == "sizes" and (study.history == "chain" or study.replay):
        key = "--history chain" if study.history == "chain" else "--replay"
        raise UsageError(
            f"{place}{key}: at points by sizes a session compacts once, at each size anew; take --points tokens:N for "
            "one compaction after the other"
        )


def _check_next_action(study: Study, place: str) -> None:
    """The embedded responder quotes facts and takes no action."""
    if study.next_action and study.responder == "embedded":
        raise UsageError(
            f"{place}--next-action: the embedded responder takes no actions; name a model with --responder, or leave "
            "the option out"
        )


def _check_pack(study: Study, place: str) -> None:
    """Only a single model makes calls that can be one."""
    if study.pack and study.judges:
        raise UsageError(
            f"{place}--pack: the members of a panel judge one answer a call; name one judge, or leave it out"
        )
    if study.pack and study.judge == "embedded":
        raise UsageError(
            f"{place}--pack: the embedded judge makes no calls, so there is nothing to pack; name a model with --judge"
        )


def _check_panel(study: Study, place: str) -> None:
    """A panel of which too few members are left for a summary would never score it."""
    written_by = study.settings(study.summarizer)
    if not study.judges or written_by is None or study.own_summaries:
        return
    if not any(method.needs_model or method.provider for method in study.methods()):
        return
    members = [study.settings(spec) for spec in study.judges]
    others = [one for one in members if one is None or one.model != written_by.model]
    if len(others) < LEAST_MEMBERS:
        raise UsageError(
            f"{place}judges: {written_by.model} writes the summaries, so it does not judge them, and a panel needs "
            f"{LEAST_MEMBERS} members that do: name {LEAST_MEMBERS - len(others)} more, or set own_summaries = true"
        )


def _check_providers(study: Study, place: str) -> None:
    """A provider's own compaction is asked of the model that summarises, and must be of that provider."""
    for method in study.methods():
        if method.provider and not study.summarizer.startswith(f"{method.provider}:"):
            raise UsageError(
                f"{place}method {method.name} has {method.provider} compact and takes a key: name the model with "
                f"--summarizer {method.provider}:MODEL, found {study.summarizer}"
            )
        if method.is_opaque and study.protocol == "study" and set(study.judge_specs) != {"embedded"}:
            raise UsageError(
                f"{place}protocol study: nobody but {method.provider} can read what {method.name} leaves, so the judge "
                "cannot be shown contexts; use the protocol closed (or auto) for all methods"
            )
        if method.is_opaque and not study.responder.startswith(f"{method.provider}:"):
            raise UsageError(
                f"{place}method {method.name}: what it leaves can be read by {method.provider}'s models only: name one "
                f"with --responder {method.provider}:MODEL, found {study.responder}"
            )
        responder = study.settings(study.responder)
        if method.is_opaque and responder is not None and responder.api != "responses":
            raise UsageError(
                f"{place}method {method.name}: what it leaves can be sent to the interface responses only: set "
                f'api = "responses" in [models."{responder.spec}"] of a study file'
            )
