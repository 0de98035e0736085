"""Twelve nights on one store, and the night after each: what docs/faults.md says of nights. It takes some minutes."""

from __future__ import annotations

import shutil

import pytest

from tests.flows.conftest import (  # noqa: F401 (fixtures)
    command,
    forker,
    kept_worker,
    prefect_home,
    prefect_server,
    working_command,
)
from tests.flows.test_twelve_nights import Nights, down, nights, verdict  # noqa: F401 (a fixture)


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_every_night_and_the_night_after_it_leave_what_a_fresh_run_would(nights: Nights) -> None:  # noqa: F811 (the fixture)
    nights.night()  # 1: all of it is new
    nights.write("orchard", "session-0", 27)
    nights.night()  # 2: a log has grown, to one more point
    nights.write("harbour", "session-1", 18, "granite")
    nights.night()  # 3: a log has another content
    nights.log("harbour").unlink()
    nights.night()  # 4: a log was deleted

    nights.damage("lantern")
    nights.night(exit_code=3)  # 5: a log is damaged in its middle
    nights.write("lantern", "session-2", 20)
    nights.has_refused = False
    nights.night()  # … and is mended, and has grown

    nights.cut_in_half("meadow")
    nights.night(exit_code=3)  # 6: a log is read while it is written anew
    nights.has_refused = False
    nights.write("meadow", "session-3", 17)
    nights.log("meadow").write_bytes(nights.log("meadow").read_bytes()[:-40])
    shutil.copy(nights.log("meadow"), nights.folder / "good")
    nights.run_code = 3
    nights.night(exit_code=3)  # … and while it is added to: what is there is taken
    nights.run_code = 0
    nights.write("meadow", "session-3", 18)
    nights.night()

    nights.write("willow", "session-4", 16)
    nights.kill()  # 7
    nights.night()
    nights.names = (*nights.names, "factory_style_anchored")
    nights.night()  # 8: a new method, also on the log that is gone
    nights.change_the_method()
    nights.night()  # 9: a changed parameter
    nights.change_the_rubric()
    nights.night()  # 10: a new rubric

    nights.provider.handler = down
    nights.write("pebble", "session-5", 16)
    nights.run(exit_code=3)  # 11: the provider is down
    nights.provider.handler = verdict
    fresh = nights.fresh()
    assert nights.apart(fresh).keys() == {"scores", "verdicts"}
    nights.provider.handler = down
    nights.run(exit_code=3)
    assert nights.apart(fresh).keys() == {"scores", "verdicts"}
    nights.provider.handler = verdict
    nights.night()
    nights.night()  # 12: nothing is new
