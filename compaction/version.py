"""Which code made a figure: hashes of source files go into the identity of what the code made.

Somebody who changes a strategy or the engine and runs again must get new results, never the old code's stored ones.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

LENGTH = 8
"""Hex digits of a code version."""

OWN = ("compaction", "compaction/strategies", "compaction/prompts")
"""Folders that the project's own strategies and the embedded summariser depend on."""


def code_version(*folders: str) -> str:
    """The beginning of ``code_sha256``, for names."""
    return code_sha256(*folders)[:LENGTH]


@cache
def code_sha256(*folders: str) -> str:
    """Hash over the source files and prompts that lie directly in some folders of installed packages.

    A module (``flows/redaction.py``) may stand in the place of a folder.
    """
    digest = hashlib.sha256()
    for folder in folders:
        package, *below = folder.split("/")
        place = files(package).joinpath(*below)
        entries = [place] if place.is_file() else list(place.iterdir())
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith((".py", ".md")):
                digest.update(f"{folder}/{entry.name}\0".encode() + entry.read_bytes() + b"\0")
    return digest.hexdigest()


def identity_version(identity: Mapping[str, Any]) -> str:
    """Hash of what identifies a model (``Model.identity``), for names."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:LENGTH]


def function_version(function: Callable[..., object]) -> str:
    """Hash over the module that a strategy's function is defined in, and over what every strategy rests on."""
    if function.__module__.startswith("compaction."):
        return code_version(*OWN)
    module = inspect.getmodule(function)
    try:
        source: Iterable[str] = (inspect.getsource(module if module is not None else function),)
    except OSError:  # made by exec or typed in
        source = (function.__code__.co_code.hex(), repr(function.__code__.co_consts))
    text = "\0".join((*source, code_version("compaction")))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:LENGTH]
