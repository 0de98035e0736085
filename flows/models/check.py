"""Whether a study's models can be called at all, before anything is begun."""

from __future__ import annotations

from importlib.util import find_spec

from flows.models.prices import Prices
from flows.models.settings import BASE_URL_VARIABLES, KEY_VARIABLES
from flows.problems import UsageProblem, install_extra
from flows.study import Study


def check_models(study: Study) -> None:
    """Raises UsageProblem when a key, a package or a price is missing that the study needs."""
    for settings in study.model_settings:
        provider = settings.provider
        if provider == "anthropic" and find_spec("anthropic") is None:
            raise UsageProblem(f"{settings.spec}: the package anthropic is not installed; {install_extra('anthropic')}")
        if settings.is_official and not settings.api_key():
            raise UsageProblem(
                f"{settings.spec}: {KEY_VARIABLES[provider]} is not set; set it, or {BASE_URL_VARIABLES[provider]} to "
                "a server of your own"
            )
        if study.budget_usd is not None and Prices().bound(settings, 1, 1) is None:
            raise UsageProblem(
                f"--budget-usd: the price of {settings.spec} is not known; set input_usd and output_usd (US dollars a "
                f'million tokens) in [models."{settings.spec}"] of a study file, or use --budget-tokens'
            )
