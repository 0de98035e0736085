"""How many planted secrets pass the mask, and what is masked in given sessions.

``python -m tests.flows.planted`` plants every shape in every place and counts what comes through.
``python -m tests.flows.planted SESSIONS…`` prints every mask of those sessions with what found it and what stood around
it, to be read: it shows what was masked, so keep its output as you keep the sessions.
"""

from __future__ import annotations

import base64
import json
import random
import string
import sys
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus, unquote_plus

from compaction import Message, ToolCall, Transcript
from flows.redaction import Redactor
from flows.redaction.redactor import masks
from flows.sources import Reading, discover

DRAW = random.Random(7)
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
NAMES = [
    "DB_PASSWORD", "PASSWORD", "SECRET", "TOKEN", "API_KEY", "PRIVATE_KEY", "CREDENTIALS", "MYSQL_PASSWD", "FTP_PWD",
    "SESSION_TOKEN", "SECRET_KEY_BASE", "STRIPE_SECRET_KEY", "GITHUB_TOKEN", "ENCRYPTION_KEY",
]  # fmt: skip


def drawn(size: int, alphabet: str = LETTERS) -> str:
    """Random characters; letters and digits are among those of a long alphabet."""
    start = "q7Z" if alphabet is LETTERS else ""
    return start + "".join(DRAW.choice(alphabet) for _ in range(size - len(start)))


