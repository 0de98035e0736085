"""Aider's chat history: who speaks is told by the marks of lines, and applied edits become calls."""

import json

from compaction.reading.file_effects import Ledger, file_ops
from tests.flows.sources.logs.aider_md import NAME, TEXT

START = "# aider chat started at 2026-03-01 10:00:00\n\n"


def one(result):
    assert result.format == "aider_md"
    assert result.set_aside == ()
    (transcript,) = result.transcripts
    return transcript


def said(transcript):
    return [(message.role, message.text) for message in transcript.messages]


def test_lines_with_one_mark_in_a_row_are_one_message_and_what_has_no_mark_is_the_model(read):
    transcript = one(read(NAME, TEXT.encode()))
    assert [m.role for m in transcript.messages] == [
        *("tool", "user", "assistant", "tool", "tool"),
        *("user", "tool", "user", "assistant", "tool"),
    ]
    assert transcript.messages[1].text == "make the wheel turn\nand oil it"
    assert transcript.messages[-2].text == "Nothing:"
    assert (transcript.title, transcript.model) == ("make the wheel turn", "claude-test-1")
    assert transcript.started_at == "2026-03-01T10:00:00"
    assert transcript.messages[1].source_ref == f"{NAME}:8"


def test_an_applied_edit_becomes_a_call_leaves_the_text_and_gets_what_aider_said_as_its_result(read):
    transcript = one(read(NAME, TEXT.encode()))
    answer, first, second = transcript.messages[2:5]
    assert answer.text == "Two changes:\n\nThe wheel turns now."
    assert [json.loads(call.arguments) for call in answer.tool_calls] == [
        {"path": "mill.py", "search": "wheel = None", "replace": "wheel = Wheel()"},
        {"path": "docs/mill.md", "search": "", "replace": "# The mill\n\n> It turns.\n#### Parts"},
    ]
    assert [m.tool_call_id for m in (first, second)] == [call.id for call in answer.tool_calls]
    assert first.text.endswith("Applied edit to mill.py")
    assert second.text == "Applied edit to docs/mill.md\nCommit abc1234 feat: turn the wheel"


def test_the_trail_of_files_is_that_of_the_edits_that_aider_applied(read):
    ledger = Ledger().extend(file_ops(one(read(NAME, TEXT.encode())).messages))
    assert (list(ledger.modified), list(ledger.created)) == (["mill.py"], ["docs/mill.md"])


def test_an_edit_that_did_not_apply_stays_in_the_text(read):
    block = "mill.py\n```\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n```"
    transcript = one(
        read(NAME, f"{START}#### go  \n\n{block}\n\n> 1 SEARCH/REPLACE block failed to match!  \n".encode())
    )
    assert said(transcript)[1] == ("assistant", block)
    assert transcript.messages[1].tool_calls == ()


def test_several_blocks_of_one_file_are_one_edit_and_a_whole_file_is_written(read):
    blocks = "a.py\n```\n" + "\n".join(f"<<<<<<< SEARCH\n{n}\n=======\n{n}{n}\n>>>>>>> REPLACE" for n in (1, 2))
    whole = "**b/c.txt**\n```\nall of it\n```"
    text = f"{START}#### go  \n\n{blocks}\n```\n\n{whole}\n\n> Applied edit to a.py  \n> Applied edit to b/c.txt  \n"
    answer = one(read(NAME, text.encode())).messages[1]
    assert [(call.name, json.loads(call.arguments)) for call in answer.tool_calls] == [
        ("edit", {"path": "a.py", "edits": [{"search": "1", "replace": "11"}, {"search": "2", "replace": "22"}]}),
        ("write", {"path": "b/c.txt", "content": "all of it\n"}),
    ]
    assert answer.text == ""


def test_the_second_line_of_an_output_has_no_mark_and_is_none_of_the_models(read):
    transcript = one(read(NAME, TEXT.encode()))
    assert transcript.messages[3].text.startswith("Tokens: 4.2k sent, 1k cache hit, 300 received.\nCost: $0.02")
    assert transcript.messages[6].text == "==== tests ====\n\none failed\nAdd the output to the chat? n"
    assert not any("Cost:" in m.text for m in transcript.messages if m.role == "assistant")
    usage = transcript.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (4200, 300, 1000, 0.05)


def test_marks_within_a_code_fence_of_an_answer_are_part_of_it(read):
    answer = "Like so:\n\n```markdown\n# Title\n> quote\n#### part\n```"
    transcript = one(read(NAME, f"{START}#### show me  \n\n{answer}\n\n#### thanks  \n".encode()))
    assert said(transcript) == [("user", "show me"), ("assistant", answer), ("user", "thanks")]


def test_each_chat_is_a_session_named_by_its_start_and_one_without_a_message_is_counted(read):
    chats = [f"# aider chat started at 2026-03-01 1{n}:00:00\n\n#### hi {n}  \n\nHello {n}\n\n" for n in range(3)]
    result = read(NAME, "".join([*chats, "# aider chat started at 2026-03-02 10:00:00\n\n"]).encode())
    assert len({transcript.session_id for transcript in result.transcripts}) == 3
    assert all(t.session_id.startswith("aider_md-2026-03-01T1") for t in result.transcripts)
    assert dict(result.account.aside) == {("record", "bookkeeping"): 1}
    grown = read(NAME, (chats[0] + "#### more  \n").encode())
    assert grown.transcripts[0].session_id == result.transcripts[0].session_id


def test_what_is_left_of_a_chat_whose_start_was_cut_off_goes_in(read):
    cut = read(NAME, f"Yes.\n\n#### and then?  \n\nThen this.\n\n{START}#### hi  \n".encode())
    assert [len(transcript) for transcript in cut.transcripts] == [3, 1]
    output = read(NAME, f"> passed  \n\n{START}#### hi  \n".encode())
    assert [len(transcript) for transcript in output.transcripts] == [1]
    assert dict(output.account.aside) == {("tool", "output before the first chat"): 1}


def test_line_ends_of_windows_are_no_part_of_what_was_typed(read):
    transcript = one(read(NAME, TEXT.replace("\n", "\r\n").encode()))
    assert transcript.messages[1].text == "make the wheel turn\nand oil it"
    assert len(transcript.messages[2].tool_calls) == 2


def test_a_command_alone_gives_no_title(read):
    transcript = one(read(NAME, f"{START}#### /add mill.py  \n> Added mill.py  \n\n#### oil it  \n".encode()))
    assert transcript.title == "oil it"


def test_what_a_model_thought_is_reasoning_and_an_edit_in_it_is_none(read):
    block = "mill.py\n```\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```"
    tag = "thinking-content-0123456789abcdef"
    answer = f"<{tag}>\n\nMaybe:\n> this\n\n{block.format(1, 2)}\n\n</{tag}>\n\nSo:\n\n{block.format(3, 4)}"
    text = f"{START}#### go  \n\n{answer}\n\n> Applied edit to mill.py  \n"
    said = one(read(NAME, text.encode())).messages[1]
    assert said.reasoning == f"Maybe:\n> this\n\n{block.format(1, 2)}"
    assert said.text == "So:"
    assert [json.loads(call.arguments)["search"] for call in said.tool_calls] == ["3"]
