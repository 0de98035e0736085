"""Every method as it is shipped: each registered strategy with its defaults, and with each of its variants."""

from __future__ import annotations

from compaction import Method
from compaction.methods import load_registry, make_method

SHIPPED: dict[str, Method] = {
    method.name: method
    for id, found in load_registry().items()
    for method in (make_method(id), *(make_method(id, variant) for variant in found.variants))
}
