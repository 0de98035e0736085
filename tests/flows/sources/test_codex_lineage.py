"""Codex rollouts of sub-agents and forks: what another session said and did is not theirs."""

from __future__ import annotations

import pytest

from compaction.points import PointsSpec, find_points
from flows.config.study import Study
from flows.sessions.session_parts import load_session, read_parts
from tests.flows.sources.folders import ingest
from tests.flows.sources.logs.codex_rollout import codex

PARENT = "019a0000-0000-7000-8000-000000000000"
CHILD = "019a1111-0000-7000-8000-000000000000"


def at(second: float, kind: str, **payload):
    return {**codex(kind, **payload), "timestamp": f"2026-03-01T10:00:{second:06.3f}Z"}


def said(second: float, role: str, text: str):
    part = "output_text" if role == "assistant" else "input_text"
    return at(second, "response_item", type="message", role=role, content=[{"type": part, "text": text}])


def meta(id: str, second: float, **fields):
    instructions = {"text": "Be brief."}
    return at(
        second,
        "session_meta",
        id=id,
        timestamp=f"2026-03-01T10:00:{second:06.3f}Z",
        base_instructions=instructions,
        **fields,
    )


def work(name: str, start: float, turns: int = 4):
    """Turns of one session: a prompt, an answer with a call, its result, an answer."""
    lines = []
    for turn in range(turns):
        second = start + turn / 100
        call = {"type": "function_call", "call_id": f"{name}-{turn}", "name": "shell", "arguments": '{"cmd": "ls"}'}
        lines += [
            said(second, "user", f"{name} asks {turn}"),
            said(second, "assistant", f"{name} looks {turn}"),
            at(second, "response_item", **call),
            at(second, "response_item", type="function_call_output", call_id=f"{name}-{turn}", output=f"{name} {turn}"),
            said(second, "assistant", f"{name} is done with {turn}"),
        ]
    return lines


def restamped(second: float, lines):
    return [{**line, "timestamp": f"2026-03-01T10:00:{second:06.3f}Z"} for line in lines]


def texts(transcript):
    return [message.text for message in transcript.messages]


def usage(second: float, total: int):
    return at(second, "event_msg", type="token_count", info={"total_token_usage": {"input_tokens": total}})


HISTORY = work("parent", 1)
OWN = work("child", 30, turns=1)
SPAWNED = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}}
APPLIED = at(20.5, "event_msg", type="thread_settings_applied")
STARTED = at(20.5, "event_msg", type="task_started", turn_id="019a2222-0000-7000-8000-000000000000")
LONG_AGO = at(20, "turn_context", turn_id="019a0001-0000-7000-8000-000000000000", model="parents-model")

