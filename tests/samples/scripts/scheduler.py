"""A job fires twice at the end of daylight saving time, and the back-off of retries is wrong."""

from __future__ import annotations

from tests.samples.record import Session

META = dict(
    format="claude_code",
    project="scheduler",
    title="billing-export ran twice at the clock change",
    started="2025-10-27T08:41:00Z",
    workdir="/srv/scheduler",
)

TODO = [
    "Reproduce the double run with a failing test",
    "Find out why it fires twice and why the insert collides",
    "Decide how times are stored",
    "Fix the cron search around clock changes",
    "Fix the comparison in the store",
    "Fix the retry back-off",
    "Update README, operations notes and changelog",
]


def todos(s: Session, done: int, extra: tuple[str, ...] = (), items: list[str] = TODO) -> None:
    everything = [*items, *extra]
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(everything)
    s.todo(list(zip(everything, states)))


TEST_DST = '''
"""What happens when the clocks change.

Berlin, autumn: on 2025-10-26 at 03:00 (+02:00) it becomes 02:00 (+01:00), 01:00 UTC.
Berlin, spring: on 2026-03-29 at 02:00 (+01:00) it becomes 03:00 (+02:00), 01:00 UTC.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from nightbell.clock import FakeClock
from nightbell.scheduler import Scheduler


def utc(text):
    return datetime.fromisoformat(text + "+00:00")


def run_minutes(scheduler, clock, minutes):
    """Tick once a minute; the times (UTC) at which something ran."""
    fired = []
    for _ in range(minutes):
        clock.advance(minutes=1)
        for run in scheduler.tick():
            fired.append((clock.now().strftime("%H:%M"), run.scheduled_for.isoformat()))
    return fired


@pytest.fixture
def berlin(store, runner):
    def make(start):
        clock = FakeClock(utc(start))
        scheduler = Scheduler(store, zone="Europe/Berlin", clock=clock, runner=runner)
        return scheduler, clock

    return make


def test_fixed_time_runs_once_when_the_hour_is_repeated(berlin, make_job):
    make_job("billing-export", "30 2 * * *", zone="Europe/Berlin")
    scheduler, clock = berlin("2025-10-25T23:00:00")
    scheduler.start()
    fired = run_minutes(scheduler, clock, 5 * 60)
    assert fired == [("00:30", "2025-10-26T02:30:00+02:00")]
'''

TEST_CRON_MORE = '''

BERLIN = ZoneInfo("Europe/Berlin")


def upcoming(cron, after, count):
    found = CronExpression.parse(cron).upcoming(utc(after), BERLIN, count)
    return [moment.isoformat(sep=" ", timespec="minutes") for moment in found]


def test_autumn_fixed_time_takes_the_first_of_the_two():
    assert upcoming("30 2 * * *", "2025-10-25T12:00:00", 2) == [
        "2025-10-26 02:30+02:00",
        "2025-10-27 02:30+01:00",
    ]


def test_autumn_interval_goes_on_through_both_hours():
    assert upcoming("*/30 * * * *", "2025-10-25T23:50:00", 6) == [
        "2025-10-26 02:00+02:00",
        "2025-10-26 02:30+02:00",
        "2025-10-26 02:00+01:00",
        "2025-10-26 02:30+01:00",
        "2025-10-26 03:00+01:00",
        "2025-10-26 03:30+01:00",
    ]


def test_autumn_planning_within_the_second_hour():
    # a daemon started at 02:10 (+01:00): the 02:30 of that day is over
    assert upcoming("30 2 * * *", "2025-10-26T01:10:00", 1) == ["2025-10-27 02:30+01:00"]


def test_spring_interval():
    assert upcoming("0 * * * *", "2026-03-28T23:30:00", 3) == [
        "2026-03-29 01:00+01:00",
        "2026-03-29 03:00+02:00",
        "2026-03-29 04:00+02:00",
    ]


def test_spring_fixed_time_in_the_gap_is_skipped():
    assert upcoming("30 2 * * *", "2026-03-28T12:00:00", 1) == ["2026-03-30 02:30+02:00"]
'''

OLD_SEARCH = '''        The search walks over real minutes, so that it cannot get stuck on wall
        clock times that do not exist.
        """
        cursor = after.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        limit = cursor + HORIZON
        while cursor <= limit:
            local = cursor.astimezone(zone)
            if not self.matches_day(local):
'''

SEARCH_V1 = '''        The search walks over real minutes, so that it cannot get stuck on wall
        clock times that do not exist.
        """
        cursor = after.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        limit = cursor + HORIZON
        while cursor <= limit:
            local = cursor.astimezone(zone)
            if local.fold:
                # this wall clock time has been there an hour ago
                cursor += timedelta(minutes=1)
                continue
            if not self.matches_day(local):
'''

SEARCH_V2 = '''        """
        if self.hour.restricted:
            return self._next_fixed(after, zone)
        return self._next_interval(after, zone)

    def _next_interval(self, after: datetime, zone: ZoneInfo) -> datetime | None:
        """For expressions that mean "every so often": walk over real minutes.

        An hour that comes twice counts twice, one that is left out is not there.
        """
        cursor = after.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        limit = cursor + HORIZON
        while cursor <= limit:
            local = cursor.astimezone(zone)
            if not self.matches_day(local):
'''

AFTER_V2 = '''            if local.hour in self.hour and local.minute in self.minute:
                return local
            cursor += timedelta(minutes=1)
        return None

    def _next_fixed(self, after: datetime, zone: ZoneInfo) -> datetime | None:
        """For expressions that name hours: walk over the wall clock.

        A wall clock time that comes twice counts the first time, one that does
        not exist is skipped.
        """
        after = after.astimezone(zone)
        wall = after.replace(second=0, microsecond=0, tzinfo=None) + timedelta(minutes=1)
        limit = wall + HORIZON
        while wall <= limit:
            if not self.matches_day(wall):
                wall = wall.replace(hour=0, minute=0) + timedelta(days=1)
            elif wall.hour not in self.hour:
                wall = wall.replace(minute=0) + timedelta(hours=1)
            elif wall.minute not in self.minute:
                wall += timedelta(minutes=1)
            else:
                moment = wall.replace(tzinfo=zone, fold=0)
                if moment > after and _exists(moment):
                    return moment
                wall += timedelta(minutes=1)
        return None
'''


