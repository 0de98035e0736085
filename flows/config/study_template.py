"""A study file as a start: every key with its meaning and default, from the study itself."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from flows.config.study_keys import KEYS, MODEL
from flows.llm.settings import SETTINGS
from flows.support.keys import Key

WIDTH = 100
NAMED = "openai:NAME"

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
How a model is used, a table for each (`[models."{NAMED}"]` or `[models."anthropic:NAME"]`). Keys of
providers are read from OPENAI_API_KEY and ANTHROPIC_API_KEY, and are written nowhere.
"""


def make_template(name: str = "study.toml", chosen: Mapping[str, Any] | None = None) -> str:
    """The text of a study file; as it stands it changes nothing but the keys that are ``chosen`` with their values."""
    keys: dict[str, Key] = {}
    for key, known in KEYS.items():
        keys |= {"model": MODEL, key: known} if key == "summarizer" else {key: known}
    blocks = [_prose(_HEAD.format(name=name)), *_show(keys, chosen or {})]
    blocks += [_prose(_METHODS), _METHODS_TABLES.rstrip("\n"), _prose(_MODEL) + f'\n#[models."{NAMED}"]']
    return "\n\n".join([*blocks, *_show(SETTINGS, {})]) + "\n"


def _show(keys: Mapping[str, Key], chosen: Mapping[str, Any]) -> Iterator[str]:
    for name, key in keys.items():
        text = key.about
        if key.choices:
            text += f" One of {', '.join(key.choices)}."
        if key.least:
            text += f" At least {key.least}."
        if key.unset:
            text += f" Without it: {key.unset}."
        value = chosen.get(name, key.default if key.example is None else key.example)
        yield f"{_prose(text)}\n{'' if name in chosen else '#'}{name} = {_value(value)}"


def _prose(text: str) -> str:
    paragraphs = re.split(r"\n\s*\n", text.strip())
    wrapped = ("\n".join(f"# {line}" for line in textwrap.wrap(part, WIDTH - 2)) for part in paragraphs)
    return "\n#\n".join(wrapped)


def _value(value: Any) -> str:
    """A value as TOML; for texts, numbers, booleans and lists of them JSON is TOML."""
    return orjson.dumps(list(value) if isinstance(value, tuple) else value).decode()
