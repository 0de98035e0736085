"""Checks of a study for anything that would stop its next run."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from flows.cli.checkup.finding import Finding
from flows.cli.checkup.installation import why_unreachable
from flows.config.model_check import check_models
from flows.config.runner_spec import Runner
from flows.config.study import Study, make_study
from flows.database.scores_db import connect
from flows.llm.prices import Prices
from flows.pipeline.plan import inputs_of, unread_inputs
from flows.sessions.session_parts import read_parts
from flows.store.store import Store
from flows.support.errors import EvalError
from flows.support.plurals import quantity


def check_study(path: str, location: str | None) -> tuple[list[Finding], Study | None]:
    """Check that a study file is valid, its sources exist, and its models could be called."""
    try:
        study = make_study({"store": location}, path)
        n_methods = len(study.methods())
        _ = study.load_rubric(), study.label_sha256
    except EvalError as problem:
        return [Finding("study", "broken", str(problem))], None
    except Exception as error:  # a strategy's or a rubric's own
        return [Finding("study", "broken", f"study {path}: {' '.join(str(error).split())}")], None
    findings = [Finding("study", "ok", f"{path} is sound: {quantity(n_methods, 'method')}, points {study.points}")]
    return [*findings, *_check_sources(study), *_check_models(study), *check_runner(study)], study


def _check_sources(study: Study) -> list[Finding]:
    try:
        inputs = inputs_of(study)
    except EvalError as problem:
        return [Finding("sources", "broken", str(problem))]
    closed = [input.path for input in inputs if not os.access(input.path, os.R_OK)]
    said = f"{quantity(len(inputs), 'input')}, {sum(input.size for input in inputs) / 1e6:,.1f} MB"
    if closed:
        do = f"give this user permission to read {closed[0]}"
        return [Finding("sources", "warning", f"{said}, of which {len(closed):,} cannot be read", do)]
    return [Finding("sources", "ok", said)]


def _check_models(study: Study) -> list[Finding]:
    try:
        check_models(study)
    except EvalError as problem:
        return [Finding("models", "broken", str(problem))]
    findings = []
    for settings in study.model_settings:
        price = Prices().price(settings)
        trouble = why_unreachable(settings)
        where = urlsplit(settings.base_url).hostname or settings.base_url
        said = f"{settings.spec} at {where}; price " + (f"from {price.source}" if price else "not known")
        if trouble:
            findings.append(Finding("models", "warning", f"{said}; {trouble}", "start that server, or see the network"))
        elif price is None:
            do = f'set input_usd and output_usd in [models."{settings.spec}"], so that a budget in dollars holds'
            findings.append(Finding("models", "warning", said, do))
        else:
            findings.append(Finding("models", "ok", said))
    return findings or [Finding("models", "ok", "embedded: no language model is asked")]


def check_runner(study: Study) -> list[Finding]:
    """Warn of a cluster that runs code from anybody who can reach its ports."""
    runner = Runner.parse(study.runner)
    if not runner.address or runner.address.startswith("tls://"):
        return []
    said = f"runner {study.runner}: who reaches the cluster's ports can run commands as the user that started it"
    return [Finding("runner", "warning", said, "have it use TLS, and name it by tls://… (docs/cluster.md)")]


def check_tonight(study: Study, store: Store) -> list[Finding]:
    """Count the new inputs, and estimate their cost by the cost of earlier sessions.

    ``plan`` is slower and more exact.
    """
    try:
        parts = read_parts(store)
        new = unread_inputs(parts, inputs_of(study), study)
    except EvalError as problem:
        return [Finding("tonight", "broken", str(problem))]
    said = f"{quantity(len(new), 'input')} new or changed"
    if not study.model_settings or not store.database.is_file():
        return [Finding("tonight", "ok", said)]
    with connect(store.database) as connection:
        [(cost, tokens)] = connection.execute(
            "SELECT sum(cost_usd), sum(input_tokens + output_tokens) FROM calls WHERE NOT cached"
        ).fetchall()
        [(sessions,)] = connection.execute("SELECT count(DISTINCT session_id) FROM points").fetchall()
    findings = []
    for budget, spent, unit in (
        (study.budget_usd, cost, "US dollars"),
        (study.budget_tokens, tokens, "tokens"),
    ):
        if budget is None or not spent or not sessions:
            continue
        foreseen = float(spent) / sessions * len(new)
        text = f"{said}, about {foreseen:,.2f} {unit} by what a session has cost so far; the budget is {budget:,.2f}"
        do = "the rest is left for later nights: raise the budget, or see `compaction-eval plan`"
        findings.append(Finding("tonight", "warning" if foreseen > budget else "ok", text, do * (foreseen > budget)))
    return findings or [Finding("tonight", "ok", said)]
