"""Claude Code logs: sub-agents."""

import json

from tests.flows.sources.claude_results import roles


def test_a_sub_agent_is_a_session_of_its_own_with_its_parent(read, claude):
    side = {"isSidechain": True}
    result = read(
        "s.jsonl",
        lines=[
            claude.user("u1", None, "Go"),
            claude.says("a1", "u1", "m1", claude.use("t1", "Task", prompt="Look")),
            claude.user("x1", None, "Look", **side),
            claude.says("x2", "x1", "m2", {"type": "text", "text": "Seen."}, **side),
            claude.user("y1", None, "Look there", agentId="b7", **side),
            claude.user("r1", "a1", [claude.result("t1", "Seen.")]),
        ],
    )
    main, inline, named = result.transcripts
    assert roles(main) == ["user", "assistant", "tool"]
    assert [m.text for m in inline.messages] == ["Look", "Seen."]
    assert named.session_id == "claude_code-s-1-agent-b7"
    assert {t.parent_session_id for t in (inline, named)} == {main.session_id}


def test_a_file_with_only_a_sub_agent_gives_only_the_sub_agent(read, claude):
    result = read("subagents/agent-a9.jsonl", lines=[claude.user("x1", None, "Look", isSidechain=True, agentId="a9")])
    assert [t.session_id for t in result.transcripts] == ["claude_code-s-1-agent-a9"]
    assert result.set_aside == ()


def compact(lines):
    """As Claude Code writes them: no space in the JSON, so that lines can be passed over undecoded."""
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def test_what_a_sub_agent_said_in_progress_notices_is_a_session_of_its_own(read, claude):
    lines = [
        claude.user("u1", None, "Go"),
        claude.says("a1", "u1", "m1", claude.use("t1", "Task", prompt="Look")),
        claude.line("progress", "p0", "a1", data={"type": "hook_progress"}),
        claude.progress("p1", "a1", "c4", claude.user("x1", None, "Look")),
        claude.progress("p2", "p1", "c4", claude.says("x2", None, "m2", claude.use("t9", command="ls"))),
        claude.progress("p3", "p2", "c4", claude.user("x3", None, [claude.result("t9", "mill")])),
        claude.progress("p4", "p3", "c4", claude.user("x3", None, [claude.result("t9", "mill")])),
        claude.user("r1", "p4", [claude.result("t1", "Seen.")]),
    ]
    result = read("s.jsonl", compact(lines))
    main, agent = result.transcripts
    assert roles(main) == ["user", "assistant", "tool"]
    assert roles(agent) == ["user", "assistant", "tool"]
    assert (agent.session_id, agent.parent_session_id) == ("claude_code-s-1-agent-c4", "claude_code-s-1")
    assert agent.cwd == "/home/ada/mill"
    assert dict(result.account.aside) == {("record", "bookkeeping"): 1, ("tool", "duplicate"): 1}


def test_a_sub_agent_whose_own_lines_are_in_the_file_is_not_read_from_progress_notices_too(read, claude):
    own = {"isSidechain": True, "agentId": "c4"}
    result = read(
        "s.jsonl",
        lines=[
            claude.user("u1", None, "Go"),
            claude.progress("p1", "u1", "c4", claude.user("x1", None, "Look")),
            claude.user("x1", None, "Look", **own),
            claude.says("x2", "x1", "m2", {"type": "text", "text": "Seen."}, **own),
        ],
    )
    assert [len(transcript) for transcript in result.transcripts] == [1, 2]
    assert dict(result.account.aside) == {("user", "duplicate"): 1}
