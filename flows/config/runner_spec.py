"""The runner of work that only computes: processes of this machine, or a Dask cluster.

The stages that wait for a language model are not meant: those stay in the run's own process, around one gateway, since
limits, budget and cache are of the whole run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit

from flows.support.errors import UsageError, install_extra

LOCAL = "local"
DASK = "dask"
DASK_PORT = 8786
ACCEPTED = "local, dask or dask:ADDRESS"


@dataclass(frozen=True)
class Runner:
    """A runner as a study names it."""

    kind: str
    """``local`` or ``dask``."""
    address: str = ""
    """Of a cluster that is there; blank for one that is started for the run."""

    @classmethod
    def parse(cls, text: str) -> Runner:
        """``kind`` or ``kind:address``. Raises ValueError for anything else."""
        kind, colon, address = text.partition(":")
        if kind not in (LOCAL, DASK) or (colon and (kind == LOCAL or not address.strip())):
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
        """Host and port that must answer; None for a cluster that is started for the run."""
        if not self.address:
            return None
        parts = urlsplit(self.address if "://" in self.address else f"tcp://{self.address}")
        if parts.hostname is None:
            raise ValueError(self.address)
        return parts.hostname, parts.port or DASK_PORT

    def check_installed(self, place: str = "--runner") -> None:
        """Raises UsageError, naming the place, when the packages that it needs are missing."""
        if self.is_cluster and find_spec("prefect_dask") is None:
            raise UsageError(
                f"{place}: for dask the package prefect-dask is not installed; install it here and on all workers "
                f"with: {install_extra(DASK)}"
            )
