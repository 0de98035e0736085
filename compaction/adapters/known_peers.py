"""The peers' classes that can be run, their modules, and the packages that they need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

OLDEST = "3.11"
"""The oldest Python that this project takes."""


@dataclass(frozen=True, slots=True)
class KnownPeer:
    """A peer whose classes can be run."""

    name: str
    """What its ids begin with, and the package that is imported."""
    adapter: str
    package: str
    """The distribution to install."""
    tried: str
    """The version that the adapter was tested with."""
    python: str
    """The oldest Python that the package takes."""
    places: tuple[str, ...]
    """Modules in which a class is looked for."""
    runs: str
    example: str
    models: tuple[str, ...] = ()
    """Parameters that take a model: these are the run's summariser."""
    may_ask: tuple[str, ...] = ()
    """Parameters by which a class is known to ask the model that it is called with."""
    prompts: tuple[str, ...] = ()
    """Parameters with a prompt of the user's own."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the adapter, with their defaults."""

    @property
    def installed(self) -> str:
        """The version that is installed; empty where none is."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""


KNOWN = (
    KnownPeer(
        "agent_framework",
        "agent_framework",
        "agent-framework-core",
        "1.23.0",
        "3.10",
        ("agent_framework",),
        "Microsoft Agent Framework's compaction strategies",
        "peer:agent_framework.SlidingWindowStrategy(keep_last_groups=20)",
        models=("client",),
        prompts=("prompt",),
    ),
    KnownPeer(
        "openhands",
        "openhands_sdk",
        "openhands-sdk",
        "1.58.0",
        "3.12",
        ("openhands.sdk.context.condenser",),
        "OpenHands' condensers",
        "peer:openhands.LLMSummarizingCondenser(max_size=80,keep_first=4)",
        models=("llm",),
        options={"forced": True, "thinking_blocks": True},
    ),
    KnownPeer(
        "langchain",
        "langchain",
        "langchain",
        "1.4.7",
        "3.10",
        ("langchain.agents.middleware",),
        "LangChain's middleware and context edits",
        "peer:langchain.ClearToolUsesEdit(keep=3)",
        models=("model", "summarizer"),
        prompts=("summary_prompt",),
        options={"forced": True},
    ),
    KnownPeer(
        "inspect_ai",
        "inspect_ai",
        "inspect-ai",
        "0.3.285",
        "3.10",
        ("inspect_ai.model",),
        "inspect_ai's compaction strategies",
        "peer:inspect_ai.CompactionTrim(preserve=0.8)",
        models=("model",),
        may_ask=("model", "instructions"),
        prompts=("prompt",),
    ),
)
"""The peers, in the order in which they are listed."""

CALLABLE = KnownPeer(
    "",
    "callables",
    "",
    "",
    "",
    (),
    "any callable that takes chat messages and returns some",
    "peer:my_package.my_module:my_function(keep=20)",
    models=("summarize",),
)


def list_peers() -> list[dict[str, Any]]:
    """List the classes that can be run, and the package that each needs."""
    found = []
    for known in KNOWN:
        there = f"installed: {known.installed}" if known.installed else "not installed"
        python = f", Python {known.python} or later" if known.python > OLDEST else ""
        needs = f"{known.package} (tested with {known.tried}{python}; {there})"
        found.append({"name": known.example, "what": f"Runs {known.runs} themselves.", "needs": needs})
    what = f"Runs {CALLABLE.runs} (docs/strategies.md)."
    return [*found, {"name": CALLABLE.example, "what": what, "needs": "the package that it is in"}]
