"""Where the sample sessions lie."""

from __future__ import annotations

from importlib.resources import files


def sample_folder() -> str:
    """Folder of the sample sessions in the package."""
    return str(files("flows").joinpath("samples"))
