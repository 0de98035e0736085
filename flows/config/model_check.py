"""Checks before a run that a study's models can be called."""

from __future__ import annotations

from importlib.util import find_spec

from flows.config.study import Study
from flows.llm.prices import Prices
from flows.llm.settings import BASE_URL_VARIABLES
from flows.support.errors import UsageError, install_extra


def check_models(study: Study) -> None:
    """Raises UsageError when a key, a package or a price is missing that the study needs."""
    for settings in study.model_settings:
        provider = settings.provider
        if provider == "anthropic" and find_spec("anthropic") is None:
            raise UsageError(f"{settings.spec}: the package anthropic is not installed; {install_extra('anthropic')}")
        if settings.needs_key and not settings.api_key():
            other = f", or {BASE_URL_VARIABLES[provider]} to a server of your own" if settings.is_official else ""
            raise UsageError(f"{settings.spec}: {settings.key_name} is not set; set it{other}")
        if study.budget_usd is not None and Prices().bound(settings, 1, 1) is None:
            raise UsageError(
                f"--budget-usd: the price of {settings.spec} is not known; set input_usd and output_usd (US dollars a "
                f'million tokens) in [models."{settings.spec}"] of a study file, or use --budget-tokens'
            )
