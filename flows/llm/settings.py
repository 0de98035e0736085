"""Settings of a model: server, sampling and prices, from ``[models."openai:NAME"]`` of a study, and the environment.

Where a server is comes from the study, else from the provider's usual variable (``OPENAI_BASE_URL``,
``ANTHROPIC_BASE_URL``), and is written into the effective study. Keys are read from the environment when a client is
made, and are never written anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from compaction.closest import did_you_mean
from compaction.parameters import CONTROL
from flows.support.errors import UsageError
from flows.support.key_values import check_value
from flows.support.keys import LONGEST_TEXT, Key, keys_of

Provider = Literal["openai", "anthropic"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
BY_FILE = "file"
"""Stands where a provider does, in ``file`` and ``file:NAME``: nobody is called, questions go into a file
(``flows.llm.batch.question_files``)."""

BASE_URLS: Mapping[str, str] = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
BASE_URL_VARIABLES: Mapping[str, str] = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
KEY_VARIABLES: Mapping[str, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

REASONING = ("o1", "o3", "o4", "gpt-5", "gpt-6")
"""Beginnings of the names of OpenAI's models that reason: they take no temperature."""

SAMPLED_CLAUDES = tuple(
    """claude-instant claude-2 claude-3 claude-haiku-4 claude-sonnet-4 claude-opus-4-0 claude-opus-4-1
    claude-opus-4-2025 claude-opus-4-5 claude-opus-4-6""".split()
)
"""Beginnings of the names of the Claude models that take a temperature; later ones, from Opus 4.7 on, refuse it."""


