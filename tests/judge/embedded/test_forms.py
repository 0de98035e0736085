"""The form of a summary does not matter: the same facts as prose, sections, a table, JSON or ``key: value`` lines."""

from __future__ import annotations

import json
from statistics import fmean

import pytest

from compaction import Message, TiktokenCounter
from judge import load_rubric
from judge.embedded import EmbeddedJudge, EmbeddedResponder
from judge.embedded.prober import (
    ARTIFACT_QUESTION,
    CONTINUATION_QUESTION,
    DECISION_QUESTION,
    RECALL_FORM,
    RECALL_QUESTIONS,
)
from judge.probe import Fact, FactKind, Probe
from judge.scoring import JudgeCase

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


def fact(kind: FactKind, value: str, *terms: str, details: tuple[str, ...] = ()) -> Fact:
    return Fact(kind, value, terms, details, (1,))


PROBES = (
    Probe(
        "recall",
        RECALL_QUESTIONS["error"].format(cue=COMMAND) + RECALL_FORM.format(limit=100),
        ERROR,
        (fact("error", ERROR, "operationalerror", "column", "invoices.due_on"),),
        (),
        100,
    ),
    Probe(
        "recall",
        RECALL_QUESTIONS["version"].format(cue="alembic") + RECALL_FORM.format(limit=100),
        "1.13.2",
        (fact("version", "alembic 1.13.2", "1.13.2"),),
        (),
        100,
    ),
    Probe(
        "artifact",
        ARTIFACT_QUESTION.format(place="", limit=900),
        "Created: billing/reminders.py (send_due)\nModified: billing/schema.py (due_on)\nExamined: docs/billing.md",
        (
            fact("file_created", "billing/reminders.py", "billing/reminders.py", details=("send_due",)),
            fact("file_modified", "billing/schema.py", "billing/schema.py", details=("due_on",)),
            fact("file_examined", "docs/billing.md", "docs/billing.md"),
        ),
        (),
        900,
    ),
    Probe(
        "continuation",
        CONTINUATION_QUESTION.format(place="", limit=350),
        "Open: backfill the due dates of March; delete the cron entry\nFailing: none",
        (
            fact("open_task", "backfill the due dates of March", "backfill", "due", "dates", "march"),
            fact("open_task", "delete the cron entry", "delete", "cron", "entry"),
        ),
        (),
        350,
    ),
    Probe(
        "decision",
        DECISION_QUESTION.format(cue="UTC", limit=160),
        CHOICE,
        (
            fact("decision", "Due dates are stored in UTC instead of local time", "due", "dates", "stored", "local"),
            fact("reason", "because the reminders run in two zones", "reminders", "run", "zones"),
        ),
        (),
        160,
    ),
)
RUBRIC = load_rubric("software_engineering")
JUDGE = EmbeddedJudge(RUBRIC, TiktokenCounter())


def score(probe: Probe, text: str) -> float:
    """Mean of the criteria but for instruction following, 0-5."""
    context = (Message("user", text, covers=(0, 9)),)
    answer = EmbeddedResponder().answer(context, probe.question, probe.max_tokens).text
    asked = RUBRIC.asked[probe.probe_type]
    graded = tuple(id for id in asked if RUBRIC.criteria[id].dimension != "instruction_following")
    case = JudgeCase(probe, answer, context, graded)
    return fmean(given.score for given in JUDGE.score(case) if given.score is not None)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: f"{probe.probe_type}-{probe.ground_truth[:8]}")
def test_the_same_facts_score_the_same_in_every_form(probe: Probe) -> None:
    scores = {name: round(score(probe, text), 2) for name, text in FORMS.items()}
    assert max(scores.values()) - min(scores.values()) <= 0.2, scores
    assert min(scores.values()) >= 4.3, scores
