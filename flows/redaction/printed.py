"""Output of a command that was asked for a secret: ``pass show …``, ``kubectl get secret … | base64 -d``."""

from __future__ import annotations

import re

from flows.redaction.values import is_strong

_COMMANDS = (
    r"(?:pass|gopass|lpass)[ ]show|secret-tool[ ]lookup|op[ ]read|op[ ]item[^\n]{1,80}--reveal|bw[ ]get",
    r"vault[ ](?:kv[ ]get|read)|find-\w+-password|get-secret-value|versions[ ]access|keyvault[ ]secret|with-decryption",
    r"(?:get|show|print|create|auth)[ -](?:[\w-]{1,20}[- ])?(?:token|password|secret)|config:get",
    r"secrets?[ ][^\n]{0,120}(?:base64[ ]-{1,2}d\w*|jsonpath)|openssl[ ]rand|pwgen|token_(?:hex|urlsafe)",
    r"(?:echo|printenv)[ ][\"']?\$?\{?\w{0,40}(?:pass|password|secret|token|api_?key)\b",
    r"getItem\([\"'][\w.-]{0,40}(?:token|secret|jwt)",
)
_PRINTS = re.compile(rf"\b(?:{'|'.join(_COMMANDS)})", re.IGNORECASE | re.ASCII)
PRINTED = rf"{_PRINTS.pattern}[^\n]{{0,200}}\n[ \t<]{{0,4}}[\"']?(?P<v>[^\s\"']{{8,4096}})[\"']?[ \t]*(?![^\r\n])"
"""Such a command, and the one word below it."""
PRINTED_KEYWORDS = (
    "show_ lookup_ read_ --reveal bw_get kv_get -password -value _access keyvault -decryption token password secret"
    " config:get base64_- jsonpath ssl_rand pwgen pass api_key apikey"
)


def find_printed(command: str, output: str) -> str | None:
    """The secret that a command was asked for, if it is all that it printed."""
    value = output.strip().strip("\"'")
    is_one = 8 <= len(value) <= 4096 and len(value.split()) == 1
    return value if is_one and _PRINTS.search(command) and is_strong(value) else None
