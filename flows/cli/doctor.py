"""``doctor``: checks the installation, the servers, the store and the study before a night."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.shared import options as o
from flows.cli.shared.commands import command
from flows.support.choices import DEFAULT_STORE

if TYPE_CHECKING:
    from flows.cli.checkup.finding import Finding


@command(
    "doctor",
    "doctor --prefect --store /data/store",
    order=200,
)
def doctor(
    store: o.StoreOption = None,
    study: o.StudyOption = None,
    prefect: Annotated[
        bool, typer.Option("--prefect", help="Also try Prefect without a server, which takes seconds.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Check what is installed, configured, reachable, and what a night would stumble over.

    Nothing is changed and no model is called. With --study also that study's sources, models and budget. Exit code 1
    when something is broken; a warning is what may come to harm.
    """
    from flows.support.errors import BROKEN, DONE

    findings = run_checks(store, study, start_prefect=prefect)
    if as_json:
        o.echo_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            o.echo_wrapped(f"{finding.state:<9}", finding.text)
    raise typer.Exit(BROKEN if any(finding.state == "broken" for finding in findings) else DONE)


def run_checks(location: str | None, study_file: str | None, *, start_prefect: bool) -> list[Finding]:
    """Run all checks; returns the findings in the order of printing."""
    from flows.cli.checkup.installation import check_peers, check_provider, check_tokenizers, check_versions
    from flows.cli.checkup.orchestration import check_nights, check_prefect
    from flows.cli.checkup.store import check_place, check_space, check_store
    from flows.cli.checkup.tonight import check_study, check_tonight
    from flows.llm.settings import PROVIDERS
    from flows.store.store import is_object_store, store_path

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
    elif not is_object_store(location):
        findings.append(check_space(store_path(location), None))
    if store is not None:
        findings += check_store(store)
        if study is not None:
            findings += check_tonight(study, store)
        findings += check_nights(store)
    return [*findings, *check_prefect(start=start_prefect), *map(check_provider, PROVIDERS)]
