"""Logs of requests that repeat the conversation: OpenHands' completions and plain request logs."""

import json

import pytest

from compaction.transcript import Usage
from flows.sources import InputReading, discover, read_input
from tests.flows.sources.conftest import as_input
from tests.flows.sources.logs.llm_request_log import answer, request
from tests.flows.sources.logs.openai_chat import chat_call
from tests.flows.sources.logs.openhands_llm_completion import completion

SYSTEM = {"role": "system", "content": "You are an agent."}


def user(text):
    return {"role": "user", "content": text}


def step(number):
    """An answer with a call, and its result."""
    call = chat_call(f"call_{number}", "run", json.dumps({"n": number}))
    return (
        {"role": "assistant", "content": f"step {number}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": f"the result of step {number}"},
    )


def exchange(key, prompt, message):
    return [request(prompt), answer(key, message["content"], *message.get("tool_calls", ()))]


@pytest.fixture
def log(read):
    def run(*exchanges):
        result = read("log.jsonl", lines=[record for pair in exchanges for record in pair])
        assert (result.format, result.set_aside) == ("llm_request_log", ())
        return result

    return run


def texts(transcript):
    return [m.text for m in transcript.messages]


def grown(steps, task="Mend the mill."):
    """The exchanges of a conversation with so many steps, and its last prompt."""
    talk, pairs = [SYSTEM, user(task)], []
    for number in range(steps):
        said, result = step(number)
        pairs.append(exchange(f"r{number}", list(talk), said))
        talk += [said, result]
    return pairs, talk


def test_the_longest_request_and_its_answer_are_the_session(log):
    pairs, talk = grown(3)
    result = log(*pairs, exchange("end", talk, {"content": "Done."}))
    (transcript,) = result.transcripts
    assert texts(transcript) == [*(m["content"] for m in talk), "Done."]
    assert transcript.set_aside == {"shorter copy of this session": 3}
    assert transcript.usage == Usage(40, 4, None, 2.0)
    assert (transcript.model, transcript.title) == ("model-test-1", "Mend the mill.")
    assert result.account.met["assistant"] == 4


def test_interleaved_conversations_are_told_apart_by_their_messages(log):
    one, talk = grown(2)
    other, talked = grown(2, "Paint the mill.")
    last = [exchange("a", talk, {"content": "Mended."}), exchange("b", talked, {"content": "Painted."})]
    result = log(one[0], other[0], other[1], one[1], *last)
    assert [texts(t)[-1] for t in result.transcripts] == ["Mended.", "Painted."]
    assert [len(t) for t in result.transcripts] == [7, 7]


def test_the_same_prompt_begun_anew_is_another_session(log):
    pairs, talk = grown(2)
    again = [exchange("s0", talk[:2], {"content": "Otherwise."})]
    result = log(*pairs, exchange("end", talk, {"content": "Done."}), *again)
    assert [texts(t)[-1] for t in result.transcripts] == ["Done.", "Otherwise."]


def test_an_answer_that_was_refused_and_asked_for_again_was_taken_back(log):
    pairs, talk = grown(2)
    refused = {"role": "assistant", "content": "No call."}
    said, result = step(2)
    read = log(
        *pairs,
        exchange("x", talk, refused),
        exchange("y", [*talk, refused, user("Use a call!")], said),
        exchange("end", [*talk, said, result], {"content": "Done."}),
    )
    (transcript,) = read.transcripts
    assert texts(transcript) == [*(m["content"] for m in [*talk, said, result]), "Done."]
    assert read.account.aside["assistant", "rewound branch"] == 1
    assert read.account.aside["user", "rewound branch"] == 1


def test_a_summary_in_the_place_of_messages_is_a_recorded_compaction(log):
    pairs, talk = grown(6)
    condensed = [*talk[:2], user("Summary: all went well."), *talk[-4:]]
    said, result = step(6)
    (transcript,) = log(
        *pairs,
        exchange("r6", condensed, said),
        exchange("end", [*condensed, said, result], {"content": "Done."}),
    ).transcripts
    assert texts(transcript) == [*(m["content"] for m in [*talk, said, result]), "Done."]
    (event,) = transcript.compactions
    assert (event.at_seq, event.summary, event.summary_at) == (14, "Summary: all went well.", 2)
    assert event.dropped == tuple(range(2, 10))


def test_a_summary_alone_may_stand_for_the_whole_history(log):
    pairs, talk = grown(6)
    short = [*talk[:2], user("Summary: all went well.")]
    (transcript,) = log(*pairs, exchange("end", short, {"content": "Done."})).transcripts
    assert texts(transcript) == [*(m["content"] for m in talk[:-1]), "Done."]
    assert transcript.compactions[0].dropped == tuple(range(2, 13))


