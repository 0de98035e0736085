"""Chats with Copilot in VS Code: rounds and what is shown, the log of changes, summaries, sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.flows.sources.logs import vscode_copilot_chat as made
from tests.flows.sources.logs.vscode_copilot_chat import request, round_of, shown_call, tree
from tests.flows.sources.properties import check


def chat(*requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**made.DOCUMENT, "requests": list(requests), **more}


def one(result):
    assert (result.format, result.set_aside) == ("vscode_copilot_chat", ())
    (transcript,) = result.transcripts
    return transcript


def said(transcript) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in transcript.messages]


def test_rounds_with_their_results_are_the_messages(read) -> None:
    transcript = one(read("c.json", made.DOCUMENT))
    assert said(transcript) == [
        ("user", "<context>\nIt is October.\n</context>\n<userRequest>\n\n</userRequest>"),
        ("user", "Mend the mill."),
        ("assistant", "I look."),
        ("tool", "wheel\naxle"),
        ("assistant", "It turns."),
        ("user", "Oil it."),
        ("assistant", "Oiled."),
    ]
    assert [message.author for message in transcript.messages[:2]] == ["harness", None]
    call = transcript.messages[2].tool_calls[0]
    assert (call.id, call.name, call.arguments) == ("t1", "read_file", '{"path": "mill"}')
    assert transcript.messages[2].reasoning == "hm"
    assert (transcript.session_id, transcript.title) == ("vscode_copilot_chat-v-1", "The mill")
    assert (transcript.model, transcript.usage.input_tokens, transcript.usage.output_tokens) == ("gpt-test-1", 100, 20)
    assert (transcript.started_at, transcript.ended_at) == ("2025-10-07T13:50:00Z", "2025-10-07T13:53:20Z")


def test_the_log_of_changes_is_read_as_the_chat_that_it_makes(read, line_samples) -> None:
    transcript = one(read("c.jsonl", lines=line_samples["vscode_copilot_chat"]))
    assert said(transcript) == [("user", "token-1"), ("assistant", "token-2 token-3")]
    assert transcript.title == "token-4"
    whole = read("w.jsonl", lines=[{"kind": 0, "v": made.DOCUMENT}])
    assert said(one(whole)) == said(one(read("c.json", made.DOCUMENT)))


def test_changes_that_lead_to_nothing_are_set_aside_and_the_rest_is_made(read) -> None:
    lines = [
        {"kind": 0, "v": chat(made.REQUEST)},
        {"kind": 1, "k": ["requests", 7, "response"], "v": []},
        {"kind": 2, "k": ["customTitle"], "v": ["a"]},
        {"kind": 9, "k": ["customTitle"], "v": "a"},
        {"kind": 1, "k": [], "v": {}},
        {"kind": 1, "k": ["requests", "length"], "v": 0},
        {"kind": 2, "k": ["requests"], "v": [request("q2", "Oil it.", "Oiled.")]},
    ]
    result = read("c.jsonl", lines=lines)
    assert [aside.line for aside in result.set_aside] == [2, 3, 4, 5, 6]
    assert len(result.transcripts[0]) == 7


def test_a_request_that_was_taken_out_is_a_rewound_branch_and_one_that_was_written_again_is_not(read) -> None:
    first, second = request("q1", "Mend.", "Mended."), request("q2", "Break.", "Broken.")
    undone = request("q4", "Sing.", "La.", shouldBeRemovedOnSend={"requestId": "q4"})
    lines = [
        {"kind": 0, "v": chat(first, second)},
        {"kind": 2, "k": ["requests"], "i": 0},
        {"kind": 2, "k": ["requests"], "v": [first, request("q3", "Oil.", "Oiled."), undone]},
    ]
    transcript = one(read("c.jsonl", lines=lines))
    assert [text for _, text in said(transcript)] == ["Mend.", "Mended.", "Oil.", "Oiled."]
    assert transcript.set_aside == {"bookkeeping": 3, "rewound branch": 4}


def test_a_summary_stands_for_everything_up_to_its_round(read) -> None:
    summary = {"toolCallRoundId": "r1", "text": "The mill was seen.", "source": "foreground", "numRounds": 1}
    lost = {"toolCallRoundId": "nowhere", "text": "Old."}
    first = request(
        "q1", "Mend.", rounds=made.ROUNDS, results={"t1": tree("wheel")}, metadata={"summaries": [lost, summary]}
    )
    transcript = one(read("c.json", chat(first, request("q2", "Oil it.", "Oiled."))))
    (event,) = transcript.compactions
    assert (event.at_seq, event.dropped, event.summary, event.trigger) == (
        3,
        (0, 1, 2),
        "The mill was seen.",
        "foreground",
    )
    assert transcript.set_aside["recorded compaction summary"] == 2


def test_an_answer_without_rounds_is_read_from_the_screen(read) -> None:
    terminal = {
        "kind": "terminal",
        "commandLine": {"original": "make"},
        "terminalCommandState": {"exitCode": 2},
        "terminalCommandOutput": {"text": "no wheel"},
    }
    reference = {
        "kind": "inlineReference",
        "inlineReference": {"fsPath": "c:\\mill\\wheel.py", "path": "/c:/mill/wheel.py"},
    }
    parts = (
        {"kind": "mcpServersStarting"},
        {"kind": "thinking", "value": ["hm", "so"]},
        "I make ",
        reference,
        ".",
        shown_call("s1", toolSpecificData={}, isComplete=False),
        shown_call("s1", toolSpecificData=terminal),
        {"kind": "textEditGroup", "edits": []},
        "It ",
        "broke.",
    )
    transcript = one(read("c.json", chat(request("q1", "Make.", *parts))))
    assert said(transcript) == [
        ("user", "Make."),
        ("assistant", "I make `wheel.py`."),
        ("tool", "no wheel"),
        ("assistant", "It broke."),
    ]
    answer, result = transcript.messages[1:3]
    assert (answer.reasoning, answer.tool_calls[0].arguments, result.is_error) == ("hm\nso", '{"command":"make"}', True)
    assert transcript.set_aside == {"bookkeeping": 2}


def test_an_answer_that_failed_is_told_to_the_person_only_and_old_ones_are_lists_of_texts(read) -> None:
    failed = request("q1", "Go.") | {"result": {"errorDetails": {"message": "No network."}}}
    transcript = one(read("c.json", chat(failed, request("q2", "Again.") | {"response": ["Yes.", 7]})))
    assert said(transcript) == [("user", "Go."), ("user", "Again."), ("assistant", "Yes.")]
    assert transcript.set_aside == {"shown to the person only": 1}


def test_thoughts_that_only_the_screen_has_go_to_the_rounds_whose_calls_follow(read) -> None:
    def thought(text: str) -> dict[str, Any]:
        return {"kind": "thinking", "value": text}

    rounds = [
        round_of("r1", "One.", ("a", "x", "{}"), ("b", "x", "{}")),
        round_of("r2", "Two.", ("c", "x", "{}")),
        round_of("r3", "End."),
    ]
    parts = (thought("1"), shown_call("a"), shown_call("b"), thought("2"), shown_call("c"), thought("3"))
    transcript = one(read("c.json", chat(request("q1", "Go.", *parts, rounds=rounds))))
    assert [message.reasoning for message in transcript.messages] == ["", "1", "2", "3"]


def test_a_sub_agent_is_a_session_of_its_own(read) -> None:
    data = {"kind": "subagent", "description": "Look", "prompt": "Look at the wheel.", "result": "It is round."}
    inner = shown_call(
        "i1", "copilot_readFile", subAgentInvocationId="s1", resultDetails={"input": "{}", "output": "round"}
    )
    first = request(
        "q1",
        "Mend.",
        shown_call("s1", "runSubagent", toolSpecificData=data),
        inner,
        rounds=[round_of("r1", "", ("t1", "runSubagent", '{"prompt": "Look at the wheel."}'))],
        results={"t1": {"content": [{"$mid": 21, "value": "It is round."}, {"mimeType": "image/png", "data": "x"}]}},
    )
    root, helper = read("c.json", chat(first)).transcripts
    assert said(root)[1:] == [("assistant", ""), ("tool", "It is round.\n[image]")]
    assert (helper.session_id, helper.parent_session_id) == ("vscode_copilot_chat-v-1-s1", root.session_id)
    assert said(helper) == [
        ("user", "Look at the wheel."),
        ("assistant", ""),
        ("tool", "round"),
        ("assistant", "It is round."),
    ]


def test_the_folder_stands_in_a_file_above_the_chats(tmp_path: Path) -> None:
    folder = tmp_path / "ab12" / "chatSessions"
    folder.mkdir(parents=True)
    path = folder / "v-1.json"
    path.write_text(json.dumps(made.DOCUMENT), encoding="utf-8")
    for uri, expected in (
        ("file:///home/ada/the%20mill", "/home/ada/the mill"),
        ("file:///c%3A/Users/ada", "c:/Users/ada"),
        ("vscode-remote://wsl%2Bubuntu/home/ada", "/home/ada"),
    ):
        (folder.parent / "workspace.json").write_text(json.dumps({"folder": uri}), encoding="utf-8")
        assert check(path).transcripts[0].cwd == expected
