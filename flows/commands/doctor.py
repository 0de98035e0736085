"""``doctor``: what is installed, configured, reachable, and what a night would stumble over."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from flows.checkup.finding import Finding
from flows.checkup.installation import check_peers, check_provider, check_tokenizers, check_versions
from flows.checkup.orchestration import check_nights, check_prefect
from flows.checkup.store import check_place, check_space, check_store
from flows.checkup.tonight import check_study, check_tonight
from flows.commands import options as o
from flows.models.settings import PROVIDERS
from flows.problems import BROKEN, DONE
from flows.store import is_elsewhere, store_path
from flows.study import DEFAULT_STORE


@o.reporting
def doctor(
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    prefect: Annotated[
        bool, typer.Option("--prefect", help="Also start a Prefect server, which takes seconds.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Check what is installed, configured, reachable, and what a night would stumble over.

    Nothing is changed and no model is called. With --study also that study's sources, models and budget. Exit code 1
    when something is broken; a warning is what may come to harm.
    """
    findings = examine(store, study, start_prefect=prefect)
    if as_json:
        o.echo_json([asdict(finding) for finding in findings])
    else:
        o.echo("\n".join(finding.line for finding in findings))
    raise typer.Exit(BROKEN if any(finding.state == "broken" for finding in findings) else DONE)


def examine(location: str | None, study_file: str | None, *, start_prefect: bool) -> list[Finding]:
    """All findings, in the order in which they are read."""
    findings = [check_versions(), *check_peers(), check_tokenizers()]
    study = None
    if study_file is not None:
        found, study = check_study(study_file, location)
        findings += found
    location = study.store if study is not None else location or DEFAULT_STORE
    place, store = check_place(location)
    findings.append(place)
    if store is not None:
        findings.append(check_space(store.root, store))
    elif not is_elsewhere(location):
        findings.append(check_space(store_path(location), None))
    if store is not None:
        findings += check_store(store)
        if study is not None:
            findings += check_tonight(study, store)
        findings += check_nights(store)
    return [*findings, *check_prefect(start=start_prefect), *map(check_provider, PROVIDERS)]
