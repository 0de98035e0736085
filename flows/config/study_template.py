"""A study file to begin with: every key with what it means and its default, from the study itself."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any

import orjson

from flows.config.study import Study
from flows.config.study_values import CHOICES, LEAST
from flows.llm import settings
from flows.llm.settings import ModelSettings

WIDTH = 100
MODEL = "openai:NAME"

_NOT_KEYS = ("named_methods", "models", "spec")
"""What stands in tables, or in a table's name."""

_EXAMPLES: Mapping[str, Any] = {
    "limit": 100,
    "concurrency": 4,
    "task_types": "task_types.csv",
    "budget_usd": 20.0,
    "budget_tokens": 5_000_000,
    "top_p": 1.0,
    "seed": 7,
    "reasoning_effort": "medium",
    "input_usd": 1.25,
    "output_usd": 10.0,
    "cached_input_usd": 0.125,
    "base_url": "http://127.0.0.1:8000/v1",
}
"""Key without a default → what it could be."""

_HEAD = """\
A study: what one run depends on. Look it over with `compaction-eval plan --study {name}`, then
`compaction-eval run --study {name}`. Options of the command override it.

Every key is shown with its default, or with an example where it has none. Take the "#" before a key
away to set it. Whatever is wrong here is answered with the line, the key and what it may be.
"""

_METHODS = """\
Methods of your own, as many tables as you like: a strategy with parameters, or a pipeline of steps.
They run beside what `strategies` lists; the name is what the leaderboard shows. `compaction-eval list strategies`
has the strategies and their parameters; docs/strategies.md says how to compose them.
"""

_METHODS_TABLES = """\
#[[methods]]
#name = "long tail"
#strategy = "head_tail"
#tail = 40

#[[methods]]
#name = "ours"
#trigger = "tokens>16000"
#steps = ["af_py_tool_result", "head_tail(tail=20) when tokens>16000"]
#budget = 16000
"""

_MODEL = f"""\
How a model is used, a table for each (`[models."{MODEL}"]` or `[models."anthropic:NAME"]`). Keys of
providers are read from OPENAI_API_KEY and ANTHROPIC_API_KEY, and are written nowhere.
"""

_OF_MODELS = {
    "base_url": "Where its server is; without it OPENAI_BASE_URL or ANTHROPIC_BASE_URL, else the provider's address.",
    "temperature": "`false` where the model takes none, or for the server's own; 0 otherwise.",
}
"""What to say of a setting in the place of what is said in the code."""
_MODEL_KEY = "Sets `summarizer`, `responder` and `prober` at once."


def make_template(name: str = "study.toml", chosen: Mapping[str, Any] | None = None) -> str:
    """The text of a study file; as it stands it changes nothing but the keys that are ``chosen`` with their values."""
    meanings = {"model": _MODEL_KEY, **attribute_docs(Study)}
    defaults: dict[str, Any] = {}
    for field in fields(Study):
        if field.name == "summarizer":
            defaults["model"] = field.default
        if field.name not in _NOT_KEYS:
            defaults[field.name] = field.default
    blocks = [_prose(_HEAD.format(name=name)), *_keys(defaults, meanings, CHOICES, chosen or {})]
    blocks += [_prose(_METHODS), _METHODS_TABLES.rstrip("\n"), _prose(_MODEL) + f'\n#[models."{MODEL}"]']
    of_models = {field.name: field.default for field in fields(ModelSettings) if field.name not in _NOT_KEYS}
    blocks += _keys(of_models, {**attribute_docs(ModelSettings), **_OF_MODELS}, settings.CHOICES)
    return "\n\n".join(blocks) + "\n"


def attribute_docs(kind: type) -> dict[str, str]:
    """Attribute → the text that stands under it in the class (Python keeps it in the source only)."""
    [body] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for line, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(after, ast.Expr):
            text = ast.literal_eval(after.value)
            found[line.target.id] = " ".join(text.split())
    return found


def _keys(
    defaults: Mapping[str, Any],
    meanings: Mapping[str, str],
    choices: Mapping[str, Any],
    chosen: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[str]:
    for key, default in defaults.items():
        has_default = default is not None and default is not MISSING
        text = _in_toml(meanings.get(key, ""))
        if key in choices:
            text += f" One of {', '.join(choices[key])}."
        if LEAST.get(key):
            text += f" At least {LEAST[key]}."
        if not has_default and "without it" not in text:
            text += " Not set by default."
        value = chosen.get(key, default if has_default else _EXAMPLES[key])
        yield f"{_prose(text.strip())}\n{'' if key in chosen else '#'}{key} = {_value(value)}"


def _in_toml(text: str) -> str:
    """A text about Python values as one about the file: what is None there is left out here."""
    text = re.sub(r"``+", "`", text).replace(" (`flows.config.runner_spec`)", "")
    return re.sub(r"\bNone( for|:)", "without it", text)


def _prose(text: str) -> str:
    paragraphs = re.split(r"\n\s*\n", text.strip())
    wrapped = ("\n".join(f"# {line}" for line in textwrap.wrap(part, WIDTH - 2)) for part in paragraphs)
    return "\n#\n".join(wrapped)


def _value(value: Any) -> str:
    """A value as TOML; for texts, numbers, booleans and lists of them JSON is TOML."""
    return orjson.dumps(list(value) if isinstance(value, tuple) else value).decode()
