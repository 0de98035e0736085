"""``python -m tests.pin``: write down anew what is pinned, and say what is other than before.

First ``tests/golden/behaviour.json`` (``tests.behaviour``), then the output in README and docs and ``docs/methods.md``
(``tests.pages``). A component that puts out something else under the same version stops it: nothing is written then.
``python -m tests.pin behaviour`` does the first alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tests import pages
from tests.behaviour import GOLDEN, Component, components, read_golden, version_problem


def pin_components(
    before: Mapping[str, Any], known: Mapping[str, Component]
) -> tuple[dict[str, Any], list[str], list[str]]:
    """The entries of all components, what is other than before, and what stands against writing them."""
    after = {name: component.digests() for name, component in sorted(known.items())}
    against = [
        why for name, component in known.items() if (why := version_problem(component, before.get(name), after[name]))
    ]
    changes = [f"- {name}" for name in before if name not in after]
    for name, entry in after.items():
        if name not in before:
            changes.append(f"+ {name} {entry['version']}")
        elif before[name] != entry:
            changes.append(f"~ {name} {before[name]['version']} -> {entry['version']}")
    return after, changes, against


def pin_behaviour() -> int:
    """Write the golden file; 1 where a version has to be raised before."""
    after, changes, against = pin_components(read_golden(), components())
    if against:
        print("\n".join(against), file=sys.stderr)
        return 1
    GOLDEN.write_text(json.dumps(after, indent=1) + "\n")
    print("\n".join(changes or ["no component puts out anything else"]))
    return 0


def main() -> int:
    """All that is pinned; the first step that fails ends it."""
    code = pin_behaviour()
    if code or sys.argv[1:] == ["behaviour"]:
        return code
    return pages.main() or subprocess.run(["git", "diff", "--stat"], cwd=pages.ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
