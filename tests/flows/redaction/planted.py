"""How many planted secrets pass the mask, and what is masked in given sessions.

``python -m tests.flows.redaction.planted`` plants every shape in every place and counts what comes through.
``python -m tests.flows.redaction.planted --seed N`` plants values drawn by N in the shapes of ``shapes.txt`` and counts
shapes and values that come through, of our rules and of the two sources beside them (``other_sources``). With
``--shapes FILE`` behind it in the shapes of a file of yours (``draws.plant``).
``python -m tests.flows.redaction.planted SESSIONS…`` prints every mask of those sessions with what found it and what
stood around it, to be read: it shows what was masked, so keep its output as you keep the sessions.
"""

from __future__ import annotations

import base64
import json
import random
import string
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote_plus

from compaction import Message, ToolCall, Transcript
from flows.redaction import Redactor, redactor
from flows.redaction.detector import find, merge_findings
from flows.redaction.values import is_spread
from flows.sources import InputReading, discover
from tests.flows.redaction.draws import SHAPES, plant
from tests.flows.redaction.other_sources import maskers

DRAW = random.Random(7)
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
NAMES = [
    "DB_PASSWORD",
    "PASSWORD",
    "SECRET",
    "TOKEN",
    "API_KEY",
    "PRIVATE_KEY",
    "CREDENTIALS",
    "MYSQL_PASSWD",
    "FTP_PWD",
    "SESSION_TOKEN",
    "SECRET_KEY_BASE",
    "STRIPE_SECRET_KEY",
    "GITHUB_TOKEN",
    "ENCRYPTION_KEY",
]


def random_text(size: int, alphabet: str = LETTERS) -> str:
    """Random characters; letters and digits are among those of a long alphabet."""
    start = "q7Z" if alphabet is LETTERS else ""
    return start + "".join(DRAW.choice(alphabet) for _ in range(size - len(start)))


