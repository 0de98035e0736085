r"""Text of strangers as data: into a request as JSON string values that hold nothing a model's server could obey.

Transcripts, summaries, questions, true answers and answers were written by people, tools and models that nobody
vouches for. Each is shown as the value of a JSON field. In the JSON, characters are written as ``\uXXXX`` where as
themselves they could do something: the first character of a control token of a chat template (a local server would
turn ``<|im_end|>`` in plain text into the token), and whatever is invisible or turns the direction of writing. The
JSON still stands for the same text, letter by letter.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

ANSWER_CHARS_PER_TOKEN = 16
"""An answer may be shown with so many characters for each token that its question allows: four times what prose has.

Nothing that keeps to twice its limit is cut, and padding cannot push the instructions out of the model's window.
"""

LEAST_ANSWER_CHARS = 4_000
"""Shown of any answer, however short its question wants it."""

_NAMES = (
    "s bos eos pad unk mask cls sep sop eop eoh eoa think thought image video audio reponame filename system user "
    "assistant human bot tool tools model"
).split()
_BRACKETED = (
    "INST SYSTEM_PROMPT AVAILABLE_TOOLS TOOL_RESULTS TOOL_CALLS TOOL_CONTENT CALL_ID ARGS THINK MODEL_SETTINGS IMG "
    "IMG_BREAK IMG_END AUDIO BEGIN_AUDIO TRANSCRIBE PREFIX MIDDLE SUFFIX REF gMASK sMASK MASK CLS SEP PAD UNK BOS EOS "
    "USER BOT SYSTEM"
).split()
"""As templates write them; log lines such as ``[INFO]`` and ``[ERROR]`` are none of them."""

_TAG = re.compile(
    r"<(?=[|｜]"  # <|im_start|>, <|eot_id|>, and with a bar of full width
    rf"|/?(?:{'|'.join(_NAMES)})>"  # </s>, <bos>
    r"|<?/?SYS>"  # <<SYS>>
    r"|/?[A-Za-z][A-Za-z0-9.-]*[_▁:][\w▁:.-]*>"  # <start_of_turn>, <tool_call>, <BOS_TOKEN>, <seed:bos>
    r"|unused\d+>"
    r"|/?\w+[|｜]>)"  # <turn|>
)
_BRACKET = re.compile(rf"\[(?=/?(?:{'|'.join(_BRACKETED)})\]|[|｜]|e~\[)")
_TILDE = re.compile(r"\](?=<?[~<])")
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u25c1\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Controls, formats, fillers, tags, and the mark before ``think▷``. Left alone: the two selectors that pick how a
symbol is drawn, which agents write after every other sign."""


def json_text(value: Any) -> str:
    """A value as JSON on one line, neutralised as the module says; ``json.loads`` gives it back unchanged."""
    try:
        return neutralise(orjson.dumps(value).decode())
    except TypeError:  # half a surrogate pair, which no encoder takes
        return neutralise(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def neutralise(text: str) -> str:
    """JSON with all control tokens and invisible characters escaped."""
    if "<" in text:
        text = _TAG.sub(r"\\u003c", text)
    if "[" in text:
        text = _BRACKET.sub(r"\\u005b", text)
    if "]" in text:
        text = _TILDE.sub(r"\\u005d", text)
    return text if text.isascii() and "\x7f" not in text else _UNSEEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def clip_text(text: str, limit: int) -> str:
    """The text; if it has more than ``limit`` characters, its beginning and end with a note between them."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail]}\n[… {len(text) - limit} characters are not shown …]\n{text[len(text) - tail :]}"


def answer_text(answer: str, max_tokens: int) -> str:
    """An answer as it is shown to a judge; ``max_tokens`` is the limit that the question states."""
    return clip_text(answer, max(LEAST_ANSWER_CHARS, ANSWER_CHARS_PER_TOKEN * max_tokens))