_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def _price(about: str, example: float) -> Key:
    known = "the price in the package's table, which knows few models"
    return Key(about, known, noun="a price", least=0, most=10**6, example=example)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """One model as a study uses it."""

    spec: str
    """``openai:NAME``, ``anthropic:NAME``, ``file`` or ``file:NAME``."""
    base_url: Annotated[
        str,
        Key(
            "Where its server is.",
            "OPENAI_BASE_URL or ANTHROPIC_BASE_URL, else the provider's address",
            example="http://127.0.0.1:8000/v1",
        ),
    ]
    api: Annotated[Literal["chat", "responses"], Key("OpenAI's two interfaces; compatible servers have chat.")] = "chat"
    temperature: Annotated[
        float | None,
        Key("false where the model takes none, or for the server's own.", noun="false or a number", least=0, most=100),
    ] = 0.0
    top_p: Annotated[
        float | None,
        Key("Share of the likeliest tokens that it draws from.", "the server's own", least=0, most=1, example=1.0),
    ] = None
    seed: Annotated[
        int | None, Key("Sent along, for servers that take one.", "none", least=0, most=2**63 - 1, example=7)
    ] = None
    reasoning_effort: Annotated[
        str | None, Key("minimal, low, medium, high: whatever the model knows.", "the model's own", example="medium")
    ] = None
    reasoning_tokens: Annotated[
        int | None,
        Key(
            "Tokens that the model may spend on reasoning beside the answer's: added to the token limit of every call.",
            "what the package knows of its family, raised once where answers are cut",
            least=0,
            most=10**7,
            example=16_000,
        ),
    ] = None
    structured: Annotated[
        Literal["json_schema", "json_object", "prompt"],
        Key("How a JSON answer is asked for. A server that refuses one is asked in the next way."),
    ] = "json_schema"
    check_model: Annotated[
        bool,
        Key("Whether an answer of another model than the one that was asked is an error. Gateways may rename models."),
    ] = True
    key_variable: Annotated[
        str | None,
        Key(
            "Name of the environment variable that holds its key, where several providers are asked.",
            "OPENAI_API_KEY or ANTHROPIC_API_KEY",
            example="GEMINI_API_KEY",
        ),
    ] = None
    timeout: Annotated[
        float,
        Key("Seconds of one try, from the request to the last byte of the answer.", least=0, most=86_400, is_open=True),
    ] = 120.0
    input_usd: Annotated[float | None, _price("US dollars a million tokens sent.", 1.25)] = None
    output_usd: Annotated[float | None, _price("US dollars a million tokens received.", 10.0)] = None
    cached_input_usd: Annotated[
        float | None, _price("US dollars a million tokens that the provider had in its own cache.", 0.125)
    ] = None

    @property
    def is_by_file(self) -> bool:
        """Whether it is asked by a file, and not called."""
        return is_by_file(self.spec)

    @property
    def provider(self) -> Provider | Literal["file"]:
        """The provider whose interface the model speaks."""
        if self.is_by_file:
            return "file"
        provider: Provider = "anthropic" if self.spec.startswith("anthropic:") else "openai"
        return provider

    @property
    def model(self) -> str:
        """The model's name, as the provider knows it."""
        return self.spec.partition(":")[2] or self.spec

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that can change an answer: all but prices, timeouts and checks.

        Prices, timeouts and checks cannot.
        """
        found = asdict(self)
        for name in ("spec", "check_model", "key_variable", "timeout", "input_usd", "output_usd", "cached_input_usd"):
            del found[name]
        found["reasoning_tokens"] = self.reasoning_tokens or 0  # more room changes no answer that fits
        return {"provider": self.provider, "model": self.model, **found}

    @property
    def is_official(self) -> bool:
        """Whether the provider itself serves it: its prices hold, and a key is needed."""
        return self.base_url == BASE_URLS.get(self.provider)

    @property
    def key_name(self) -> str:
        """The environment variable that holds its key."""
        return self.key_variable or KEY_VARIABLES[self.provider]

    @property
    def needs_key(self) -> bool:
        """Whether no call can be made without a key."""
        return self.is_official or bool(self.key_variable)

    def api_key(self) -> str | None:
        """The key from the environment; None when there is none."""
        return os.environ.get(self.key_name) or None


SETTINGS: Mapping[str, Key] = keys_of(ModelSettings)


def is_model(spec: str) -> bool:
    """Whether a spec names a language model."""
    provider, _, name = spec.partition(":")
    return provider in PROVIDERS and bool(name.strip()) and len(name) <= LONGEST_TEXT and not CONTROL.search(name)


def is_by_file(spec: str) -> bool:
    """Whether a spec is ``file``, or ``file:`` with the name of whoever answers."""
    return spec == BY_FILE or (spec.startswith(f"{BY_FILE}:") and is_model(f"openai:{spec.partition(':')[2]}"))


def make_settings(
    spec: str, given: Mapping[str, Any], place: str, at: Callable[[str], str] | None = None
) -> ModelSettings:
    """The settings of a model: defaults, the environment, ``given`` (a table of a study).

    ``at`` gives the beginning of an error about a setting; by default ``place`` and the setting's name.
    Raises UsageError for unknown names, wrong types, and an address with a password in it.
    """
    at = at or (lambda name: f"{place}: {name}")
    if is_by_file(spec):
        return _settings_by_file(spec, given, at)
    provider, _, model = spec.partition(":")
    unknown = sorted(set(given) - set(SETTINGS))
    if unknown:
        meant = did_you_mean(unknown[0], SETTINGS)
        raise UsageError(f"{at(unknown[0])}: unknown setting of {spec}{meant}; known: {', '.join(SETTINGS)}")
    values: dict[str, Any] = {
        "base_url": os.environ.get(BASE_URL_VARIABLES[provider]) or BASE_URLS[provider],
        "temperature": 0.0 if _takes_temperature(provider, model) else None,
    }
    if provider == "anthropic" and "top_p" in given:
        values["temperature"] = None  # from Opus 4.1 on both together are refused
    for name, value in given.items():
        is_none = name == "temperature" and value is False  # TOML has no null
        values[name] = None if is_none else check_value(SETTINGS[name], value, at(name))
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
            f"{at_url}: an address with a user, a password or a query would be stored; put the key into the environment"
        )
    found = ModelSettings(spec=spec, **values)
    if found.key_variable and not _VARIABLE.fullmatch(found.key_variable):
        raise UsageError(  # it may be the key itself, so it is not repeated
            f"{at('key_variable')}: expected the name of an environment variable in capitals, such as GEMINI_API_KEY"
        )
    for name, why in _refused_settings(found):
        raise UsageError(f"{at(name)}: {why}")
    return found


def _settings_by_file(spec: str, given: Mapping[str, Any], at: Callable[[str], str]) -> ModelSettings:
    """The settings of whoever answers by file; there is nothing to set. Raises UsageError where something is."""
    found = ModelSettings(spec, BY_FILE, temperature=None)
    for name, value in given.items():
        if getattr(found, name, value) != value:
            raise UsageError(f"{at(name)}: {spec} takes no settings: nobody is called")
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