def random_base64(size: int) -> str:
    """Base64 that ends in two signs of padding."""
    return base64.b64encode(DRAW.randbytes(size // 3 * 3 + 1)).decode()


def random_token(sign: str) -> str:
    return random_text(6) + sign + random_text(5)


def jwt() -> str:
    head, body = (
        base64.urlsafe_b64encode(json.dumps(x).encode()).decode().rstrip("=")
        for x in ({"alg": "HS256", "typ": "JWT"}, {"sub": random_text(9), "iat": 1700000000})
    )
    return f"{head}.{body}.{random_text(43)}"


def pem() -> str:
    return "\n".join(random_text(64) for _ in range(8)) + "\n" + random_text(30) + "=="


def shapes() -> Iterator[tuple[str, str]]:  # noqa: PLR0915
    """A text with {} in the place of the secret, and the secret."""
    for name in NAMES:
        yield f"{name}={{}}", random_text(24)
        yield f'{name}="{{}}"', random_text(20)
    for sign in ("&&", "||", "$", "#", "@", "!", "%", ";", "&", "^", "?", "'", '"', "*", "+", "/", ":", "~", "="):
        yield "DB_PASSWORD={}", random_token(sign)
    yield 'DB_PASSWORD="{}"', f"{random_text(5)} {random_text(4)} {random_text(4)}"
    yield "DB_PASSWORD='{}'", f"{random_text(5)} {random_text(4)}"
    yield "DB_PASSWORD={}", "maple" + "tractor"
    yield "JWT_SECRET={}", random_base64(30)
    yield "Authorization: Basic {}", random_base64(18)
    yield "Authorization: Bearer {}", random_text(40)
    yield "Authorization: token {}", random_text(40, HEX)
    yield 'curl -H "Authorization: Bearer {}" https://api.internal', random_base64(30)
    yield "curl --cookie 'sessionid={}' https://host", random_text(32)
    yield 'curl -b "theme=dark; sessionid={}" https://host', random_text(16)
    yield "curl -u admin:{} https://host", random_token("&&")
    yield "curl -u 'admin:{}' https://host", random_text(10)
    yield "curl -s --user admin:{} https://host", random_text(12)
    yield "curl -X POST -d 'user=me&password={}&next=1' https://host", random_text(12)
    yield "wget --user=me --password={} https://host", random_token("!")
    yield "wget --password='{}' https://host", random_token("#")
    yield "mysql -u root -p{} app", random_text(12)
    yield "mysql -u root -p'{}' app", random_token("$")
    yield "sshpass -p {} ssh host", random_text(10)
    yield "sshpass -p '{}' ssh host", random_token("@")
    yield "psql postgres://app:{}@db.internal:5432/app", random_text(12)
    yield "psql postgresql://app:{}@db.internal/app", random_token("#")
    yield "redis-cli -h cache -a {} ping", random_text(14)
    yield "docker login -u me -p {} registry.internal", random_text(20)
    yield "PGPASSWORD={} psql -h db", random_text(10)
    yield "git clone https://me:{}@git.internal/repo.git", random_text(14)
    yield "http://user:{}@host/path", random_text(8)
    yield "mongodb+srv://app:{}@cluster.internal/x", random_text(16)
    yield "Server=db;Database=app;User Id=sa;Password={};Encrypt=True", random_token("!")
    yield "jdbc:sqlserver://db:1433;user=sa;password={};encrypt=true", random_text(12)
    yield "jdbc:postgresql://db/app?user=me&password={}&ssl=true", random_text(12)
    yield "Cookie: theme=dark; session={}; lang=en", random_text(24)
    yield "Set-Cookie: connect.sid={}; Path=/; HttpOnly", "s%3A" + random_text(32) + "." + random_text(40)
    yield "X-Api-Key: {}", random_text(32)
    yield "x-auth-token: {}", random_text(30)
    yield "bearer {}", random_text(40)
    yield "session of {}", jwt()
    yield "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", pem()
    yield "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", pem()
    for form in (
        "AKIA" + random_text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
        "AIza" + random_text(35),
        "GOCSPX-" + random_text(28),
        "ghp_" + random_text(36),
        "glpat-" + random_text(20),
        "xoxb-" + random_text(12, string.digits) + "-" + random_text(12, string.digits) + "-" + random_text(24),
        "sk_" + "live_" + random_text(24),
        "sk-" + "proj-" + random_text(74) + "T3Blbk" + "FJ" + random_text(74),
        "sk-" + "ant-api03-" + random_text(93) + "AA",
        "npm_" + random_text(36),
        "pypi-" + "AgEIcHlwaS5vcmc" + random_text(150),
        "hf_" + random_text(34, string.ascii_letters),
        "SG." + random_text(22) + "." + random_text(43),
    ):
        yield "{}", form
        yield "use {} for it", form
    yield "AWS_SECRET_ACCESS_KEY={}", random_base64(29)[:40]
    yield "aws_secret_access_key = {}", random_text(40)
    yield "AccountName=x;AccountKey={};EndpointSuffix=core", random_base64(64)
    yield "machine host login me password {}", random_text(10)
    yield "machine host\n  login me\n  password {}", random_token("!")
    yield "db.internal:5432:app:me:{}", random_text(12)
    yield "*:*:*:me:{}", random_text(12)
    yield "//registry.internal/:_authToken={}", random_text(36)
    yield "_auth={}", random_base64(20)
    yield "    token: {}", random_text(40)
    yield "    client-key-data: {}", random_base64(300)
    yield "me:{}", "$" + "apr1$" + random_text(8) + "$" + random_text(22)
    yield "password: {}", random_text(12)
    yield "  db_password: '{}'", random_token(":")
    yield 'password = "{}"', random_token("]")
    yield "api_key = '{}'", random_text(24)
    yield "[db]\npassword={}", random_text(10)
    yield '"password": "{}"', random_token("!")
    yield '{{"db": {{"apiKey": "{}"}}}}', random_text(32)
    yield "<password>{}</password>", random_text(12)
    yield "export SERVICE_TOKEN='{}'", random_text(32)
    yield "set DB_PASSWORD={}", random_text(12)
    yield '$env:DB_PASSWORD="{}"', random_token("!")
    yield "- DB_PASSWORD={}", random_token("#")
    yield "docker run -e DB_PASSWORD={} app", random_text(12)
    yield "- name: DB_PASSWORD\n  value: {}", random_text(14)
    yield "ENV API_TOKEN {}", random_text(32)


def _lines(form: str) -> Callable[[str], str]:
    return lambda text: "\n".join(
        form.format(number, line) for number, line in enumerate(["PORT=80", *text.split("\n"), "HOST=a"], 3)
    )


PLACES: dict[str, Callable[[str], str]] = {
    "alone": str,
    "amid lines": lambda text: f"PORT=80\n{text}\nHOST=a",
    "CRLF": lambda text: f"PORT=80\n{text}\nHOST=a".replace("\n", "\r\n"),
    "arrow": _lines("{:6}→{}"),
    "bar": _lines("{}|{}"),
    "padded bar": _lines("{:4} | {}"),
    "colon": _lines("{}: {}"),
    "tab": _lines("{}\t{}"),
    "cat -n": _lines("{:6}\t{}"),
    "spaces": _lines("  {}  {}"),
    "box": _lines("│ {} │ {}"),
    "aider": _lines("{}│{}"),
    "grep -n": _lines("conf/.env:{}:{}"),
    "grep -C": _lines(".env-{}-{}"),
    "plus": _lines("+{1}"),
    "minus": _lines("-{1}"),
    "context": _lines(" {1}"),
    "diff": _lines("> {1}"),
    "numbered diff": _lines("{:5} +{}"),
    "frame": _lines("│ {1}"),
    "quote": _lines("> > {1}"),
    "list": _lines("- {1}"),
    "indented": _lines("        {1}"),
    "comment": _lines("# {1}"),
    "slashes": _lines("// {1}"),
    "code block": lambda text: f"```sh\n{text}\n```",
    "heredoc": lambda text: f"cat > .env <<'EOF'\n{text}\nEOF",
    "echo": lambda text: f"$ echo 1\n{text}",
    "JSON": lambda text: json.dumps({"out": text}),
    "JSON lines": lambda text: json.dumps({"out": f"A=1\n{text}\nB=2"}),
    "JSON twice": lambda text: json.dumps({"out": json.dumps({"text": f"A=1\n{text}\nB=2"})}),
    "numbered JSON": lambda text: json.dumps({"out": _lines("{:6}→{}")(text)}),
    "URL-encoded": lambda text: f"https://host/cb?state={quote(text, safe='')}&x=1",
    "form": lambda text: "x=1&body=" + quote_plus(f"A=1\n{text}\nB=2"),
    "diff in JSON": lambda text: json.dumps({"out": _lines("+{1}")(text)}),
}
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
KEYS = [
    "password",
    "db_password",
    "apiKey",
    "api_key",
    "token",
    "access_token",
    "clientSecret",
    "secret",
    "privateKey",
    "Authorization",
    "X-Api-Key",
    "PGPASSWORD",
]
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


def leaked_part(secret: str, shown: str) -> str:
    """A part of the secret that is still in the text: a quarter of it, at least 6 characters."""
    size = max(6, len(secret) // PARTS)
    return next((part for at in range(len(secret) - size + 1) if (part := secret[at : at + size]) in shown), "")


def find_leaks(hides: Redactor) -> tuple[int, list[tuple[str, str, str, str]]]:
    """How many were planted, and shape, place, holder and what is left of each that came through."""
    number, through = 0, []
    for shape, secret in shapes():
        text = shape.replace("{{", "{").replace("}}", "}").replace("{}", secret)
        for place, show in PLACES.items():
            for holder, make in HOLDERS.items():
                number += 1
                new, _ = hides.redact_transcript(Transcript("s", (make(show(text)),)))
                message = new.messages[0]
                left = message.text + message.reasoning + "".join(call.arguments for call in message.tool_calls)
                if any(leaked_part(line, shown) for line in secret.split("\n") for shown in (left, unquote_plus(left))):
                    through.append((shape, place, holder, left))
    for key in KEYS:
        for nest, wrap in NESTS.items():
            for secret in (random_text(12), random_text(24), random_token("&&"), random_token('"'), random_base64(30)):
                if key == "Authorization" and not secret.rstrip("=").isalnum():
                    continue  # no header holds it
                number += 1
                call = ToolCall("c", "request", json.dumps(wrap(key, secret)))
                new, _ = hides.redact_transcript(Transcript("s", (_message("assistant", "", tool_calls=(call,)),)))
                left = new.messages[0].tool_calls[0].arguments
                if leaked_part(secret, left):
                    through.append((key, nest, "key of an argument", left))
    return number, through


def count_passing(
    hide: Callable[[str], str], seed: int, values: int = 12, file: Path = SHAPES
) -> tuple[list[str], int, int, int]:
    """The shapes of which a value came through, how many were planted, the values that came through and the planted."""
    shapes, passing, n_passed, number = set(), {}, 0, 0
    for group, shape, secret, text in plant(seed, values, file):
        number += 1
        shapes.add(shape)
        shown = hide(text)
        if any(leaked_part(line, shown) for line in secret.split("\n")):
            n_passed += 1
            passing.setdefault(shape, f"{group}: {shape!r}")
    return list(passing.values()), len(shapes), n_passed, number


def masks(transcript: Transcript) -> Iterator[tuple[str, str, str, str]]:
    """Every place that is masked in a session: what found it, 60 characters before, the secret, 60 after.

    For a person to read (``python -m tests.flows.redaction.planted``). A place that only a secret found elsewhere gives
    away is found by ``spread``.
    """
    known: dict[str, str] = {}
    hides = Redactor(key="")
    for text, is_json in redactor._texts(transcript):
        for value in redactor._values(text, is_json, find):
            hides._learn(value, known)
    spread = {value: mark for value, mark in known.items() if is_spread(value)}
    for text, is_json in redactor._texts(transcript):
        parts = (
            [(key, value) for _, _, key, value in redactor._strings(text)]
            if is_json and redactor._is_json(text)
            else [("", text)]
        )
        for key, part in parts:
            found = find(part) + (redactor._find_beside_key(key, part, find) if key else [])
            for one in merge_findings([*found, *redactor._occurrences(part, spread)]):
                before = part[max(0, one.start - 60) : one.start] or key
                yield one.by, before, part[one.start : one.end], part[one.end : one.end + 60]


def main(sources: list[str]) -> int:
    """Print one of the three measures."""
    if sources[:1] == ["--seed"]:
        seed, *others = sources[1:]
        file = Path(others[1]) if others[:1] == ["--shapes"] else SHAPES
        for name, hide in maskers(others[2 if others[:1] == ["--shapes"] else 0 :]).items():
            passing, n_shapes, n_passed, number = count_passing(hide, int(seed), file=file)
            print(f"{name}: {len(passing)} of {n_shapes} shapes and {n_passed} of {number} values pass")
            if name == "ours":
                print(*passing, sep="\n")
        return 0
    if sources:
        number = 0
        for input in discover(sources):
            for transcript in InputReading(input):
                for by, before, value, after in masks(transcript):
                    number += 1
                    print(f"{by:>12} {before!r} << {value[:80]!r} >> {after!r}")
        print(f"{number} masks")
        return 0
    number, through = find_leaks(Redactor(key=""))
    for shape, place, holder, left in through:
        print(f"{shape!r} in {place}, {holder}: {left!r}")
    print(f"{len(through)} of {number} planted secrets pass ({sum(1 for _ in shapes())} shapes)")
    return 1 if through else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
