"""Which model, where, how it samples, and what it costs: ``[models."openai:NAME"]`` of a study, and the environment.

Where a server is comes from the study, else from the provider's usual variable (``OPENAI_BASE_URL``,
``ANTHROPIC_BASE_URL``), and is written into the effective study. Keys are read from the environment when a client is
made, and are never written anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_type_hints
from urllib.parse import urlsplit

from compaction.closest import did_you_mean
from compaction.parameters import CONTROL, value_text
from flows.support.errors import UsageError

Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)

BASE_URLS: Mapping[str, str] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
BASE_URL_VARIABLES: Mapping[str, str] = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
KEY_VARIABLES: Mapping[str, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

REASONING = ("o1", "o3", "o4", "gpt-5", "gpt-6")
"""Beginnings of the names of OpenAI's models that reason: they take no temperature."""

SAMPLED_CLAUDES = (
    "claude-instant",
    "claude-2",
    "claude-3",
    "claude-haiku-4",
    "claude-sonnet-4",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2025",
    "claude-opus-4-5",
    "claude-opus-4-6",
)
"""Beginnings of the names of the Claude models that take a temperature; later ones, from Opus 4.7 on, refuse it."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model as a study uses it."""

    spec: str
    """``openai:NAME`` or ``anthropic:NAME``."""
    base_url: str
    api: Literal["chat", "responses"] = "chat"
    """OpenAI's two interfaces; every compatible server has ``chat``."""
    temperature: float | None = 0.0
    """None where the model takes none, or for the server's own."""
    top_p: float | None = None
    """None for the server's own."""
    seed: int | None = None
    """Sent along, for servers that take one; None for none."""
    reasoning_effort: str | None = None
    """``minimal``, ``low``, ``medium``, ``high``: whatever the model knows; None for the model's own."""
    reasoning_tokens: int = 0
    """Tokens that the model may spend on reasoning beside the answer's: added to the token limit of every call."""
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    """How a JSON answer is asked for. A server that refuses one is asked in the next way."""
    check_model: bool = True
    """Whether an answer of another model than the one that was asked is an error. Gateways may rename models."""
    timeout: float = 120.0
    """Seconds of one try, from the request to the last byte of the answer."""
    input_usd: float | None = None
    """US dollars a million tokens sent; None for the table that comes with the package, which knows few models."""
    output_usd: float | None = None
    """US dollars a million tokens received; None for the table's."""
    cached_input_usd: float | None = None
    """US dollars a million tokens that the provider had in its own cache; None for the table's."""

    @property
    def provider(self) -> Provider:
        """Whose interface it speaks."""
        provider: Provider = "anthropic" if self.spec.startswith("anthropic:") else "openai"
        return provider

    @property
    def model(self) -> str:
        """The model's name, as the provider knows it."""
        return self.spec.partition(":")[2]

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that can change an answer. Prices, timeouts and checks cannot."""
        found = asdict(self)
        for name in ("spec", "check_model", "timeout", "input_usd", "output_usd", "cached_input_usd"):
            del found[name]
        return {"provider": self.provider, "model": self.model, **found}

    @property
    def is_official(self) -> bool:
        """Whether the provider itself serves it: its prices hold, and a key is needed."""
        return self.base_url == BASE_URLS[self.provider]

    def api_key(self) -> str | None:
        """The key from the environment; None when there is none."""
        return os.environ.get(KEY_VARIABLES[self.provider]) or None


CHOICES: Mapping[str, tuple[str, ...]] = {
    name: get_args(get_type_hints(ModelSettings)[name]) for name in ("api", "structured")
}
"""Setting → what it may be."""

_SET = {field.name: field for field in fields(ModelSettings) if field.name != "spec"}


LONGEST_TEXT = 4_096
"""Characters of a name or an address."""


def is_model(spec: str) -> bool:
    """Whether a spec names a language model."""
    provider, _, name = spec.partition(":")
    return provider in PROVIDERS and bool(name.strip()) and len(name) <= LONGEST_TEXT and not CONTROL.search(name)


def make_settings(
    spec: str, given: Mapping[str, Any], place: str, at: Callable[[str], str] | None = None
) -> ModelSettings:
    """The settings of a model: defaults, the environment, ``given`` (a table of a study).

    ``at`` says what an error on a setting begins with, where ``place`` and the setting's name are not exact enough.
    Raises UsageError for unknown names, wrong types, and an address with a password in it.
    """
    at = at or (lambda name: f"{place}: {name}")
    provider, _, model = spec.partition(":")
    unknown = sorted(set(given) - set(_SET))
    if unknown:
        raise UsageError(
            f"{at(unknown[0])}: unknown setting of {spec}{did_you_mean(unknown[0], _SET)}; known: {', '.join(_SET)}"
        )
    values: dict[str, Any] = {
        "base_url": os.environ.get(BASE_URL_VARIABLES[provider]) or BASE_URLS[provider],
        "temperature": 0.0 if _takes_temperature(provider, model) else None,
    }
    if provider == "anthropic" and "top_p" in given:
        values["temperature"] = None  # from Opus 4.1 on both together are refused
    values |= {name: _check_value(name, value, at(name)) for name, value in given.items()}
    values["base_url"] = values["base_url"].rstrip("/")
    at_url = at("base_url") if "base_url" in given else BASE_URL_VARIABLES[provider]
    try:
        address = urlsplit(values["base_url"])
        _ = address.port  # raises for one that is none
    except ValueError as error:
        raise UsageError(f"{at_url}: no address: {error}") from None
    if address.scheme not in ("http", "https") or not address.hostname:
        raise UsageError(f"{at_url}: expected an http or https address, found {values['base_url']!r}")
    if address.username or address.password or address.query:
        raise UsageError(
            f"{at_url}: an address with a user, a password or a query would be stored; "
            f"put the key into {KEY_VARIABLES[provider]}"
        )
    found = ModelSettings(spec=spec, **values)
    for name, why in _refused_settings(found):
        raise UsageError(f"{at(name)}: {why}")
    return found


def _refused_settings(settings: ModelSettings) -> Iterator[tuple[str, str]]:
    """Settings that the provider itself refuses whatever the model, and why; another server may take them."""
    if not settings.is_official:
        return
    anthropic = settings.provider == "anthropic"
    if settings.seed is not None and (anthropic or settings.api == "responses"):
        where = "anthropic" if anthropic else "OpenAI's responses interface"
        yield "seed", f"{where} takes no seed; leave it out"
    most = 1 if anthropic else 2
    if (settings.temperature or 0) > most:
        yield "temperature", f"expected at most {most}, found {settings.temperature:g}"
    if (settings.top_p or 0) > 1:
        yield "top_p", f"expected at most 1, found {settings.top_p:g}"


def _takes_temperature(provider: str, model: str) -> bool:
    if provider == "openai":
        return not model.removeprefix("ft:").startswith(REASONING)  # "ft:" begins the name of a model of one's own
    return not model.startswith("claude-") or model.startswith(SAMPLED_CLAUDES)


def _check_value(name: str, value: Any, place: str) -> Any:
    choices = CHOICES.get(name)
    if choices and value not in choices:
        raise UsageError(f"{place}: expected {' or '.join(choices)}, found {value_text(value)}")
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "temperature" and value is False:
        return None  # TOML has no null
    if name == "check_model":
        fits = isinstance(value, bool)
    elif name in ("seed", "reasoning_tokens"):
        fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST[name]
    elif name in ("temperature", "top_p", "timeout", "input_usd", "output_usd", "cached_input_usd"):
        fits = number and 0 <= value <= MOST[name] and (name != "timeout" or value > 0)
    else:
        fits = (
            isinstance(value, str) and bool(value.strip()) and len(value) <= LONGEST_TEXT and not CONTROL.search(value)
        )
    if not fits:
        most = f" and at most {MOST[name]:,}" if number and name in MOST and value > MOST[name] else ""
        raise UsageError(f"{place}: expected {_KINDS.get(name, 'a text')}{most}, found {value_text(value)}")
    return float(value) if number and name not in ("seed", "reasoning_tokens") else value


MOST: Mapping[str, int] = {
    "seed": 2**63 - 1,
    "reasoning_tokens": 10**7,
    "temperature": 100,
    "top_p": 1,
    "timeout": 86_400,
    "input_usd": 10**6,
    "output_usd": 10**6,
    "cached_input_usd": 10**6,
}
"""Setting that is a number → its largest value."""
_KINDS = {
    "check_model": "true or false",
    "seed": "a whole number of at least 0",
    "reasoning_tokens": "a whole number of at least 0",
    "temperature": "a number of at least 0, or false",
    "top_p": "a number of at least 0",
    "timeout": "a number above 0",
    "input_usd": "a price of at least 0",
    "output_usd": "a price of at least 0",
    "cached_input_usd": "a price of at least 0",
}
