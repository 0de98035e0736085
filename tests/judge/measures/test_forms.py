"""The form of a summary does not matter: the same facts as prose, sections, a table, JSON or ``key: value`` lines."""

from __future__ import annotations

import json

import pytest

from compaction import Message, Transcript
from compaction.measures.needs import SessionNeeds
from judge.measures.kept_files import KeptFiles
from judge.measures.states import ContextReader
from judge.statement import Statement, StatementState

ERROR = "OperationalError: no such column: invoices.due_on"
COMMAND = "python -m billing.migrate --dry-run"
CHOICE = "Due dates are stored in UTC instead of local time, because the reminders run in two zones."

SECTIONS = f"""## Files
- billing/schema.py (modified): `due_on`
- billing/reminders.py (created): `send_due`
- docs/billing.md (examined)

## Errors
- `{COMMAND}`: {ERROR}

## Decisions
- {CHOICE}

## Next steps
- backfill the due dates of March
- delete the cron entry

## Environment
- alembic 1.13.2
"""
OTHER_WORDS = (
    SECTIONS.replace("## Files", "## What was touched")
    .replace("## Errors", "## Trouble on the way")
    .replace("## Decisions", "## Settled")
    .replace("## Next steps", "## Outstanding")
    .replace("## Environment", "## Good to know")
)
PROSE = (
    "So far billing/reminders.py was created with `send_due`. billing/schema.py was modified (`due_on`), and "
    f"docs/billing.md was only read. Running `{COMMAND}` failed with {ERROR}. {CHOICE} "
    "It is still open to backfill the due dates of March. Somebody also still has to delete the cron entry. "
    "The environment has alembic 1.13.2."
)
WITHOUT_HEADINGS = (
    "- created billing/reminders.py (`send_due`)\n- modified billing/schema.py (`due_on`)\n- read docs/billing.md\n"
    f"- `{COMMAND}` gave {ERROR}\n- {CHOICE}\n- still to do: backfill the due dates of March\n"
    "- still to do: delete the cron entry\n- alembic 1.13.2 is installed\n"
)
TABLE = f"""| file | state | change |
|---|---|---|
| billing/schema.py | modified | `due_on` |
| billing/reminders.py | created | `send_due` |
| docs/billing.md | examined | |

| command | error |
|---|---|
| `{COMMAND}` | {ERROR} |

| decision |  |
|---|---|
| {CHOICE} | |

| open task | owner |
|---|---|
| backfill the due dates of March | agent |
| delete the cron entry | agent |

| package | version |
|---|---|
| alembic | 1.13.2 |
"""
JSON = json.dumps(
    {
        "files": {
            "modified": [{"path": "billing/schema.py", "change": "`due_on`"}],
            "created": [{"path": "billing/reminders.py", "change": "`send_due`"}],
            "examined": ["docs/billing.md"],
        },
        "errors": [{"command": COMMAND, "error": ERROR}],
        "decisions": [CHOICE],
        "open_tasks": ["backfill the due dates of March", "delete the cron entry"],
        "versions": {"alembic": "1.13.2"},
    }
)
KEYS = (
    "Modified: billing/schema.py (`due_on`)\nCreated: billing/reminders.py (`send_due`)\nExamined: docs/billing.md\n"
    f"Error of `{COMMAND}`: {ERROR}\nDecision: {CHOICE}\n"
    "Open: backfill the due dates of March; delete the cron entry\nalembic: 1.13.2\n"
)
ANOTHER_ORDER = "\n\n".join(reversed(SECTIONS.strip().split("\n\n")))
FORMS = {
    "sections": SECTIONS,
    "other words": OTHER_WORDS,
    "prose": PROSE,
    "without headings": WITHOUT_HEADINGS,
    "table": TABLE,
    "JSON": JSON,
    "keys": KEYS,
    "another order": ANOTHER_ORDER,
}


HISTORY = (
    Message("user", "Store the due dates. Then backfill the due dates of March and delete the cron entry.", seq=0),
    Message("assistant", "billing/reminders.py gets `send_due`, and billing/schema.py `due_on`.", seq=1),
    Message("assistant", CHOICE, seq=2),
    Message("tool", f"$ {COMMAND}\n{ERROR}\n\nalembic 1.13.2", seq=3),
    Message("assistant", "Nothing else has been looked at in this part of the work so far.", seq=4),
)
STATEMENTS = (
    Statement("error", ERROR, (3,), exact=(ERROR,)),
    Statement("version", "alembic 1.13.2", (3,), exact=("alembic", "1.13.2")),
    Statement("file_created", "billing/reminders.py", (1,)),
    Statement("file_modified", "billing/schema.py", (1,), details=("due_on",)),
    Statement("open_task", "backfill the due dates of March", (0,)),
    Statement("open_task", "delete the cron entry", (0,)),
    Statement("decision", "Due dates are stored in UTC instead of local time", (2,)),
    Statement("reason", "because the reminders run in two zones", (2,)),
)


def states(text: str) -> list[StatementState]:
    context = (Message("user", text, covers=(0, 4)),)
    files, cut = KeptFiles(SessionNeeds(Transcript("s", HISTORY))), len(HISTORY)
    told = files.told(context, cut)
    return ContextReader(HISTORY, [context]).states(STATEMENTS, cut, [context], [told], files.true(cut))[0]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_facts_are_readable_in_every_form(form: str) -> None:
    found = states(FORMS[form])
    assert {one.state for one in found} == {"readable"}, found
    assert min(one.support or 0 for one in found) >= 0.96


TWINS = {
    "the other verb": ("created", "deleted", "file_created"),
    "another file": ("billing/schema.py", "billing/tables.py", "file_modified"),
    "another value": ("1.13.2", "1.14.0", "version"),
    "another error": ("invoices.due_on", "invoices.paid_on", "error"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("twin", TWINS)
def test_what_is_false_in_a_slot_is_not_readable_in_any_form(twin: str, form: str) -> None:
    true, false, kind = TWINS[twin]
    found = states(FORMS[form].replace(true, false).replace(true.capitalize(), false.capitalize()))
    assert [one.support for one, asked in zip(found, STATEMENTS, strict=True) if asked.kind == kind] <= [0.3]


DONE = {
    "sections": SECTIONS.replace("## Next steps", "## Completed"),
    "boxes": "- [x] backfill the due dates of March\n- [x] delete the cron entry",
    "prose": "The backfill of the due dates of March is done. To delete the cron entry was finished as well.",
    "JSON": json.dumps({"completed": ["backfill the due dates of March", "delete the cron entry"]}),
    "table": "| task | status |\n|---|---|\n"
    "| backfill the due dates of March | done |\n| delete the cron entry | done |",
}


@pytest.mark.parametrize("form", DONE)
def test_an_open_task_that_is_told_as_done_is_contradicted(form: str) -> None:
    found = [one for one, asked in zip(states(DONE[form]), STATEMENTS, strict=True) if asked.kind == "open_task"]
    assert {(one.state, one.support) for one in found} == {("contradicted", 0.0)}