def script(s: Session) -> None:
    s.user("""
Morning. Our billing-export job ran twice in the night from Saturday to Sunday, and after that the daemon died. The
invoices went out twice, so this is the one thing I want understood properly before anybody touches anything.

Job is `30 2 * * *`, zone Europe/Berlin, daemon runs with `--zone Europe/Berlin`. From the journal (host is on UTC):

```
Oct 26 00:30:00 vm-sched-2 nightbell[811]: billing-export exit 0
Oct 26 00:31:00 vm-sched-2 nightbell[811]: billing-export exit 0
Oct 26 00:32:01 vm-sched-2 nightbell[811]: Traceback (most recent call last):
Oct 26 00:32:01 vm-sched-2 nightbell[811]:   File "/usr/lib/python3/dist-packages/nightbell/scheduler.py", line 83, in tick
Oct 26 00:32:01 vm-sched-2 nightbell[811]:     return [self._fire(job) for job in self.store.due(now.astimezone(self.zone))]
Oct 26 00:32:01 vm-sched-2 nightbell[811]:   File "/usr/lib/python3/dist-packages/nightbell/scheduler.py", line 94, in _fire
Oct 26 00:32:01 vm-sched-2 nightbell[811]:     run = self._execute(job, job.next_run, attempt)
Oct 26 00:32:01 vm-sched-2 nightbell[811]:   File "/usr/lib/python3/dist-packages/nightbell/scheduler.py", line 114, in _execute
Oct 26 00:32:01 vm-sched-2 nightbell[811]:     self.store.start_run(run)
Oct 26 00:32:01 vm-sched-2 nightbell[811]:   File "/usr/lib/python3/dist-packages/nightbell/store.py", line 203, in start_run
Oct 26 00:32:01 vm-sched-2 nightbell[811]:     cursor = self._db.execute(
Oct 26 00:32:01 vm-sched-2 nightbell[811]: sqlite3.IntegrityError: UNIQUE constraint failed: runs.job_id, runs.scheduled_for, runs.attempt
```

Second thing, maybe related, maybe not: the retries come too late. With backoff_base 30 the first retry of another job came
after more than a minute, and once we saw one after 16 minutes with a cap of 900.

Two rules: no new dependencies (the package has none and stays that way), and the production code base is frozen otherwise,
so no clean-ups on the side. Start with a failing test.
""")
    s.think("They want understanding first. Look at the layout, then read cron, scheduler, store together; the traceback says the claim of a run collided.")
    s.say("I'll look at the layout and the three files in the traceback's path first, and write the failing test before changing anything.")
    s.parallel(lambda: [s.ls(), s.bash("git log --oneline && git status --short && python -V && pip list 2>/dev/null")])
    s.parallel(lambda: [s.read("nightbell/cron.py"), s.read("nightbell/scheduler.py"), s.read("nightbell/store.py")])
    s.think(
        "next_after walks real UTC minutes and matches on local hour/minute. On 26 Oct, 02:30 exists twice: 00:30Z and 01:30Z. After the "
        "first firing at 00:30Z, next_after(00:30Z) = 01:30Z, i.e. 02:30+01:00. But the second run was at 00:31Z, not 01:30Z. Why one "
        "minute later? due() compares ISO text: '2025-10-26T02:30:00+01:00' <= '2025-10-26T02:31:00+02:00' as text is true. Then third "
        "tick: planned again from 00:31Z -> the same 02:30+01:00 -> UNIQUE collision. That explains exactly two runs and a crash."
    )
    s.say("""
I have a suspicion that explains all three journal lines, but let me prove it and not argue it. The short form:

- `next_after` walks over *real* minutes and asks each one for its wall clock. 02:30 is there twice on the 26th (00:30 UTC and 01:30 UTC), so after the first run the next time is "02:30+01:00".
- `due` compares ISO **text**. `2025-10-26T02:30:00+01:00` sorts before `2025-10-26T02:31:00+02:00`, so that second 02:30 is due a minute later and not an hour later.
- The tick after that plans the same "02:30+01:00" again, and the UNIQUE constraint on `runs` stops it, with the traceback you saw.

First the plan, then the state of the tests as they are.""")
    s.parallel(lambda: [todos(s, 0), s.bash("python -m pytest -v 2>&1 | tail -95")])
    s.say("All 81 are green, so nothing covers a clock change. I read the helpers the tests use, to build on them.")
    s.parallel(lambda: [s.read("tests/conftest.py"), s.read("tests/test_scheduler.py"), s.read("nightbell/clock.py"), s.read("nightbell/runner.py")])
    s.say("`FakeClock` and `ScriptedRunner` are all I need: tick once a minute over the night in question and write down what runs.")
    s.write("tests/test_dst.py", TEST_DST)
    s.bash("python -m pytest tests/test_dst.py -v 2>&1")
    s.say("""
That is your incident to the letter: the same IntegrityError from the same line. The test dies in the third tick, so it does not show the two runs yet. A few lines outside of the suite print what was stored at each step.""")
    s.bash('''python - <<'PY'
from datetime import datetime, timezone
from nightbell.clock import FakeClock
from nightbell.models import Job
from nightbell.runner import ScriptedRunner
from nightbell.scheduler import Scheduler
from nightbell.store import JobStore

store = JobStore(":memory:")
clock = FakeClock(datetime(2025, 10, 26, 0, 28, tzinfo=timezone.utc))
scheduler = Scheduler(store, zone="Europe/Berlin", clock=clock, runner=ScriptedRunner())
store.add(Job(name="billing-export", command=["true"], cron="30 2 * * *", zone="Europe/Berlin"))
scheduler.start()
for _ in range(5):
    clock.advance(minutes=1)
    planned = store._db.execute("SELECT next_run FROM jobs").fetchone()[0]
    asked = clock.now().astimezone(scheduler.zone).isoformat(timespec="seconds")
    try:
        ran = [run.scheduled_for.isoformat() for run in scheduler.tick()]
    except Exception as error:
        ran = f"{type(error).__name__}: {error}"
    print(f"{clock.now():%H:%M}Z  next_run {planned}  <= {asked}  {planned <= asked!s:5}  ran {ran}")
PY''')
    s.say("""
Proven, line by line. At 00:31Z the text comparison says "due" although the stored moment is 59 minutes away.

So there are two faults and either alone would be harmful:

1. the search offers the repeated wall clock time a second time (with a correct comparison the job would have run twice as well, an hour apart);
2. the store compares local times with different offsets as text.

Fault 2 is not about the clock change alone. Any job whose zone is not the daemon's is compared wrongly all year. Let me check that before I say it.""")
    s.bash('''python - <<'PY'
from datetime import datetime, timezone
from nightbell.clock import FakeClock
from nightbell.models import Job
from nightbell.runner import ScriptedRunner
from nightbell.scheduler import Scheduler
from nightbell.store import JobStore

store = JobStore(":memory:")
clock = FakeClock(datetime(2025, 6, 2, 4, 0, tzinfo=timezone.utc))
scheduler = Scheduler(store, zone="Europe/Berlin", clock=clock, runner=ScriptedRunner())
store.add(Job(name="us-report", command=["true"], cron="0 9 * * *", zone="America/New_York"))
scheduler.start()
print("planned", store.get("us-report").next_run, "=", store.get("us-report").next_run.astimezone(timezone.utc))
try:
    for _ in range(12 * 60):
        clock.advance(minutes=1)
        for run in scheduler.tick():
            print("ran at ", clock.now(), "for", run.scheduled_for)
except Exception as error:
    print("died at", clock.now(), type(error).__name__, error)
PY''')
    s.think("So a New York job under a Berlin daemon fires 6 hours early, then the daemon crashes the next minute. Do they have such jobs? Ask. That strengthens UTC in the store.")
    s.say("""
It is as bad as that: a 09:00 New York job under a Berlin daemon runs at 07:00 UTC, which is six hours early, and the daemon dies a minute later with the same error. Do you have jobs with a zone of their own in production? The option came with 0.9.1.

Before I go on I'd like two decisions from you. I have a recommendation for both, below.

**A. How `next_run` is stored.**

- *UTC text.* Sorts and compares correctly as text, the index on `(state, next_run)` stays usable, one line in `_to_text`. The wall clock is computed when it is shown. Old rows have to be rewritten once.
- *Local time plus zone name.* Survives a change of the zone rules between planning and running (a government moving the date of the clock change), because the wall clock is what is stored. But SQLite cannot compare it; `due` would have to load all active jobs and compare in Python, or a second column would have to hold the UTC time.

I recommend UTC. We plan one run ahead, at most a day or so for nearly all jobs, and the cron expression and the zone are in the row anyway; a job can be planned anew whenever rules change.

**B. What a cron line means when the hour is repeated.** The usual answer, Vixie cron's: expressions that name hours run once, expressions with `*` in the hour field go on in real time. `*/15 * * * *` must not pause for an hour.""")
    s.user("""
Good work. Yes: one job with its own zone, `us-report`, it was added on Thursday. It explains why the daemon died on Friday at 7 UTC and nobody knew why.

A: UTC is fine with me, with one condition: don't change the table layout. No new columns, no renamed ones. The status page and the
monthly report read that file directly. What I definitely don't want is croniter or tzdata coming in through the back door.

B: yes, like Vixie. And for spring, 02:30 doesn't exist then: skip it, I'd say. Nobody will miss one run in March.
""")
    s.say("Clear. Layout stays, no packages. I look at who else touches these columns before I edit: the docs say something about the two readers.")
    s.parallel(lambda: [s.read("docs/operations.md"), s.read("nightbell/cli.py"), s.read("nightbell/config.py"), s.read("nightbell/models.py"), s.grep("next_run|scheduled_for", "nightbell"), s.grep("isoformat|fromisoformat|astimezone", "nightbell")])
    todos(s, 3)
    s.say("The search first. The smallest change is to pass over minutes with `fold=1`, since those are the ones seen an hour before. I add the tests for the cron search together with it.")
    s.parallel(lambda: [
    s.edit("nightbell/cron.py", OLD_SEARCH, SEARCH_V1),
    s.edit(
        "tests/test_dst.py",
        "from datetime import datetime\n\nimport pytest\n\nfrom nightbell.clock import FakeClock\n",
        "from datetime import datetime\nfrom zoneinfo import ZoneInfo\n\nimport pytest\n\nfrom nightbell.clock import FakeClock\nfrom nightbell.cron import CronExpression\n",
    ),
    ])
    s.bash("cat >> tests/test_dst.py <<'PY'\n" + TEST_CRON_MORE.rstrip("\n") + "\nPY\npython -m pytest tests/test_dst.py -v 2>&1")
    s.say("""
That was too simple, and it is my mistake: passing over `fold=1` for everything also silences `*/30 * * * *` for the whole repeated hour, which is precisely what we said must not happen. A job that is to run every half hour would have been quiet for an hour and a half.

The two kinds of expressions need two searches: over real minutes for "every so often", over the wall clock for "at this time". Which kind an expression is, is known already: `Field.restricted`. I take the change back and do it that way.""")
    s.parallel(lambda: [s.bash("git checkout nightbell/cron.py && git status --short"), s.read("tests/test_cron.py"), s.read("nightbell/cron.py", offset=112, limit=100)])
    s.parallel(lambda: [
    s.edit("nightbell/cron.py", OLD_SEARCH[: OLD_SEARCH.index("            if not")].replace("        The search walks", "\n        The search walks").lstrip("\n") + "            if not self.matches_day(local):\n", SEARCH_V2),
    s.edit(
        "nightbell/cron.py",
        "            if local.hour in self.hour and local.minute in self.minute:\n                return local\n            cursor += timedelta(minutes=1)\n        return None\n",
        AFTER_V2,
    ),
    s.edit(
        "nightbell/cron.py",
        "@dataclass(frozen=True)\nclass CronExpression:\n",
        'def _exists(moment: datetime) -> bool:\n    """Whether a local time is one that a clock in its zone really shows."""\n    return moment.astimezone(UTC).astimezone(moment.tzinfo) == moment\n\n\n@dataclass(frozen=True)\nclass CronExpression:\n',
    ),
    ])
    s.bash("python -m pytest tests/test_dst.py tests/test_cron.py -q 2>&1 | tail -60")
    s.think("The gap test still fails? moment.astimezone(UTC).astimezone(tz) == moment: comparing two aware datetimes with the same tzinfo object compares naive wall time -> 03:30 vs 02:30 differ -> False. So should work... The result tells. And 'moment > after' with same tzinfo compares wall clock! after in zone, same ZoneInfo object: the comparison is naive. In the second hour: after = 02:10 fold=1, moment = 02:30 fold 0: naive compare says moment > after -> returns 00:30Z, which is in the past.")
    s.say("""
One left, and it is an instructive one: `moment > after`. When both datetimes carry the *same* `tzinfo` object Python compares the wall clocks and ignores `fold`. So at 02:10 (+01:00) the search finds "02:30", the first one, which was 40 minutes ago. A small demonstration, because this very trap may sit in other places too:""")
    s.bash('''python - <<'PY'
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo
berlin = ZoneInfo("Europe/Berlin")
first = datetime(2025, 10, 26, 2, 30, tzinfo=berlin, fold=0)
now = datetime(2025, 10, 26, 2, 10, tzinfo=berlin, fold=1)
print("same tzinfo:", first > now, "   in UTC:", first.astimezone(timezone.utc) > now.astimezone(timezone.utc))
before = datetime(2025, 10, 26, 2, 59, 45, tzinfo=berlin, fold=0)
later = before + timedelta(seconds=30)
print("30 s later by the wall clock is", (later.astimezone(timezone.utc) - before.astimezone(timezone.utc)).total_seconds(), "real seconds later")
PY''')
    s.say("The second line is the arithmetic twin of the first, and `retry_time` does just that: it adds a `timedelta` to a local time. I come back to it with the back-off. Now the comparison, in UTC.")
    s.edit(
        "nightbell/cron.py",
        "                if moment > after and _exists(moment):\n                    return moment\n",
        "                # in UTC: two times with the same zone object compare by wall clock\n                if moment.astimezone(UTC) > after.astimezone(UTC) and _exists(moment):\n                    return moment\n",
    )
    s.bash("python -m pytest tests/test_dst.py tests/test_cron.py -v 2>&1 | tail -60")
    todos(s, 4)
    s.say("""
The cron part is green, including the first test, the incident itself. That does not mean the store is right: the fixed search just no longer produces the pair of times that trips it. The New York job still would. So a test for that before I touch the store.""")
    s.bash('''cat >> tests/test_dst.py <<'PY'


def test_job_in_another_zone_than_the_daemon(berlin, make_job):
    make_job("us-report", "0 9 * * *", zone="America/New_York")
    scheduler, clock = berlin("2025-06-02T04:00:00")
    scheduler.start()
    fired = run_minutes(scheduler, clock, 12 * 60)
    assert fired == [("13:00", "2025-06-02T09:00:00-04:00")]


def test_interval_in_the_repeated_hour_through_the_store(berlin, make_job):
    make_job("sync", "*/30 * * * *", zone="Europe/Berlin")
    scheduler, clock = berlin("2025-10-25T23:50:00")
    scheduler.start()
    assert [time for time, _ in run_minutes(scheduler, clock, 130)] == [
        "00:00", "00:30", "01:00", "01:30", "02:00",
    ]
PY
python -m pytest tests/test_dst.py -v 2>&1''')
    s.say("Both red, for the reason we know. Now `_to_text`: everything to UTC.")
    s.parallel(lambda: [
    s.edit("nightbell/store.py", '    return moment.isoformat(timespec="seconds")\n', '    return moment.astimezone(UTC).isoformat(timespec="seconds")\n'),
    s.edit("nightbell/store.py", "from .errors import DuplicateJob", "from .clock import UTC\nfrom .errors import DuplicateJob"),
    ])
    s.bash("python -m pytest -v 2>&1 | tail -150")
    s.think("The remaining failures: scheduled_for now reads +00:00. The tests I wrote compare strings of local time. I could loosen the tests... but wait: is scheduled_for read by the monthly report? Docs: yes, runs.scheduled_for. Text form changes. Ask rather than assume.")
    s.say("""
The times are right now; what is left red is the *form*: `scheduled_for` came back as `2025-10-26T00:30:00+00:00` where my tests expect the local form. I could adapt the tests. But `docs/operations.md` says the monthly report reads `runs.scheduled_for`, so the form of that text is visible outside of this repository, and I'd rather ask: what does the report do with it?""")
    s.user("""
Good that you ask. It groups by `substr(scheduled_for, 1, 10)`, i.e. by local day. With UTC in there, everything that runs shortly after
midnight would land on the day before. Finance would notice. So scheduled_for has to stay local with offset, exactly as it is now.

next_run can be UTC, the status page parses ISO properly with offset, I checked in its source just now.
""")
    s.say("""
Then the two columns get two forms, on purpose:

- `jobs.next_run` (and `started_at`, `finished_at`, the lease) in UTC, because they are compared;
- `runs.scheduled_for` local with offset, because people read it by day. It is never compared for order, only for equality in the UNIQUE constraint, and one moment of one job has one local text as long as the job's zone stays.

Since `next_run` comes back from the store in UTC now, the scheduler must turn it into the job's zone when it claims the run. I'll do that in `_fire`, and have a test say that a run at 00:30 local keeps its day.""")
    s.parallel(lambda: [
    s.edit(
        "nightbell/store.py",
        '    return moment.astimezone(UTC).isoformat(timespec="seconds")\n',
        '    # UTC, so that SQLite can compare and sort the texts\n    return moment.astimezone(UTC).isoformat(timespec="seconds")\n\n\ndef _to_local_text(moment: datetime) -> str:\n    """With the offset it came with: `runs.scheduled_for` is read by local day."""\n    if moment.tzinfo is None:\n        raise ValueError("the store takes aware datetimes only")\n    return moment.isoformat(timespec="seconds")\n',
    ),
    s.edit("nightbell/store.py", "                _to_text(run.scheduled_for),\n", "                _to_local_text(run.scheduled_for),\n"),
    s.edit(
        "nightbell/scheduler.py",
        "        run = self._execute(job, job.next_run, attempt)\n",
        "        run = self._execute(job, job.next_run.astimezone(job.zone_info), attempt)\n",
    ),
    ])
    s.bash('''cat >> tests/test_dst.py <<'PY'


def test_scheduled_for_keeps_the_local_day(store, berlin, make_job):
    # the monthly report groups by the first ten characters
    make_job("rollup", "30 0 * * *", zone="Europe/Berlin")
    scheduler, clock = berlin("2025-06-02T20:00:00")
    scheduler.start()
    run_minutes(scheduler, clock, 3 * 60)
    (text,) = store._db.execute("SELECT scheduled_for FROM runs").fetchone()
    assert text == "2025-06-03T00:30:00+02:00"


def test_next_run_is_stored_in_utc(store, berlin, make_job):
    make_job("rollup", "30 0 * * *", zone="Europe/Berlin")
    scheduler, clock = berlin("2025-06-02T20:00:00")
    scheduler.start()
    (text,) = store._db.execute("SELECT next_run FROM jobs").fetchone()
    assert text == "2025-06-02T22:30:00+00:00"
PY
python -m pytest -v 2>&1 | tail -105''')
    s.say("Green. What is missing in the store is the old rows: production has `next_run` texts with +01:00 and -04:00, and until a job has run once those would go on being compared wrongly. `SCHEMA_VERSION` is 3 and nothing reads it; let me see how the constructor uses it, and whether a test pins it.")
    s.parallel(lambda: [s.grep("user_version|SCHEMA_VERSION", "."), s.read("tests/test_store.py"), s.read("nightbell/store.py")])
    s.say("""
I rewrite old values when the file is opened: rows with `user_version` 3 are read, converted and written back, then the version becomes 4. Values only; not a column is touched. In a transaction, so that a second process that opens the file at the same moment (the status page does) sees all or nothing.""")
    s.parallel(lambda: [
    s.edit(
        "nightbell/store.py",
        '        if version == 0:\n            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")\n',
        '        if version < SCHEMA_VERSION:\n            self._upgrade()\n',
    ),
    s.edit(
        "nightbell/store.py",
        "    # -- jobs ---",
        '''    def _upgrade(self) -> None:
        """Bring the values of older files into today's form; the tables stay as they are.

        Up to version 3 `next_run` held local times with their offsets, which
        SQLite cannot compare.
        """
        with self._transaction() as db:
            rows = db.execute("SELECT id, next_run FROM jobs WHERE next_run IS NOT NULL").fetchall()
            for row in rows:
                db.execute(
                    "UPDATE jobs SET next_run = ? WHERE id = ?",
                    (_to_text(_from_text(row["next_run"])), row["id"]),
                )
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    # -- jobs ---''',
    ),
    s.edit("nightbell/store.py", "SCHEMA_VERSION = 3", "SCHEMA_VERSION = 4"),
    ])
    s.bash('''cat >> tests/test_store.py <<'PY'


def test_old_files_are_brought_to_utc(tmp_path):
    path = tmp_path / "jobs.sqlite3"
    old = JobStore(path)
    for name, text in (("a", "2025-10-26T02:30:00+01:00"), ("b", "2025-10-27T09:00:00-04:00"), ("c", None)):
        old.add(Job(name=name, command=["true"], cron="@daily"))
        old._db.execute("UPDATE jobs SET next_run = ? WHERE name = ?", (text, name))
    old._db.execute("PRAGMA user_version = 3")
    old.close()

    new = JobStore(path)
    rows = dict(new._db.execute("SELECT name, next_run FROM jobs").fetchall())
    assert rows == {"a": "2025-10-26T01:30:00+00:00", "b": "2025-10-27T13:00:00+00:00", "c": None}
    assert new._db.execute("PRAGMA user_version").fetchone()[0] == 4
    new.close()


def test_table_layout_is_what_the_other_programs_expect(store):
    columns = [row["name"] for row in store._db.execute("PRAGMA table_info(jobs)")]
    assert columns == [
        "id", "name", "command", "cron", "zone", "state", "next_run", "attempt",
        "max_attempts", "backoff_base", "backoff_cap", "timeout",
    ]
PY
python -m pytest tests/test_store.py -v 2>&1''')
    s.say("The layout test is there to keep your rule after I'm gone. The whole suite, and the diff so far, to read it once in one piece.")
    s.parallel(lambda: [s.bash("python -m pytest -q 2>&1 | tail -5"), s.bash("git diff nightbell")])
    s.say("""
Reading it over: `nightbell list` prints `next_run` straight from the store, so it would show UTC from now on, while `next` shows local times. That is a change nobody asked for. One call in `cli.py` mends it.""")
    s.edit(
        "nightbell/cli.py",
        '            print(f"{job.name:<24} {job.state.value:<9} {job.cron:<16} {_show(job.next_run)}")\n',
        '            when = job.next_run and job.next_run.astimezone(job.zone_info)\n            print(f"{job.name:<24} {job.state.value:<9} {job.cron:<16} {_show(when)}")\n',
    )
    s.bash('''cat >> tests/test_cli.py <<'PY'


def test_list_shows_the_jobs_own_time(cli):
    cli("add", "a", "0 9 * * *", "--zone", "Asia/Kolkata", "--", "true")
    assert "09:00+05:30" in cli("list")[1].out
PY
python -m pytest tests/test_cli.py -v 2>&1''')
    todos(s, 5)
    s.user("""
One correction from my side. I talked to finance about "skip it in March". They say no: a day without a billing export is an incident
for them, too, the bank's cut-off doesn't care. So a fixed time that falls into the gap has to run once, at the first minute that exists, i.e. 03:00.
Not at 03:30, the file has to be there by 03:15.
""")
    s.say("""
Noted: gap means *first minute after the gap*, once. I had it as "skipped", so one test and one branch change.

Two things to get right there:

- `*/20 2 * * *` has three times in the gap. All three would become 03:00; it has to run once. That comes out by itself, because after the run at 03:00 the search goes on from 03:01 on the wall clock.
- `30 2,3 * * *` runs at 03:00 (for 02:30) and at 03:30. Two runs, both wanted.

The tests first.""")
    s.parallel(lambda: [
    s.edit(
        "tests/test_dst.py",
        '''def test_spring_fixed_time_in_the_gap_is_skipped():
    assert upcoming("30 2 * * *", "2026-03-28T12:00:00", 1) == ["2026-03-30 02:30+02:00"]
''',
        '''def test_spring_fixed_time_in_the_gap_runs_at_its_end():
    assert upcoming("30 2 * * *", "2026-03-28T12:00:00", 2) == [
        "2026-03-29 03:00+02:00",
        "2026-03-30 02:30+02:00",
    ]


def test_spring_several_times_in_the_gap_are_one_run():
    assert upcoming("*/20 2 * * *", "2026-03-28T12:00:00", 2) == [
        "2026-03-29 03:00+02:00",
        "2026-03-30 02:00+02:00",
    ]


def test_spring_gap_and_a_later_time():
    assert upcoming("30 2,3 * * *", "2026-03-28T12:00:00", 2) == [
        "2026-03-29 03:00+02:00",
        "2026-03-29 03:30+02:00",
    ]


def test_gap_at_midnight():
    # Santiago goes from 24:00 to 01:00 on 2025-09-07
    santiago = ZoneInfo("America/Santiago")
    found = CronExpression.parse("15 0 * * *").next_after(utc("2025-09-06T12:00:00"), santiago)
    assert found.isoformat() == "2025-09-07T01:00:00-03:00"
''',
    ),
    s.edit(
        "nightbell/cron.py",
        '''                # in UTC: two times with the same zone object compare by wall clock
                if moment.astimezone(UTC) > after.astimezone(UTC) and _exists(moment):
                    return moment
''',
        '''                while not _exists(moment):
                    moment += timedelta(minutes=1)
                # in UTC: two times with the same zone object compare by wall clock
                if moment.astimezone(UTC) > after.astimezone(UTC):
                    return moment
''',
    ),
    s.edit(
        "nightbell/cron.py",
        "        A wall clock time that comes twice counts the first time, one that does\n        not exist is skipped.\n",
        "        A wall clock time that comes twice counts the first time. One that does\n        not exist is moved to the first minute that does.\n",
    ),
    ])
    s.bash("python -m pytest tests/test_dst.py tests/test_cron.py -v 2>&1 | tail -64")
    s.say("""
Green, Santiago too (a gap at midnight moves to another hour of the *same* day, which the day check could have lost).

Now the back-off. Your two observations, "more than a minute with base 30" and "16 minutes with a cap of 900":""")
    s.parallel(lambda: [s.read("nightbell/retry.py"), s.read("tests/test_retry.py"), s.grep("backoff|retr(y|ies)|jitter", "README.md")])
    s.think("delay: base * factor**attempt: attempt 1 -> 60. README: first retry backoff_base seconds later. jitter: ±10 % after the cap: 900 * 1.1 = 990 s = 16.5 min. README says taken off. Wall-clock arithmetic. Also rng: Scheduler passes self.rng which is None by default -> jitter never applied in production?! cli: Scheduler(store, zone=...) -> rng None -> no jitter. But they saw 16 minutes with cap 900... With rng None the delay is exactly 900 + tick granularity: LONGEST_SLEEP 60 -> _pause; up to 60s later → 15-16 min. Hmm! so the 16 min observed may be due to pause. Interesting: honest analysis needed. Check: _pause computes from next_wakeup, min 1, max 60; so lateness should be <= about 1s plus run time of other jobs (they run one after another). MIN(next_run) textual... With mixed offsets the MIN is wrong too. So check in production: which rng? Let me verify rather than claim.")
    s.say("""
Compared with what the README promises, `retry.py` has three faults:

1. **Exponent.** `base * factor**attempt` with attempts counted from 1 gives 60, 120, 240; promised is 30, 60, 120. That is your "more than a minute".
2. **Jitter.** It is applied after the cap and in both directions, so a capped delay can be 990 s. Promised: taken *off*, never later than the cap.
3. **Wall clock arithmetic.** `local + timedelta`: the trap I showed above. Around a clock change a retry comes an hour late.

I am not sure that 2 is what you saw, though. `Scheduler` only uses jitter when it is given an `rng`. Is it, in production?""")
    s.grep("rng|Random", "nightbell")
    s.bash('''python - <<'PY'
import random
from nightbell.retry import Backoff
plain = Backoff(base=30, cap=900)
print("no rng  ", [plain.delay(n) for n in range(1, 7)])
rng = random.Random(7)
print("with rng", [round(plain.delay(n, rng)) for n in range(1, 7)])
print("longest of 10000 capped:", round(max(plain.delay(9, rng) for _ in range(10000)), 1))
PY''')
    s.say("""
So in production the jitter is *never* applied: `cli.py` builds `Scheduler(store, zone=...)` without an `rng`, and `None` switches it off. Your 16 minutes cannot have come from fault 2; I was about to blame the wrong thing. With a plain cap of 900 s the retry is planned at 15:00 exactly. Another minute can come from two places: jobs run one after the other, so a long job holds up the tick; or `_pause`, which asks for `MIN(next_run)`, again a comparison of texts with mixed offsets. If `us-report` with its -04:00 was the smallest *text*, the daemon slept its full 60 s and looked no earlier. When did you see it?""")
    s.user("""
Friday morning, after us-report had been added. That fits the text comparison, thanks for not just picking the convenient answer.

For the jitter: do what the README says, and switch it on in production. But make it so that tests can still pin it.
And leave max_attempts alone, somebody will want to discuss that, not today.
""")
    s.say("I pin the promise in tests first: the series, the cap with jitter, and real seconds across both clock changes.")
    s.bash('''cat >> tests/test_retry.py <<'PY'


def test_first_retry_comes_after_base_seconds():
    backoff = Backoff(base=30, cap=900)
    assert [backoff.delay(attempt) for attempt in range(1, 8)] == [30, 60, 120, 240, 480, 900, 900]


def test_jitter_is_taken_off():
    backoff = Backoff(base=30, cap=900)
    rng = random.Random(7)
    for attempt in (1, 3, 9):
        full = backoff.delay(attempt)
        for _ in range(500):
            assert 0.9 * full <= backoff.delay(attempt, rng) <= full


@pytest.mark.parametrize(
    "failed_at",
    [
        "2025-10-26T00:59:45+00:00",  # autumn, the last seconds of the first 02:xx
        "2025-10-26T01:59:45+00:00",
        "2026-03-29T00:59:45+00:00",  # spring, the last seconds before the gap
    ],
)
def test_delay_is_in_real_seconds(failed_at):
    failed = datetime.fromisoformat(failed_at)
    when = retry_time(job(zone="Europe/Berlin"), failed, 1)
    assert (when.astimezone(timezone.utc) - failed).total_seconds() == 30
PY
sed -i 's/^from datetime import datetime, timezone$/import random\\nfrom datetime import datetime, timezone/' tests/test_retry.py
python -m pytest tests/test_retry.py -v 2>&1''')
    s.parallel(lambda: [
    s.edit(
        "nightbell/retry.py",
        "        seconds = min(self.base * self.factor**attempt, self.cap)\n        if rng is not None and self.jitter:\n            seconds *= 1.0 + rng.uniform(-self.jitter, self.jitter)\n        return seconds\n",
        "        seconds = min(self.base * self.factor ** (attempt - 1), self.cap)\n        if rng is not None and self.jitter:\n            # only ever taken off: the cap is a promise\n            seconds *= 1.0 - rng.uniform(0.0, self.jitter)\n        return seconds\n",
    ),
    s.edit(
        "nightbell/retry.py",
        "    return failed_at.astimezone(zone) + timedelta(seconds=delay)\n",
        "    # added in UTC; on a local time it would be wall clock seconds\n    return (failed_at.astimezone(UTC) + timedelta(seconds=delay)).astimezone(zone)\n",
    ),
    s.edit("nightbell/retry.py", "from .models import Job\n", "from .clock import UTC\nfrom .models import Job\n"),
    ])
    s.bash("python -m pytest tests/test_retry.py tests/test_scheduler.py -v 2>&1")
    s.say("Next the switch. `serve` in `cli.py` hands a `random.Random()` to the scheduler; the default of the class stays `None`, so that tests are deterministic unless they ask.")
    s.edit("nightbell/cli.py", "Scheduler(store", "Scheduler(store, rng=random.Random()")
    s.say("Twice in the file, of course: `fire` builds one as well. `fire` never retries, so only `serve` gets it.")
    s.parallel(lambda: [
    s.edit("nightbell/cli.py", "        Scheduler(store, zone=options.zone).serve()\n", "        Scheduler(store, zone=options.zone, rng=random.Random()).serve()\n"),
    s.edit("nightbell/cli.py", "import logging\nimport sys\n", "import logging\nimport random\nimport sys\n"),
    ])
    s.bash("python -m pytest -v 2>&1 | tail -112")
    todos(s, 6, ("Replay the whole night against an old file",))
    s.say("""
All green. Before the documents I want the end-to-end proof: a file as 0.9.2 wrote it, with the stuck `02:30+01:00` row in it, opened by the new code, and the night replayed through both clock changes. Also how long the new search takes for "never" expressions, since it looks nine years ahead.""")
    s.bash('''python - <<'PY'
import sqlite3, tempfile, os, time
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
from nightbell.clock import FakeClock
from nightbell.cron import CronExpression
from nightbell.models import Job
from nightbell.runner import ScriptedRunner
from nightbell.scheduler import Scheduler
from nightbell.store import JobStore

path = os.path.join(tempfile.mkdtemp(), "jobs.sqlite3")
store = JobStore(path)
for name, cron, zone in (("billing-export", "30 2 * * *", "Europe/Berlin"), ("us-report", "0 9 * * *", "America/New_York"), ("sync", "0 */6 * * *", "Europe/Berlin")):
    store.add(Job(name=name, command=["true"], cron=cron, zone=zone))
store.close()
raw = sqlite3.connect(path)
raw.execute("UPDATE jobs SET next_run='2025-10-26T02:30:00+01:00' WHERE name='billing-export'")
raw.execute("UPDATE jobs SET next_run='2025-10-27T09:00:00-04:00' WHERE name='us-report'")
raw.execute("PRAGMA user_version=3"); raw.commit(); raw.close()

for start, hours in ((datetime(2025, 10, 27, 9, 0), 30), (datetime(2026, 3, 28, 20, 0), 34)):
    store = JobStore(path)
    clock = FakeClock(start.replace(tzinfo=timezone.utc))
    scheduler = Scheduler(store, zone="Europe/Berlin", clock=clock, runner=ScriptedRunner())
    scheduler.start()
    for _ in range(hours * 60):
        clock.advance(minutes=1)
        for run in scheduler.tick():
            name = next(j.name for j in store.all() if j.id == run.job_id)
            print(f"{clock.now():%m-%d %H:%M}Z  {run.scheduled_for.isoformat()}  {name}")
    store.close()
    print("--")
for cron in ("0 0 31 feb *", "0 0 29 feb *", "* * 31 feb *"):
    begun = time.perf_counter()
    found = CronExpression.parse(cron).next_after(datetime(2025, 10, 27, tzinfo=timezone.utc), ZoneInfo("Europe/Berlin"))
    print(cron, found, f"{time.perf_counter() - begun:.3f} s")
PY''')
    s.think("sync '0 */6 * * *': hour text starts with '*' -> restricted False -> interval. In Vixie, */6 counts as wildcard as well. Across the change local hours 0,6,12,18: walking real minutes matching on local hour: fine.")
    s.say("""
The stuck row does no harm (on start it is over the misfire grace and planned anew), each job runs once, `us-report` at its 09:00, and in March the export runs at 03:00. The searches are fast enough.

One remark on `0 */6 * * *`: its hour field begins with `*`, so it counts as "every so often", as in Vixie cron. It is matched against local hours all the same, so it goes on running at 0, 6, 12 and 18 local time.

Now the documents. README gets a section, the operations notes get the form of the two columns and what to do with last weekend's runs.""")
    s.read("README.md")
    s.parallel(lambda: [
    s.edit(
        "README.md",
        "Each job has a zone; without one it takes the zone of the daemon.\n",
        '''Each job has a zone; without one it takes the zone of the daemon.

When the clocks change, expressions that name hours (`30 2 * * *`) run once a
day: at the first of two equal times in autumn, and at the first minute after
the gap in spring if their time does not exist. Expressions with `*` or `*/n` in
the hour field go on in real time, so `*/15 * * * *` runs every 15 minutes
through both changes.
''',
    ),
    s.edit(
        "docs/operations.md",
        "Both know the column names. Neither writes.\n",
        '''Both know the column names. Neither writes. The layout of the tables is not to
be changed without asking their owners; `tests/test_store.py` has a test for it.

`jobs.next_run` is in UTC (`2025-10-26T00:30:00+00:00`), because SQLite compares
it as text. `runs.scheduled_for` is local time with its offset, because the
report groups it by day: its first ten characters are the local date.

Files of versions up to 0.9.2 are converted when they are opened for the first
time (`PRAGMA user_version` goes from 3 to 4). Going back to 0.9.2 afterwards is
possible, but brings its comparison back as well.
''',
    ),
    s.edit(
        "CHANGELOG.md",
        "# Changes\n",
        '''# Changes

## 0.9.3 (not released)

- A job with a fixed time runs once when the clocks go back, and at the end of
  the gap when they go forward. It used to run twice, after which the daemon
  died with `UNIQUE constraint failed`.
- Jobs with a zone other than the daemon's run at their time, not hours off.
- The first retry comes after `backoff_base` seconds; it came after twice that.
- The random share is taken off retries, as documented, and used by `serve`.
- `jobs.next_run` holds UTC. Older files are converted on opening.
''',
    ),
    ])
    s.bash("git diff --stat && git diff docs README.md CHANGELOG.md")
    s.user("""
Reads well. Two questions before I take this to the release meeting:
1) what happens if somebody runs `nightbell fire billing-export` twice quickly? We'll have to fire it by hand today.
2) can the daemon still be killed by one bad row? An IntegrityError in one job taking everything down is what made this so expensive.
""")
    s.say("Good questions, and I don't know the answers by heart. I try the first one for real and read the path for the second.")
    s.bash('''cd "$(mktemp -d)" && export PYTHONPATH=/srv/scheduler
python -m nightbell.cli --db j.sqlite3 add a "0 9 * * *" --zone Europe/Berlin -- true >/dev/null
for n in 1 2 3; do python - <<'PY'
from nightbell.scheduler import Scheduler
from nightbell.store import JobStore
store = JobStore("j.sqlite3")
scheduler = Scheduler(store)
try:
    for _ in range(2):
        print("fire:", scheduler.fire("a").outcome.value)
except Exception as error:
    print("fire:", type(error).__name__, error)
PY
done''')
    s.read("nightbell/scheduler.py", offset=30, limit=110)
    s.say("""
1. **`fire` twice within one second fails** with the same UNIQUE error, because `fire` takes the present second as `scheduled_for`. Nothing is run in that case: the claim comes before the command. By hand it is harmless today, you would have to be faster than a second. But it comes out as a traceback and not as a message, since `sqlite3.IntegrityError` is not a `NightbellError`.

2. **Yes, it still can.** `tick` runs the due jobs in one list comprehension; an exception in one ends the tick and the process, and `Restart=on-failure` with `StartLimitBurst=5` gives up after five. I closed the ways we know into that state, not the state itself.

For 2 I see two ways: catch everything around `_fire` and log it (the daemon lives, but a job that fails to be *recorded* would be tried in every tick, and if the failure comes after the command, it runs every minute; that is last weekend, only endless), or catch `IntegrityError` from `start_run` alone and plan the job anew, as the claim says "this run has been had already". The second is narrow and cannot cause a double run, because nothing has been started at that point. I'd do the second and not the first. You said no clean-ups on the side, so: in this change, or in one of its own?""")
    s.user("""
The second way, in this change. It's the same incident. But log it as an error with job name and time, I want an alert on it.
The fire thing: own ticket, not now. Please write down somewhere that it's open.
""")
    s.say("Test first: a run that is in the table already, due again. Expected: the command is not run, the other job of the same tick is, and an error is logged.")
    s.bash('''cat >> tests/test_scheduler.py <<'PY'


def test_a_run_that_was_had_already_does_not_stop_the_others(
    store, scheduler, make_job, clock, runner, caplog
):
    when = clock.now() - timedelta(minutes=1)
    had = make_job("had", "0 9 * * *", next_run=when)
    make_job("other", "0 9 * * *", next_run=when)
    store.start_run(Run(had.id, when, when, attempt=1))

    runs = scheduler.tick()

    assert runner.calls == ["other"]
    assert [run.outcome for run in runs] == [Outcome.OK]
    assert store.get("had").next_run == datetime(2025, 6, 2, 9, 0, tzinfo=timezone.utc)
    (record,) = [r for r in caplog.records if r.levelname == "ERROR"]
    assert "had" in record.getMessage() and "2025-06-02" in record.getMessage()
PY
sed -i 's/^from nightbell.models import JobState, Outcome$/from nightbell.models import JobState, Outcome, Run/' tests/test_scheduler.py
python -m pytest tests/test_scheduler.py -v 2>&1''')
    s.parallel(lambda: [
    s.edit(
        "nightbell/errors.py",
        "class LeaseLost(NightbellError):\n",
        'class AlreadyRun(NightbellError):\n    """The run was claimed before; nothing has been started."""\n\n\nclass LeaseLost(NightbellError):\n',
    ),
    s.edit(
        "nightbell/store.py",
        '''        cursor = self._db.execute(
            "INSERT INTO runs (job_id, scheduled_for, attempt, started_at, outcome)"
            " VALUES (?, ?, ?, ?, ?)",
            (
                run.job_id,
                _to_local_text(run.scheduled_for),
                run.attempt,
                _to_text(run.started_at),
                run.outcome.value,
            ),
        )
''',
        '''        try:
            cursor = self._db.execute(
                "INSERT INTO runs (job_id, scheduled_for, attempt, started_at, outcome)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    run.job_id,
                    _to_local_text(run.scheduled_for),
                    run.attempt,
                    _to_text(run.started_at),
                    run.outcome.value,
                ),
            )
        except sqlite3.IntegrityError as error:
            if "UNIQUE" not in str(error):
                raise
            raise AlreadyRun(f"run for {run.scheduled_for.isoformat()} was had already") from error
''',
    ),
    s.edit("nightbell/store.py", "from .errors import DuplicateJob, LeaseLost, NoSuchJob\n", "from .errors import AlreadyRun, DuplicateJob, LeaseLost, NoSuchJob\n"),
    s.edit(
        "nightbell/scheduler.py",
        "        return [self._fire(job) for job in self.store.due(now.astimezone(self.zone))]\n",
        '''        runs = []
        for job in self.store.due(now):
            try:
                runs.append(self._fire(job))
            except AlreadyRun as error:
                # nothing was started, so planning it anew cannot run it twice
                log.error("job %s not run: %s", job.name, error)
                self._plan(job, now)
        return runs
''',
    ),
    ])
    s.bash("python -m pytest -q 2>&1 | tail -30")
    s.say("A `NameError`: I used `AlreadyRun` in the scheduler and did not import it there.")
    s.edit("nightbell/scheduler.py", "from .models import Job, JobState", "from .errors import AlreadyRun\nfrom .models import Job, JobState")
    s.bash("python -m pytest -v 2>&1 | tail -112")
    s.say("Green. A side effect, a welcome one: `fire` twice in a second now ends with a message and status 2, as `AlreadyRun` is a `NightbellError`. The rest of that ticket (should it work?) stays open. I write the open points down.")
    s.bash('''cat >> docs/operations.md <<'MD'

## Open points

- `nightbell fire NAME` twice within one second is refused ("was had already"),
  since the second is what tells manual runs apart. Whether it should be allowed
  is undecided.
- A job that was paused for long and is resumed runs at once, for its old time:
  missed times are only looked at when the daemon starts.
- `max_attempts`: default of 3 to be discussed.
- `StartLimitBurst=5` with `RestartSec=60`: systemd gives up after five minutes
  without telling anybody.
MD
sed -i 's/^- `jobs.next_run` holds UTC. Older files are converted on opening.$/&\\n- A run that was claimed before is logged as an error and no longer stops the daemon./' CHANGELOG.md
git diff --stat; git status --short''')
    s.bash("git diff nightbell")
    s.say("The second open point is something I noticed while reading `start()`, and I have not verified it; I do that now so that the note is not hearsay.")
    s.bash('''python - <<'PY'
from datetime import datetime, timezone, timedelta
from nightbell.clock import FakeClock
from nightbell.models import Job, JobState
from nightbell.runner import ScriptedRunner
from nightbell.scheduler import Scheduler
from nightbell.store import JobStore
store, runner = JobStore(":memory:"), ScriptedRunner()
clock = FakeClock(datetime(2025, 6, 2, 8, 0, tzinfo=timezone.utc))
scheduler = Scheduler(store, clock=clock, runner=runner)
store.add(Job(name="a", command=["true"], cron="0 9 * * *"))
scheduler.start(); store.set_state("a", JobState.PAUSED)
clock.advance(days=12)
store.set_state("a", JobState.ACTIVE)
print([run.scheduled_for.isoformat() for run in scheduler.tick()], "at", clock.now())
PY''')
    s.user("Confirmed then, leave it as an open point. Commit it, please: one commit for the fix, the message should name the incident. I do the version bump and the release myself.")
    s.bash('''git add -A && git commit -q -F - <<'MSG'
Run fixed-time jobs once across clock changes; compare times in UTC

On 2025-10-26 billing-export ran at 00:30 and 00:31 UTC and the daemon died with
"UNIQUE constraint failed: runs.job_id, runs.scheduled_for, runs.attempt".

- the cron search offered the repeated 02:30 a second time
- jobs.next_run was local text, so 02:30+01:00 counted as before 02:31+02:00;
  jobs in another zone than the daemon's ran hours off for the same reason
- retries: exponent off by one, jitter beyond the cap and never switched on,
  wall clock arithmetic

Table layout unchanged; old values are converted on opening. No dependencies.
MSG
git log --stat --format='%h %an %s' -1 && python -m pytest -q 2>&1 | tail -3''')
    todos(s, 9, (), [*TODO, "Survive a run that was claimed already", "Note the open points"])
    s.say("""
Committed. For the release meeting, in short:

- **Cause.** The repeated 02:30 was offered twice by the search, and the store compared local times as text. The second is also why the daemon died on Friday (`us-report`).
- **Decisions.** `next_run` in UTC, `scheduled_for` local with offset (the report's local day); fixed times once in autumn, at the end of the gap in spring (03:00, not skipped); `*` hours in real time; no new packages, layout untouched and pinned by a test.
- **Retries.** 30, 60, 120 … 900; jitter only taken off and on in `serve`; real seconds.
- **To do on your side.** Version bump and release, well before 29 March 2026; the alert on "not run:" in the log; stop the daemon before the upgrade, so that no 0.9.2 process writes into the converted file.
- **Open.** `fire` twice in a second, resume after a long pause, `max_attempts`, `StartLimitBurst` (all in `docs/operations.md`).""")