def test_results_that_a_request_shows_shortened_are_cleared(log):
    pairs, talk = grown(4)
    masked = [*talk[:3], {**talk[3], "content": "[masked]"}, *talk[4:]]
    (transcript,) = log(*pairs, exchange("end", masked, {"content": "Done."})).transcripts
    assert texts(transcript) == [*(m["content"] for m in talk), "Done."]
    (event,) = transcript.compactions
    assert (event.cleared, event.cleared_text, event.dropped, event.summary) == ((3,), "[masked]", (), None)


def test_a_prompt_whose_reminder_moves_on_stays_one_session(log):
    reminded = [SYSTEM, user("Mend the mill.\n\nYou have 9 turns left.")]
    said, result = step(0)
    (transcript,) = log(
        exchange("r0", reminded, said),
        exchange("end", [SYSTEM, user("Mend the mill."), said, result], {"content": "Done."}),
    ).transcripts
    assert [m.role for m in transcript.messages] == ["system", "user", "assistant", "tool", "assistant"]


def test_other_choices_of_a_response_are_counted(read):
    record = completion(1, [user("Hi.")], {"content": "A."})
    record["response"]["choices"].append({"message": {"role": "assistant", "content": "B."}})
    result = read("log.json", record)
    assert texts(result.transcripts[0]) == ["Hi.", "A."]
    assert result.account.aside == {("assistant", "other choice of a response"): 1}


def test_request_and_response_may_share_a_record_in_any_envelope(read):
    body = {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}
    for number, record in enumerate(
        (
            {"request": {"body": {"messages": [user("Hi.")]}}, "response": {"body": body}},
            {"messages": [user("Hi.")], "response": "Yes."},
            {"kwargs": {"messages": [user("Hi.")]}, "response": body, "session_id": "s-1"},
        )
    ):
        result = read(f"{number}.jsonl", lines=[record])
        assert (result.format, texts(result.transcripts[0])) == ("llm_request_log", ["Hi.", "Yes."])
    assert result.transcripts[0].session_id == "llm_request_log-s-1"


def test_many_sessions_do_not_all_wait_for_the_end(write):
    pairs = [exchange(f"r{n}", [user(f"Task {n}.")], {"content": "Done."}) for n in range(200)]
    reading = InputReading(as_input(write("log.jsonl", lines=[record for pair in pairs for record in pair])))
    sessions = iter(reading)
    next(sessions)
    assert reading.account.met["user"] < 10
    assert 1 + sum(1 for _ in sessions) == 200


def test_a_folder_of_growing_completions_is_one_session_with_everything(tmp_path, line_samples):
    folder = tmp_path / "llm_completions" / "mill-1"
    folder.mkdir(parents=True)
    for number, record in enumerate(line_samples["openhands_llm_completion"]):
        (folder / f"openai__model-4o-{1733339000 + number}.25.json").write_text(json.dumps(record))
    (found,) = discover([str(tmp_path)])
    result = read_input(found)
    (transcript,) = result.transcripts
    assert result.format == "openhands_llm_completion"
    assert [m.text for m in transcript.messages if m.role == "assistant"] == ["token-0", "token-1", "token-2"]
    assert [m.reasoning for m in transcript.messages if m.role == "assistant"] == [
        "because 1",
        "because 2",
        "because 3",
    ]
    assert transcript.usage == Usage(60, 3, None, 0.75)
    assert transcript.source_path == str(folder / "openai__model-4o-1733339002.25.json")
    alone = {read_input(as_input(path)).transcripts[0].session_id for path in folder.iterdir()}
    assert alone == {transcript.session_id}


def test_content_may_be_a_list_of_blocks_for_tools_too(read, document_samples):
    (transcript,) = read("c.json", document_samples["openhands_llm_completion"]).transcripts
    assert [(m.role, m.text) for m in transcript.messages if m.role == "tool"] == [
        ("tool", "all right"),
        ("tool", "a.py"),
    ]


def test_litellm_keeps_the_prompt_under_the_proxys_request(read):
    answer = {"choices": [{"message": {"role": "assistant", "content": "Ho"}}]}
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    record = {"request_id": "r", "messages": {}, "proxy_server_request": json.dumps(request), "response": answer}
    (transcript,) = read("spend.jsonl", lines=[record]).transcripts
    assert [m.text for m in transcript.messages] == ["Hi", "Ho"]
