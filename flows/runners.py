"""What does the work that only computes: processes of this machine, or a cluster of Dask's or Ray's.

The stages that wait for a language model are not meant: those stay in the run's own process, around one gateway, since
limits, budget and cache are of the whole run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from flows.problems import UsageProblem, install_extra

LOCAL = "local"
PACKAGES = {"dask": "prefect_dask", "ray": "prefect_ray"}
"""Kind of cluster → the package that Prefect reaches it with."""
DEFAULT_PORTS = {"dask": 8786, "ray": 6379, "ray://": 10001}
ACCEPTED = "local, dask, dask:ADDRESS, ray or ray:ADDRESS"


@dataclass(frozen=True)
class Runner:
    """A runner as a study names it."""

    kind: str
    """``local``, ``dask`` or ``ray``."""
    address: str = ""
    """Of a cluster that is there; blank for one that is started for the run."""

    @classmethod
    def parse(cls, text: str) -> Runner:
        """``kind`` or ``kind:address``. Raises ValueError for anything else."""
        kind, colon, address = text.partition(":")
        if kind not in (LOCAL, *PACKAGES) or (colon and (kind == LOCAL or not address.strip())):
            raise ValueError(text)
        found = cls(kind, address.strip())
        _ = found.endpoint  # a port that is no number
        return found

    @property
    def is_cluster(self) -> bool:
        """Whether the workers are a cluster's."""
        return self.kind != LOCAL

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Host and port that must answer; None where the address does not say (``ray:auto``)."""
        if not self.address or self.address in ("auto", "local"):
            return None
        scheme = "ray://" if self.address.startswith("ray://") else self.kind
        parts = urlsplit(self.address if "://" in self.address else f"tcp://{self.address}")
        if parts.hostname is None:
            raise ValueError(self.address)
        return parts.hostname, parts.port or DEFAULT_PORTS[scheme]

    def check_installed(self, place: str = "--runner") -> None:
        """Raises UsageProblem, naming the place, when the packages that it needs are missing."""
        if self.is_cluster and find_spec(PACKAGES[self.kind]) is None:
            missing = PACKAGES[self.kind].replace("_", "-")
            raise UsageProblem(
                f"{place}: for {self.kind} the package {missing} is not installed; install it here and on all workers "
                f"with: {install_extra(self.kind)}"
            )
