"""Turns of the Gemini API made by hand."""


def call(name, own=None, **arguments):
    return {"functionCall": {"name": name, "args": arguments, **({"id": own} if own else {})}}


def response(name, text, own=None, key="output"):
    return {"functionResponse": {"name": name, "response": {key: text}, **({"id": own} if own else {})}}


LINES = [
    {"role": "user", "parts": [{"text": "<session_context>\ntoken-0"}]},
    {"role": "user", "parts": [{"text": "<state_snapshot>token-1</state_snapshot>"}]},
    {"role": "user", "parts": [{"text": "token-2"}]},
    {
        "role": "model",
        "parts": [{"text": "hm", "thought": True}, {"text": "I look. "}, {"text": "token-3"}, call("ls", "c1")],
    },
    {"role": "user", "parts": [response("ls", "token-4", "c1")]},
    {"role": "model", "parts": [call("cat", path="token-5", own="c2") | {"thoughtSignature": "c2ln"}]},
    {"role": "function", "parts": [response("cat", "token-6", key="error")]},
]
DOCUMENT = {
    "systemInstruction": {"parts": [{"text": "You mend."}]},
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": "aWkgaWkgaWk="}}],
        },
        {"role": "model", "parts": [{"text": "hm", "thought": True}, call("ls"), call("cat", path="a")]},
        {"role": "user", "parts": [response("cat", "A"), response("ls", "a b")]},
        {"role": "model", "parts": [{"executable_code": {"language": "PYTHON", "code": "1"}}, {"text": "Done."}]},
    ],
}