def encoded(size: int) -> str:
    """Base64 that ends in two signs of padding."""
    return base64.b64encode(DRAW.randbytes(size // 3 * 3 + 1)).decode()


def signed(sign: str) -> str:
    return drawn(6) + sign + drawn(5)


def jwt() -> str:
    head, body = (base64.urlsafe_b64encode(json.dumps(x).encode()).decode().rstrip("=") for x in
                  ({"alg": "HS256", "typ": "JWT"}, {"sub": drawn(9), "iat": 1700000000}))  # fmt: skip
    return f"{head}.{body}.{drawn(43)}"


def pem() -> str:
    return "\n".join(drawn(64) for _ in range(8)) + "\n" + drawn(30) + "=="


def shapes() -> Iterator[tuple[str, str]]:  # noqa: PLR0915
    """A text with {} in the place of the secret, and the secret."""
    for name in NAMES:
        yield f"{name}={{}}", drawn(24)
        yield f'{name}="{{}}"', drawn(20)
    for sign in ("&&", "||", "$", "#", "@", "!", "%", ";", "&", "^", "?", "'", '"', "*", "+", "/", ":", "~", "="):
        yield "DB_PASSWORD={}", signed(sign)
    yield 'DB_PASSWORD="{}"', f"{drawn(5)} {drawn(4)} {drawn(4)}"
    yield "DB_PASSWORD='{}'", f"{drawn(5)} {drawn(4)}"
    yield "DB_PASSWORD={}", "maple" + "tractor"
    yield "JWT_SECRET={}", encoded(30)
    yield "Authorization: Basic {}", encoded(18)
    yield "Authorization: Bearer {}", drawn(40)
    yield "Authorization: token {}", drawn(40, HEX)
    yield 'curl -H "Authorization: Bearer {}" https://api.internal', encoded(30)
    yield "curl --cookie 'sessionid={}' https://host", drawn(32)
    yield 'curl -b "theme=dark; sessionid={}" https://host', drawn(16)
    yield "curl -u admin:{} https://host", signed("&&")
    yield "curl -u 'admin:{}' https://host", drawn(10)
    yield "curl -s --user admin:{} https://host", drawn(12)
    yield "curl -X POST -d 'user=me&password={}&next=1' https://host", drawn(12)
    yield "wget --user=me --password={} https://host", signed("!")
    yield "wget --password='{}' https://host", signed("#")
    yield "mysql -u root -p{} app", drawn(12)
    yield "mysql -u root -p'{}' app", signed("$")
    yield "sshpass -p {} ssh host", drawn(10)
    yield "sshpass -p '{}' ssh host", signed("@")
    yield "psql postgres://app:{}@db.internal:5432/app", drawn(12)
    yield "psql postgresql://app:{}@db.internal/app", signed("#")
    yield "redis-cli -h cache -a {} ping", drawn(14)
    yield "docker login -u me -p {} registry.internal", drawn(20)
    yield "PGPASSWORD={} psql -h db", drawn(10)
    yield "git clone https://me:{}@git.internal/repo.git", drawn(14)
    yield "http://user:{}@host/path", drawn(8)
    yield "mongodb+srv://app:{}@cluster.internal/x", drawn(16)
    yield "Server=db;Database=app;User Id=sa;Password={};Encrypt=True", signed("!")
    yield "jdbc:sqlserver://db:1433;user=sa;password={};encrypt=true", drawn(12)
    yield "jdbc:postgresql://db/app?user=me&password={}&ssl=true", drawn(12)
    yield "Cookie: theme=dark; session={}; lang=en", drawn(24)
    yield "Set-Cookie: connect.sid={}; Path=/; HttpOnly", "s%3A" + drawn(32) + "." + drawn(40)
    yield "X-Api-Key: {}", drawn(32)
    yield "x-auth-token: {}", drawn(30)
    yield "bearer {}", drawn(40)
    yield "session of {}", jwt()
    yield "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", pem()
    yield "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", pem()
    for form in (
        "AKIA" + drawn(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), "AIza" + drawn(35), "GOCSPX-" + drawn(28),
        "ghp_" + drawn(36), "glpat-" + drawn(20), "xoxb-" + drawn(12, string.digits) + "-" + drawn(12, string.digits)
        + "-" + drawn(24), "sk_" + "live_" + drawn(24), "sk-" + "proj-" + drawn(74) + "T3Blbk" + "FJ" + drawn(74),
        "sk-" + "ant-api03-" + drawn(93) + "AA", "npm_" + drawn(36), "pypi-" + "AgEIcHlwaS5vcmc" + drawn(150),
        "hf_" + drawn(34, string.ascii_letters), "SG." + drawn(22) + "." + drawn(43),
    ):  # fmt: skip
        yield "{}", form
        yield "use {} for it", form
    yield "AWS_SECRET_ACCESS_KEY={}", encoded(29)[:40]
    yield "aws_secret_access_key = {}", drawn(40)
    yield "AccountName=x;AccountKey={};EndpointSuffix=core", encoded(64)
    yield "machine host login me password {}", drawn(10)
    yield "machine host\n  login me\n  password {}", signed("!")
    yield "db.internal:5432:app:me:{}", drawn(12)
    yield "*:*:*:me:{}", drawn(12)
    yield "//registry.internal/:_authToken={}", drawn(36)
    yield "_auth={}", encoded(20)
    yield "    token: {}", drawn(40)
    yield "    client-key-data: {}", encoded(300)
    yield "me:{}", "$" + "apr1$" + drawn(8) + "$" + drawn(22)
    yield "password: {}", drawn(12)
    yield "  db_password: '{}'", signed(":")
    yield 'password = "{}"', signed("]")
    yield "api_key = '{}'", drawn(24)
    yield "[db]\npassword={}", drawn(10)
    yield '"password": "{}"', signed("!")
    yield '{{"db": {{"apiKey": "{}"}}}}', drawn(32)
    yield "<password>{}</password>", drawn(12)
    yield "export SERVICE_TOKEN='{}'", drawn(32)
    yield "set DB_PASSWORD={}", drawn(12)
    yield '$env:DB_PASSWORD="{}"', signed("!")
    yield "- DB_PASSWORD={}", signed("#")
    yield "docker run -e DB_PASSWORD={} app", drawn(12)
    yield "- name: DB_PASSWORD\n  value: {}", drawn(14)
    yield "ENV API_TOKEN {}", drawn(32)


def _lines(form: str) -> Callable[[str], str]:
    return lambda text: "\n".join(
        form.format(number, line) for number, line in enumerate(["PORT=80", *text.split("\n"), "HOST=a"], 3)
    )


PLACES: dict[str, Callable[[str], str]] = {
    "alone": str,
    "amid lines": lambda text: f"PORT=80\n{text}\nHOST=a",
    "CRLF": lambda text: f"PORT=80\n{text}\nHOST=a".replace("\n", "\r\n"),
    "arrow": _lines("{:6}→{}"), "bar": _lines("{}|{}"), "padded bar": _lines("{:4} | {}"), "colon": _lines("{}: {}"),
    "tab": _lines("{}\t{}"), "cat -n": _lines("{:6}\t{}"), "spaces": _lines("  {}  {}"), "box": _lines("│ {} │ {}"),
    "aider": _lines("{}│{}"), "grep -n": _lines("conf/.env:{}:{}"), "grep -C": _lines(".env-{}-{}"),
    "plus": _lines("+{1}"), "minus": _lines("-{1}"), "context": _lines(" {1}"), "diff": _lines("> {1}"),
    "numbered diff": _lines("{:5} +{}"), "frame": _lines("│ {1}"), "quote": _lines("> > {1}"), "list": _lines("- {1}"),
    "indented": _lines("        {1}"), "comment": _lines("# {1}"), "slashes": _lines("// {1}"), "code block": lambda text: f"```sh\n{text}\n```",  # noqa: E501
    "heredoc": lambda text: f"cat > .env <<'EOF'\n{text}\nEOF", "echo": lambda text: f"$ echo 1\n{text}",
    "JSON": lambda text: json.dumps({"out": text}), "JSON lines": lambda text: json.dumps({"out": f"A=1\n{text}\nB=2"}),
    "JSON twice": lambda text: json.dumps({"out": json.dumps({"text": f"A=1\n{text}\nB=2"})}),
    "numbered JSON": lambda text: json.dumps({"out": _lines("{:6}→{}")(text)}),
    "URL-encoded": lambda text: f"https://host/cb?state={quote(text, safe='')}&x=1",
    "form": lambda text: "x=1&body=" + quote_plus(f"A=1\n{text}\nB=2"),
    "diff in JSON": lambda text: json.dumps({"out": _lines("+{1}")(text)}),
}  # fmt: skip
"""How the text is shown: as it is, by a tool that reads files, in a diff, in JSON."""


def _message(role: str, text: str, **more: object) -> Message:
    return Message(role, text, seq=1, **more)  # type: ignore[arg-type]


HOLDERS: dict[str, Callable[[str], Message]] = {
    "text": lambda text: _message("user", text),
    "reasoning": lambda text: _message("assistant", "", reasoning=text),
    "argument": lambda text: _message(
        "assistant", "", tool_calls=(ToolCall("c", "bash", json.dumps({"command": text})),)
    ),
    "result": lambda text: _message("tool", text, tool_call_id="c"),
}
KEYS = ["password", "db_password", "apiKey", "api_key", "token", "access_token", "clientSecret", "secret", "privateKey",
        "Authorization", "X-Api-Key", "PGPASSWORD"]  # fmt: skip
"""Keys of a call's arguments that say what their value is."""
NESTS: dict[str, Callable[[str, str], object]] = {
    "flat": lambda key, value: {key: value},
    "deep": lambda key, value: {"a": {"b": {"c": [{"d": 1, key: value}]}}},
    "after others": lambda key, value: {"url": "https://host/x", "n": 5, key: value, "z": None},
    "list": lambda key, value: {"accounts": [{"user": "a"}, {"user": "b", key: value}]},
    "JSON in a string": lambda key, value: {"body": json.dumps({"auth": {key: value}})},
    "indented JSON in a string": lambda key, value: {"content": json.dumps({"auth": {key: value}}, indent=2)},
}
PARTS = 4
"""A part of this share of a secret that stays in the text counts as passed."""


def leaked(secret: str, shown: str) -> str:
    """A part of the secret that is still there: a quarter of it, 6 characters at least."""
    size = max(6, len(secret) // PARTS)
    return next((part for at in range(len(secret) - size + 1) if (part := secret[at : at + size]) in shown), "")


def passed(redactor: Redactor) -> tuple[int, list[tuple[str, str, str, str]]]:
    """How many were planted, and shape, place, holder and what is left of each that came through."""
    number, through = 0, []
    for shape, secret in shapes():
        text = shape.replace("{{", "{").replace("}}", "}").replace("{}", secret)
        for place, show in PLACES.items():
            for holder, make in HOLDERS.items():
                number += 1
                new, _ = redactor.redact_transcript(Transcript("s", (make(show(text)),)))
                message = new.messages[0]
                left = message.text + message.reasoning + "".join(call.arguments for call in message.tool_calls)
                if any(leaked(line, shown) for line in secret.split("\n") for shown in (left, unquote_plus(left))):
                    through.append((shape, place, holder, left))
    for key in KEYS:
        for nest, wrap in NESTS.items():
            for secret in (drawn(12), drawn(24), signed("&&"), signed('"'), encoded(30)):
                if key == "Authorization" and not secret.rstrip("=").isalnum():
                    continue  # no header holds it
                number += 1
                call = ToolCall("c", "request", json.dumps(wrap(key, secret)))
                new, _ = redactor.redact_transcript(Transcript("s", (_message("assistant", "", tool_calls=(call,)),)))
                left = new.messages[0].tool_calls[0].arguments
                if leaked(secret, left):
                    through.append((key, nest, "key of an argument", left))
    return number, through


def main(sources: list[str]) -> int:
    """Print one of the two measures."""
    redactor = Redactor(key="")
    if sources:
        number = 0
        for input in discover(sources):
            for transcript in Reading(input):
                for by, before, value, after in masks(transcript):
                    number += 1
                    print(f"{by:>12} {before!r} << {value[:80]!r} >> {after!r}")
        print(f"{number} masks")
        return 0
    number, through = passed(redactor)
    for shape, place, holder, left in through:
        print(f"{shape!r} in {place}, {holder}: {left!r}")
    print(f"{len(through)} of {number} planted secrets pass ({sum(1 for _ in shapes())} shapes)")
    return 1 if through else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
