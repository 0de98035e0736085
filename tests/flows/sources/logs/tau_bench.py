"""tau-bench runs made by hand: one with tool calls, one whose agent acts in text."""

from tests.flows.sources.logs.openai_chat import chat_call

TOOL_RUN = {
    "task_id": 3,
    "trial": 1,
    "reward": 1.0,
    "info": {"source": "user", "user_cost": 0.01},
    "traj": [
        {"role": "system", "content": "# Policy\ntoken-0"},
        {"role": "user", "content": "I want to move my booking."},
        {"role": "assistant", "content": None, "tool_calls": [chat_call("c1", "get_booking", '{"id": "B1"}')]},
        {"role": "tool", "tool_call_id": "c1", "name": "get_booking", "content": "Error: booking not found"},
        {"role": "assistant", "content": "There is none."},
        {"role": "user", "content": "Bye ###STOP###"},
    ],
}
TEXT_RUN = {
    "task_id": 4,
    "trial": 0,
    "reward": 0.0,
    "info": {},
    "traj": [
        {"role": "system", "content": "token-1"},
        {"role": "user", "content": "Where is my bag?"},
        {"role": "assistant", "content": 'Thought:\nLook.\nAction:\n{"name": "find_bag", "arguments": {"user": "u1"}}'},
        {"role": "user", "content": "API output: at the mill"},
        {"role": "assistant", "content": 'Action:\n{"name": "respond", "arguments": {"content": "At the mill."}}'},
        {"role": "user", "content": "###STOP###"},
    ],
}
LINES = [TOOL_RUN, TEXT_RUN]
DOCUMENT = LINES
