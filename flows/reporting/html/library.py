"""The code that draws the charts: Vega-Lite with Vega, out of the package ``vl-convert-python``.

Where that has no wheel for a platform, a page has tables alone. Nothing is fetched. The bundle
draws without ``eval``: ``ast`` has expressions interpreted (``assets/charts.js``).
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

INSTALL = "pip install vl-convert-python"


def is_installed() -> bool:
    """Whether the page can have charts."""
    return find_spec("vl_convert") is not None


def bundle() -> str:
    """JavaScript that has ``vegaEmbed`` afterwards. Takes about two seconds."""
    code: str = import_module("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return code


def version() -> str:
    """The version of the library that draws the charts, for the page's footer."""
    vl_convert = import_module("vl_convert")
    return f"Vega-Lite {vl_convert.get_vegalite_versions()[-1]}, Vega {vl_convert.get_vega_version()}"