LAYOUTS = {
    "copied at once, its own turns later": [
        meta(CHILD, 20, **SPAWNED), meta(PARENT, 20), *restamped(20, HISTORY), *OWN,
    ],
    "own settings end the copy": [
        meta(CHILD, 20, forked_from_id=PARENT), meta(PARENT, 20), *restamped(20, HISTORY),
        APPLIED, *restamped(20.6, OWN),
    ],
    "its own turn has a later id": [
        meta(CHILD, 20, **SPAWNED), meta(PARENT, 20), LONG_AGO, *restamped(20, HISTORY),
        STARTED, *restamped(20.6, OWN),
    ],
    "the times are those of the parent": [
        meta(CHILD, 20, parent_thread_id=PARENT), meta(PARENT, 0), *HISTORY, *restamped(20.1, OWN),
    ],
    "numbered lines": [
        {**line, "ordinal": number}
        for number, line in enumerate(
            [
                meta(CHILD, 20, **SPAWNED, subagent_history_start_ordinal=1 + len(HISTORY)),
                *restamped(20, HISTORY),
                *restamped(20, OWN),
            ]
        )
    ],
    "the parent's header behind its history": [
        meta(CHILD, 20, **SPAWNED), *restamped(20, HISTORY), meta(PARENT, 20), *OWN,
    ],
    "settings of the parent in the copy, its own behind it": [
        meta(CHILD, 20, **SPAWNED), meta(PARENT, 20),
        *restamped(20, [*HISTORY[:5], APPLIED, *HISTORY[5:10], APPLIED, *HISTORY[10:], APPLIED]), *restamped(20.4, OWN),
    ],
    "settings of the parent in the copy, and none of its own": [
        meta(CHILD, 20, forked_from_id=PARENT), meta(PARENT, 20),
        *restamped(20, [*HISTORY[:5], APPLIED, *HISTORY[5:]]), *OWN,
    ],
    "settings of the parent in the copy, its own turn later": [
        meta(CHILD, 20, **SPAWNED), meta(PARENT, 20),
        *restamped(20, [*HISTORY[:15], APPLIED, *HISTORY[15:]]), {**APPLIED, "timestamp": OWN[0]["timestamp"]}, *OWN,
    ],
    "a fork without its parent's header": [
        meta(CHILD, 20, forked_from_id=PARENT), *restamped(20, HISTORY), *OWN,
    ],
    "only the copied header names the parent": [
        meta(CHILD, 20), meta(PARENT, 20), *restamped(20, HISTORY), APPLIED, *OWN,
    ],
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_history_of_the_parent_is_left_out_of_a_rollout_and_counted(read, layout) -> None:
    result = read("rollout.jsonl", lines=LAYOUTS[layout])
    [child] = result.transcripts
    assert texts(child) == ["Be brief.", "child asks 0", "child looks 0", "child 0", "child is done with 0"]
    assert (child.session_id, child.parent_session_id) == (f"codex_rollout-{CHILD}", f"codex_rollout-{PARENT}")
    assert child.title == "child asks 0"
    assert child.n_inherited == 16
    inherited = {
        kind: count for (kind, reason), count in result.account.aside.items() if reason.startswith("history of the")
    }
    assert inherited == {"user": 4, "assistant": 8, "tool": 4, "tool_call": 4}
    assert result.set_aside == ()


@pytest.mark.parametrize(("more", "forked_at"), [({"forked_from_id": PARENT}, 16), (SPAWNED, None)])
def test_a_fork_is_told_from_a_sub_agent(read, more, forked_at) -> None:
    lines = [meta(CHILD, 20, **more), meta(PARENT, 20), *restamped(20, HISTORY), APPLIED, *OWN]
    [child] = read("rollout.jsonl", lines=lines).transcripts
    assert (child.parent_session_id, child.forked_at) == (f"codex_rollout-{PARENT}", forked_at)


def test_of_a_grandchild_all_that_came_before_it_is_left_out(read) -> None:
    grandchild = "019a2222-0000-7000-8000-000000000000"
    of_child = [meta(CHILD, 20, **SPAWNED), meta(PARENT, 20), *restamped(20, HISTORY), APPLIED, *work("child", 30)]
    spawned = {"source": {"subagent": {"thread_spawn": {"parent_thread_id": CHILD, "depth": 2}}}}
    given = [meta(grandchild, 50, **spawned), *restamped(50, of_child)]
    own = [{**APPLIED, "timestamp": "2026-03-01T10:00:50.100Z"}, *restamped(50.2, work("grandchild", 0, turns=1)[:1])]
    answers = work("grandchild", 55, turns=1)[1:]
    [session] = read("rollout.jsonl", lines=[*given, *own, *answers]).transcripts
    assert session.parent_session_id == f"codex_rollout-{CHILD}"
    assert texts(session)[1:] == [
        "grandchild asks 0",
        "grandchild looks 0",
        "grandchild 0",
        "grandchild is done with 0",
    ]


def test_a_child_that_was_given_no_history_keeps_all_that_it_has(read) -> None:
    [child] = read("rollout.jsonl", lines=[meta(CHILD, 20, **SPAWNED), *restamped(20, OWN)]).transcripts
    assert len(child) == 5
    assert child.parent_session_id == f"codex_rollout-{PARENT}"


def test_where_nothing_tells_where_a_copy_ends_nothing_is_left_out(read) -> None:
    lines = [meta(CHILD, 20, **SPAWNED), meta(PARENT, 20), *restamped(20, HISTORY)]
    [child] = read("rollout.jsonl", lines=lines).transcripts
    assert len(child) == 1 + 4 * 4


def test_a_session_that_goes_on_under_its_own_id_is_one(read) -> None:
    lines = [meta(PARENT, 0), *HISTORY, meta(PARENT, 40), *work("later", 41, turns=1)]
    [session] = read("rollout.jsonl", lines=lines).transcripts
    assert len(session) == 1 + 4 * 4 + 4


def test_tokens_of_the_parent_are_not_the_childs_whether_it_goes_on_counting_or_not(read) -> None:
    def tokens(*own: int) -> int | None:
        given = [meta(CHILD, 20, forked_from_id=PARENT), meta(PARENT, 20), *restamped(20, HISTORY), usage(20, 1_000)]
        lines = [*given, APPLIED, *OWN, *(usage(40, total) for total in own)]
        [child] = read("rollout.jsonl", lines=lines).transcripts
        return child.usage.input_tokens

    assert tokens(1_200, 1_500) == 500
    assert tokens(100, 300) == 300
    assert tokens() is None


def test_of_a_family_each_message_is_stored_once_and_each_childs_own_work_with_the_child(
    tmp_path, write, store
) -> None:
    """A parent that was resumed twice, its four sub-agents, and a fork."""
    resumed = [meta(PARENT, 5), *work("again", 6), meta(PARENT, 7), *work("and again", 8)]
    parent = [meta(PARENT, 0), *HISTORY, *resumed]
    write("logs/rollout-0.jsonl", lines=parent)
    children = [f"019a{n}{n}{n}{n}-0000-7000-8000-000000000000" for n in range(1, 5)]
    for child in children:
        own = [meta(child, 20, **SPAWNED), *restamped(20, parent), APPLIED, *work(child[:8], 30, turns=2)]
        write(f"logs/rollout-{child}.jsonl", lines=own)
    fork = "019a5555-0000-7000-8000-000000000000"
    given = [meta(fork, 20, forked_from_id=PARENT), *restamped(20, [meta(PARENT, 0), *HISTORY]), APPLIED]
    write("logs/rollout-fork.jsonl", lines=[*given, *work("fork", 30)])

    ingest(store, Study(sources=(str(tmp_path / "logs"),)))
    found = {
        info.session_id.removeprefix("codex_rollout-"): load_session(store, info)
        for part in read_parts(store)
        for info in part.sessions
    }
    assert set(found) == {PARENT, fork, *children}
    everything = [text for session in found.values() for text in texts(session) if text != "Be brief."]
    assert len(everything) == len(set(everything)) == 4 * (3 * 4 + 4 * 2 + 4)
    assert all(any(child[:8] in text for text in texts(found[child])) for child in children)


@pytest.mark.parametrize("children", [0, 4])
def test_copies_of_a_history_add_no_points_so_that_one_log_and_many_have_the_same_intervals(
    tmp_path, write, store, children
) -> None:
    """What the children did themselves is too short for a point."""
    parent = [meta(PARENT, 0), *work("parent", 1, turns=8)]
    write("logs/rollout-0.jsonl", lines=parent)
    for n in range(1, children + 1):
        child = f"019a{n}{n}{n}{n}-0000-7000-8000-000000000000"
        own = [meta(child, 20, **SPAWNED), *restamped(20, parent), APPLIED, *work(child[:8], 30, turns=2)]
        write(f"logs/rollout-{n}.jsonl", lines=own)
    ingest(store, Study(sources=(str(tmp_path / "logs"),)))
    sessions = [load_session(store, info) for part in read_parts(store) for info in part.sessions]
    points = [point for session in sessions for point in find_points(session, PointsSpec.parse("messages:10"))]
    assert len(sessions) == 1 + children
    assert [(point.session_id, point.cut_seq) for point in points] == [
        (f"codex_rollout-{PARENT}", 10), (f"codex_rollout-{PARENT}", 20), (f"codex_rollout-{PARENT}", 30),
    ]  # fmt: skip
