"""Claude Code logs: recorded compactions."""

from tests.flows.sources.claude_results import one


def boundary(claude, uuid, parent, **metadata):
    data = {"trigger": "auto", "preTokens": 155_000} | metadata
    return claude.line("system", uuid, None, subtype="compact_boundary", logicalParentUuid=parent, compactMetadata=data)


def test_a_recorded_compaction_is_no_message_but_says_where_what_and_how_much(read, claude):
    result = read(
        "s.jsonl",
        lines=[
            claude.user("u1", None, "Go"),
            claude.says("a1", "u1", "m1", {"type": "text", "text": "Half."}),
            boundary(claude, "b1", "a1"),
            claude.user("c1", "b1", "This session is being continued: half is done.", isCompactSummary=True),
            claude.says("a2", "c1", "m2", {"type": "text", "text": "Rest."}),
            boundary(claude, "b2", "a2", preservedMessages={"uuids": ["a2"]}),
            claude.user("c2", "b2", "All is done.", isCompactSummary=True),
        ],
    )
    transcript = one(result)
    assert [m.text for m in transcript.messages] == ["Go", "Half.", "Rest."]
    first, second = transcript.compactions
    assert (first.at_seq, first.dropped, first.tokens_before, first.trigger) == (2, (0, 1), 155_000, "auto")
    assert first.summary == "This session is being continued: half is done."
    assert (second.at_seq, second.dropped) == (3, ())  # what left before left once; the preserved message stays
    assert [c.summary_at for c in transcript.compactions] == [0, 0]  # before what was kept
    assert transcript.set_aside == {"bookkeeping": 2, "recorded compaction summary": 2}
    assert result.account.aside["user", "recorded compaction summary"] == 2


def test_removed_tool_results_stay_as_messages_and_the_recorded_compaction_says_which(read, claude):
    data = {"trigger": "auto", "preTokens": 60_888, "compactedToolIds": ["t1", "gone"]}
    marker = claude.line("system", "b1", "r2", subtype="microcompact_boundary", microcompactMetadata=data)
    transcript = one(
        read(
            "s.jsonl",
            lines=[
                claude.user("u1", None, "Go"),
                claude.says("a1", "u1", "m1", claude.use("t1"), claude.use("t2")),
                claude.user("r1", "a1", [claude.result("t1", "long")]),
                claude.user("r2", "r1", [claude.result("t2", "short")]),
                marker,
            ],
        )
    )
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.cleared) == (4, (), (2,))
    assert (event.summary, event.has_opaque_summary, event.tokens_before) == (None, False, 60_888)
    assert event.cleared_text == "[Old tool result content cleared]"
    assert [m.text for m in transcript.messages[2:]] == ["long", "short"]


def test_a_preserved_segment_stays_and_leads_the_context_when_it_hangs_on_the_boundary(read, claude):
    segment = {"headUuid": "a2", "tailUuid": "r2", "anchorUuid": "b1"}
    lines = [
        claude.user("u1", None, "Go"),
        claude.says("a1", "u1", "m1", {"type": "text", "text": "Half."}),
        claude.says("a2", "a1", "m2", claude.use("t2")),
        claude.line("attachment", "x1", "a2", attachment={"type": "task_reminder"}),
        claude.user("r2", "x1", [claude.result("t2", "done")]),
        boundary(claude, "b1", "r2", preservedSegment=segment),
        claude.user("c1", "b1", "So far.", isCompactSummary=True),
    ]
    (event,) = one(read("s.jsonl", lines=lines)).compactions
    assert (event.dropped, event.summary_at) == ((0, 1), 2)
    segment["anchorUuid"] = "c1"
    (event,) = one(read("s.jsonl", lines=lines)).compactions
    assert (event.dropped, event.summary_at) == ((0, 1), 0)


def test_a_boundary_whose_summary_is_not_in_the_log_cannot_be_replayed(read, claude):
    lines = [claude.user("u1", None, "Go"), boundary(claude, "b1", "u1"), claude.user("u2", "b1", "On")]
    (event,) = one(read("s.jsonl", lines=lines)).compactions
    assert (event.at_seq, event.summary, event.has_opaque_summary) == (1, None, True)
