"""Credentials are masked, and nothing else. Every secret here is made up while the tests run."""

from __future__ import annotations

import base64
import json
import pickle
import random
import string
from collections import Counter
from dataclasses import replace
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import Message, RecordedCompaction, ToolCall, Transcript
from flows.redaction import KEY_VARIABLE, Redactor
from flows.redaction.detector import LONGEST_RUN, find
from flows.redaction.marks import MARK
from flows.redaction.rules import RULES, rules_for
from tests.flows import planted

DRAW = random.Random(20240229)
LETTERS, HEX, BASE32 = string.ascii_letters + string.digits, "0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
REDACTOR = Redactor(key="")


def drawn(size: int, alphabet: str = LETTERS) -> str:
    """Random characters, letters and digits among the first."""
    return (
        "".join(["k7Q", *(DRAW.choice(alphabet) for _ in range(size))])[:size]
        if alphabet is LETTERS
        else "".join(DRAW.choice(alphabet) for _ in range(size))
    )


def part(value: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def key_block(name: str = "RSA PRIVATE KEY", lines: int = 12) -> str:
    body = "\n".join(drawn(64) for _ in range(lines))
    return f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"


def token() -> str:
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part({'sub': drawn(10), 'iat': 1516239022})}.{drawn(43)}"


# Kind → a secret that is known by its own form, wherever it stands.
BY_FORM = {
    "aws_access_key_id": "AKIA" + drawn(16, BASE32),
    "google_api_key": "AIza" + drawn(35),
    "google_oauth_client_secret": "GOCSPX-" + drawn(28),
    "github_token": "ghp_" + drawn(36),
    "github_fine_grained_personal_access_token": "github_" + "pat_" + drawn(22) + "_" + drawn(59),
    "gitlab_token": "glpat-" + drawn(20),
    "slack_token": "xoxb-" + drawn(12, string.digits) + "-" + drawn(12, string.digits) + "-" + drawn(24),
    "stripe_credential": "sk_" + "live_" + drawn(24),
    "openai_api_key": "sk-" + "proj-" + drawn(74) + "T3Blbk" + "FJ" + drawn(74),
    "anthropic_api_key": "sk-" + "ant-api03-" + drawn(93) + "AA",
    "huggingface_token": "hf_" + drawn(34, string.ascii_letters),
    "npm_access_token": "npm_" + drawn(36),
    "pypi_api_token": "pypi-" + "AgEIcHlwaS5vcmc" + drawn(150),
    "sendgrid_api_key": "SG." + drawn(22) + "." + drawn(43),
    "microsoft_entra_client_secret": "k7Q8Q~" + drawn(34),
    "private_key": key_block(),
    "jwt": token(),
    "age_secret_key": "AGE-SECRET-" + "KEY-1" + drawn(58, BASE32),
}
# What stands around a secret → the secret. {} is its place.
IN_CONTEXT = {
    "AWS_SECRET_ACCESS_KEY={}": drawn(40),
    "TWILIO_AUTH_TOKEN={}": drawn(32, HEX),
    "AccountName=x;AccountKey={};EndpointSuffix=core": drawn(86) + "==",
    "Endpoint=sb://x;SharedAccessKey={}": drawn(43) + "=",
    "postgres://admin:{}@db.internal:5432/app": drawn(14),
    "redis://:{}@cache:6379/0": drawn(16),
    "Authorization: Bearer {}": drawn(40),
    "Authorization: Basic {}": base64.b64encode(b"user:" + drawn(12).encode()).decode(),
    "API_KEY={}": drawn(32),
    "export SERVICE_TOKEN='{}'": drawn(32),
    'secret_key: "{}"': drawn(40),
    '{{"access_token": "{}"}}': drawn(40),
    "DB_PASSWORD={}": drawn(12) + "!",
    "password: {}": drawn(12),
    "x-api-key: {}": drawn(40),
    "https://files.internal/a?sig={}&se=2031": drawn(43),
    "tool --api-key {} run": drawn(32),
    "tool --db-password={}": drawn(12),
    "mysql -u root -p{} app": drawn(14),
    "sshpass -p '{}' ssh host": drawn(12),
    "docker login -u me -p {} registry": drawn(20),
    "PGPASSWORD={} psql": drawn(12),
    "machine host login me password {}": drawn(14),
    "<server><password>{}</password></server>": drawn(14),
    '<add key="ApiKey" value="{}"/>': drawn(32),
    "The password is {}, keep it.": drawn(12),
    "the token was {} yesterday": drawn(24),
    "my API key: {}": drawn(32),
    "Cookie: theme=dark; sessionid={}": drawn(32),
    "curl -b 'theme=dark; sid={}' https://host": drawn(26),
    "curl -u admin:{} https://host": drawn(12),
    "db.internal:5432:app:admin:{}": drawn(12),
    "admin:{}": "$" + "apr1$" + drawn(8) + "$" + drawn(22),
    "- name: DB_PASSWORD\n  value: {}": drawn(14),
    "ENV API_TOKEN {}": drawn(32),
    "https://hooks.slack.com/services/{}": "T" + drawn(8, BASE32) + "/B" + drawn(10, BASE32) + "/" + drawn(24),
    "https://discord.com/api/webhooks/{}": drawn(18, string.digits) + "/" + drawn(68),
    "token seen: {}": "sk-" + "ant-oat01-" + drawn(93) + "AA",
    "id {}": token(),
    "file: {}": "AGE-SECRET-" + "KEY-1" + drawn(58, BASE32),
}
HARMLESS = [
    "commit " + drawn(40, HEX),
    "sha256:" + drawn(64, HEX),
    "id: 123e4567-e89b-12d3-a456-426614174000",
    f'"integrity": "sha512-{base64.b64encode(DRAW.randbytes(64)).decode()}"',
    "data:image/png;base64," + base64.b64encode(DRAW.randbytes(3000)).decode(),
    "toolu_01" + drawn(22),
    "call_" + drawn(24),
    "task-" + drawn(20),
    "ssh-rsa AAAAB3NzaC1yc2E" + drawn(300),
    "cache_key = '" + drawn(32, HEX) + "'",
    "max_tokens: 4096, token_count = 12345, primary_key=True",
    "token = tokenizer.next_token(); key = row.key; secret = args[++i]",
    "const apiKey = parsed.apiKey || (await keyFor(model));",
    "async authenticate(email: string, password: string): Promise<User | null> {",
    "decrypt(secret: Uint8Array): string",
    "password:string):boolean",
    "API_KEY=your-api-key",
    "ANTHROPIC_API_KEY=votre-clé-va-ici",
    'api_key: "xxxxxxxxxxxxxxxxxxxxxxxx"',
    "token: <token>",
    "TOKEN=${TOKEN} PASSWORD=$PASSWORD",
    "password=REDACTED",
    "apiKey: process.env.OPENAI_API_KEY",
    'key = os.environ["API_KEY"]',
    "Authorization: Bearer YOUR_API_KEY",
    "Authorization: Bearer $TOKEN",
    "http://user:pass@host/ and sk-... and sk-ant-...",
    'parser.add_argument("--api-key", help="the key"); parser.add_argument("--password")',
    "if line.startswith('-----BEGIN RSA PRIVATE KEY-----'):\n    raise ValueError('no key, please')",
    "[encrypted reasoning, 2048 bytes]",
    "def sign(self, private_key: ed25519.Ed25519PrivateKey, data: bytes) -> None: ...",
    "self.passwd = password_mgr\nusername, password = credentials\nreturn BasicAuth(password=auth[1])",
    ":param refresh_token: REQUIRED. The token.\n:param password: Database password",
    "cookie=function(e,t){if(e===``&&t===``)return!0;if(!e||!t)return!1;var n=e.startsWith(`.`)}",
    "privateKey: Uint8Array; key: ed25519PrivateKey, secret: Base64String\napiKey: Float32Array",
    "const GITHUB_TOKEN_PATTERN = /\\bgh[psu]_[A-Za-z0-9_]{20,}\\b/g;",
    "--- PASS: TestPath/#00 (0.00s)\n    --- PASS: TestPath/a1 (0.00s)",
    "password: 'Password123!', token: 'test-token-123', apiKey: 'sk-1234567890abcdef'",
    "postgres://postgres:postgres@localhost:5432/app\nPOSTGRES_PASSWORD=postgres\nDB_PASSWORD=changeme",
    "  --user-input-color:#00cc00\n  --pass: #34d399;",
    "'X-Review-Github-Token': 'ghp_user_token_123', \"pass_rate\":0,\"execution_error_count\":1",
    '{"password": "The password of the account, at least 8 characters"}',
    # Labels, versions and sample values.
    'token: "v1-stable", key: "prod-api-v1", secret_key = "my_service_v1", apiKey: "us-east-1-blue-2024"',
    'token = "not-base64!@#.also-not-base64!@#", secret = "fake-secret-91x7", auth_token: "dummy_a8b7c6d5e4"',
    "password='s3cr3t', passwd=\"P@55w0rd!\", secret='my-secret-key', token='abc123', key='12345678'",
    "API_KEY=test-token-123\nACCESS_TOKEN=invalid-token\nSECRET_KEY=GITHUBPERSONALACCESSTOKEN",
    "use ghp_FakePATTokenForTestingOnlyNotRealXXX and eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9...",
    # Where something is, and how much.
    'TOKEN_EXCHANGE_URL = "https://auth.host.test/oauth/v2/token"\nSUBJECT_TOKEN_TYPE = "urn:x:params:oauth:token-type:x509"',  # noqa: E501
    'WANTED_TOKENS = 4_000_000\nbudget_tokens: 1_000_000,\ntokens_reset="2026-09-21T14:13:50Z"\ntokens: 100::bigint',
    'self.request_token_arn = f"arn:aws:s3:{region}:{account}:async-request/mrap/{name}/{digest(16)}"',
    # A template; a test's outcome; strings of a list; a type in quotes.
    'block_token = f"deployment-{slugify(name)}-{slug}-token"; token = f"header.{payload_b64}.signature"',
    'overall ? \'PASS\' : \'FAIL\'; ["tests pass", "HTTP 200"], ["cat ~/.pgpass", ".pgpass"]',
    'private_key: "Optional[ec.EllipticCurvePrivateKey]" = None, apiKey: =Env.OPENAI_API_KEY',
    'Sequence("PASSWORD", "EXPIRE"), ("PASSWORD", "non-reserved"), get("pw-algorithm", "SHA-1"), GIT_ASKPASS: "echo"',
    "token_pattern = r'([0-9]{1,3}(?:st|nd))\\s\\b(\\w{2,})\\b'; name_token = r'[^\\W\\d]\\w*'",
    "token_range = '%d,%d-%d,%d:' % (1, 2)\n:type passphrase: :py:data:`bytes`",
    # TypeScript and JavaScript, minified too.
    "credentials:ae?te:void 0});c&&(H.for(E));this.currentToken=n,t.parser._processToken(t.parser.currentToken)}function po(e,t){",  # noqa: E501
    'children:"Input tokens:"}),o.jsx("span",{className:"gap-2"}),handler(e,t){var{parser:n,token:i}=e;return{type:`infix`}}',  # noqa: E501
    "interface Keys { privateKey: Uint8Array | null; secretKey?: Readonly<Record<string, CryptoKey>>; }",
    # Go, Rust, Swift, C#, Java, Kotlin, Python.
    'cfg := Config{Token: os.Getenv("X_TOKEN"), Secret: []byte(cfg.Secret2), APIKey: *flagKey1}',
    "pub struct Signer { secret_key: ed25519_dalek::SigningKey, token: Option<Arc<str>>, pw: Zeroizing<Vec<u8>> }",
    "let privateKey: Curve25519.Signing.PrivateKey = try .init(rawRepresentation: seed32)\nvar password: String? = nil",
    "if (token is A2AContinuationToken t) { options.ContinuationToken = agentContinuationToken!.InnerToken; }",
    "private final SecretKeySpec secretKey = new SecretKeySpec(keyBytes256, ALGORITHM_HS256);",
    "val apiKey: String = BuildConfig.API_KEY_V2; val token = prefs.getString(KEY_TOKEN_2, null)",
    'secret_key: SecretStr = Field(..., min_length=32)\npassword = getpass("Password 2: ")\ntoken: bytes = b""',
    "bls 0122345:" + drawn(36, HEX),
    "https://jo:a%20secret@host.test/ redis://[[username]:[password]]@host:6379/0",
]


def masked(text: str) -> str:
    tally: Counter[str] = Counter()
    new = REDACTOR.redact(text, tally)
    assert sum(tally.values()) == len(MARK.findall(new))
    return new


@pytest.mark.parametrize("kind", BY_FORM)
def test_a_secret_with_a_form_of_its_own_is_found_alone_and_in_lines_of_either_ending(kind: str) -> None:
    secret = BY_FORM[kind]
    mark = masked(secret)
    assert MARK.fullmatch(mark)
    assert mark.startswith(f"[SECRET:{kind}:")
    assert masked(f"It printed\n{secret}\nand went on.") == f"It printed\n{mark}\nand went on."
    assert masked(f"A=1\r\n{secret}\r\nB=2") == f"A=1\r\n{mark}\r\nB=2"


@pytest.mark.parametrize("around", IN_CONTEXT)
def test_a_secret_is_found_by_what_stands_around_it(around: str) -> None:
    secret, head, tail = IN_CONTEXT[around], *around.replace("{{", "{").replace("}}", "}").split("{}")
    for before, after in (("", ""), ("first\n", "\nlast"), ("first\r\n", "\r\nlast")):
        new = masked(before + head + secret + tail + after)
        assert secret not in new
        assert new.startswith(before + head + "[SECRET:")
        assert new.endswith(tail + after)


@pytest.mark.parametrize("sign", [".", ",", ")", "!"])
def test_a_token_at_the_end_of_a_sentence_has_the_mark_that_it_has_elsewhere(sign: str) -> None:
    token = "ghp_" + drawn(36)
    assert masked(f"Use GITHUB_TOKEN={token}{sign} Done") == f"Use GITHUB_TOKEN={masked(token)}{sign} Done"


@pytest.mark.parametrize(("value", "is_masked"), [("summer2024", True), ("uint8", False), ("password2", False)])
def test_a_word_with_a_number_is_a_password_where_it_is_no_type_and_no_variable(value: str, is_masked: bool) -> None:
    assert (value not in masked(f"user: app\npassword: {value}\n")) == is_masked


@pytest.mark.parametrize("around", IN_CONTEXT)
def test_a_secret_is_found_in_arguments_of_a_call_and_they_stay_json(around: str) -> None:
    text = around.replace("{{", "{").replace("}}", "}").replace("{}", IN_CONTEXT[around])
    arguments = json.dumps({"command": f"cat > file <<E\n{text}\nE", "timeout": 5})
    new = REDACTOR.redact_json(arguments)
    assert json.loads(new)["timeout"] == 5
    assert json.loads(new)["command"] == f"cat > file <<E\n{masked(text)}\nE"
    assert IN_CONTEXT[around] not in new


def test_a_value_that_only_its_json_key_gives_away_is_masked() -> None:
    secret = drawn(20)
    new = json.loads(REDACTOR.redact_json(json.dumps({"user": "me", "password": secret, "list": [secret[:3]]})))
    assert MARK.fullmatch(new["password"])
    assert new["user"] == "me"


def test_a_secret_that_json_escapes_is_masked() -> None:
    block = key_block()
    arguments = json.dumps({"content": json.dumps({"private_key": block, "note": 'a"b'})})
    new = json.loads(json.loads(REDACTOR.redact_json(arguments))["content"])
    assert new == {"private_key": masked(block), "note": 'a"b'}


def test_arguments_that_are_cut_are_masked_as_text() -> None:
    secret = BY_FORM["github_token"]
    assert secret not in REDACTOR.redact_json('{"a": "x", "command": "export T=' + secret)
    assert secret not in REDACTOR.redact_json("not json: " + secret)


@pytest.mark.parametrize("text", HARMLESS)
def test_hashes_identifiers_code_and_placeholders_stay(text: str) -> None:
    assert REDACTOR.redact(text) is text
    assert REDACTOR.redact_json(text) is text
    arguments = json.dumps({"output": text, "key": "value"})
    assert REDACTOR.redact_json(arguments) is arguments


def test_a_private_key_has_one_mark_however_it_is_printed() -> None:
    block = key_block("OPENSSH PRIVATE KEY")
    lines = block.split("\n")
    printed = [
        block,
        block.replace("\n", "\r\n"),
        block.replace("\n", "\\n"),
        "\n".join("    " + line for line in lines),
        "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1)),
        "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1)),
        "\n".join("+" + line for line in lines),
    ]
    marks = {MARK.search(masked(text)).group() for text in printed}  # type: ignore[union-attr]
    assert len(marks) == 1
    assert all(lines[3] not in masked(text) for text in printed)


@pytest.mark.parametrize("size", [120, 400, 700])
def test_a_private_key_without_its_end_is_masked(size: int) -> None:
    for text in (
        key_block()[:size],
        key_block("PGP PRIVATE KEY BLOCK")[:size],
        key_block().replace("\n", "\\n")[:size],
    ):
        assert masked(f"$ head key\n{text}").startswith("$ head key\n[SECRET:private_key:")
        assert text[60:100] not in masked(f"$ head key\n{text}")


def test_the_same_secret_has_the_same_mark_in_every_context_and_process() -> None:
    secret = drawn(40)
    marks = {
        MARK.search(Redactor(key="").redact(text)).group()  # type: ignore[union-attr]
        for text in (f"API_KEY={secret}", f"Authorization: Bearer {secret}", f"https://u:{secret}@host/")
    }
    assert len(marks) == 1
    assert marks == {pickle.loads(pickle.dumps(REDACTOR)).redact(f"API_KEY={secret}").removeprefix("API_KEY=")}


def test_marks_do_not_change_between_versions() -> None:
    """These are in stores: another derivation must be a decision, not a side effect."""
    assert REDACTOR.redact("DB_PASSWORD=" + "hunter" + "2hunter2") == "DB_PASSWORD=[SECRET:credential:961d20]"
    assert REDACTOR.redact("ghp_" + "aB3" * 12) == "[SECRET:github_token:0869f8]"


def test_an_operators_key_changes_every_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "API_KEY=" + drawn(32) + "\n" + BY_FORM["github_token"]
    monkeypatch.setenv(KEY_VARIABLE, "of our own")
    keyed = Redactor()
    assert keyed.redact(text) == Redactor(key="of our own").redact(text)
    assert not set(MARK.findall(keyed.redact(text))) & set(MARK.findall(REDACTOR.redact(text)))
    assert keyed.version != REDACTOR.version
    monkeypatch.delenv(KEY_VARIABLE)
    assert Redactor().redact(text) == REDACTOR.redact(text)


def test_a_pickled_redactor_carries_no_secret() -> None:
    redactor, secret = Redactor(key=""), drawn(32)
    redactor.redact("API_KEY=" + secret)
    assert secret.encode() not in pickle.dumps(redactor)


@pytest.mark.parametrize("text", [*IN_CONTEXT, *HARMLESS])
def test_redacting_again_changes_nothing(text: str) -> None:
    once = masked(text.replace("{{", "{").replace("}}", "}").replace("{}", IN_CONTEXT.get(text, "")))
    assert REDACTOR.redact(once) is once
    found = MARK.search(once)
    wrapped = json.dumps({"output": once, "password": found.group() if found else ""})
    assert REDACTOR.redact_json(wrapped) is wrapped


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(value=JSON, name=st.text(max_size=8), before=st.text(max_size=8), around=st.sampled_from(sorted(IN_CONTEXT)))
def test_valid_json_stays_valid_and_all_else_in_it_stays(value: object, name: str, before: str, around: str) -> None:
    secret = IN_CONTEXT[around]
    text = around.replace("{{", "{").replace("}}", "}").replace("{}", secret)
    whole = {"rest": value, "x" + name: [f"{before}\n{text}\n"]}
    for written in (json.dumps(whole), json.dumps(whole, ensure_ascii=False, indent=1)):
        new = REDACTOR.redact_json(written)
        assert secret not in new
        read = json.loads(new)
        assert read["rest"] == value
        assert read["x" + name][0].startswith(before + "\n")
        assert REDACTOR.redact_json(new) is new


@settings(deadline=None, max_examples=100)
@given(text=st.text(max_size=200))
def test_any_text_is_taken(text: str) -> None:
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == once
    REDACTOR.redact_json(text)
    assert len(REDACTOR.redact_excerpt(text, 50)) <= max(50, len(once)) or "[SECRET:" in once


def test_lone_surrogates_are_taken_and_kept_as_escapes() -> None:
    secret = BY_FORM["github_token"]
    assert REDACTOR.redact(f"\ud83d {secret} \ud83d").count("\ud83d") == 2
    arguments = f'{{"a": "\\ud83d é {secret}"}}'
    new = REDACTOR.redact_json(arguments)
    new.encode()
    assert json.loads(new)["a"].startswith("\ud83d é [SECRET:")


def test_looking_for_keywords_first_loses_no_match() -> None:
    """Each rule is tried on every example in several cases, whether its keywords are there or not."""
    tried = set()
    for around, secret in IN_CONTEXT.items():
        text = around.replace("{{", "{").replace("}}", "}").replace("{}", secret)
        for shown in (text, text.upper(), text.lower(), text.swapcase(), "é" + text):
            for number, rule in enumerate(RULES):
                if next(rule.pattern.finditer(shown), None):
                    tried.add(number)
                    assert rule in rules_for(shown), (rule.keywords, around)
    assert tried == set(range(len(RULES))), "a rule without an example"


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_what_a_rule_can_match_has_one_of_its_keywords(data: st.DataObject) -> None:
    rule = data.draw(st.sampled_from(RULES))
    text = data.draw(st.from_regex(rule.pattern))
    assert rule in rules_for(text)


def test_no_planted_secret_passes_in_any_place() -> None:
    """The figure of docs/redaction.md; ``python -m tests.flows.planted`` prints what passes."""
    number, through = planted.passed(REDACTOR)
    assert through == []
    assert number > 15_000


def test_a_value_that_reads_like_a_name_is_masked_only_where_it_is_assigned() -> None:
    """A session uses such words for other things, and code that holds them must stay."""
    texts = ("DB_PASSWORD=Uint" + "8Array", "function sign(key: Uint8Array): Uint8Array")
    new, tally = REDACTOR.redact_transcript(
        Transcript("s", tuple(Message("user", text, seq=at) for at, text in enumerate(texts)))
    )
    assert tally == {"credential": 1}
    assert new.messages[1].text == texts[1]


def session() -> Transcript:
    """A key is read from a file, echoed alone, put into arguments, a summary and the title."""
    secret, mail = drawn(24), "someone@example.org"
    session.secret = secret  # type: ignore[attr-defined]
    call = ToolCall("call_1", "bash", json.dumps({"command": f"echo {secret} é\n", "n": 1}))
    quiet = ToolCall("call_2", "bash", '{"command":  "ls"}')
    messages = (
        Message("user", f"use {secret[:12]} {mail}", seq=0, tokens=5),
        Message("assistant", "reading", reasoning=f"so {secret} it is", tool_calls=(quiet, call), seq=1),
        Message("tool", f"SERVICE_API_KEY={secret}\nPORT=80", tool_call_id="call_2", tool_name=secret, seq=2, tokens=9),
        Message("tool", f"{secret}{secret} x{secret}", tool_call_id="call_1", seq=3),
    )
    recorded = RecordedCompaction(3, summary=f"The key is {secret}.", cleared_text=f"[{secret}]")
    plain = RecordedCompaction(2, summary="nothing here")
    return Transcript("s", messages, title=f"Use {secret[:9]}", cwd=f"/{secret}", compactions=(plain, recorded))


def test_a_secret_found_once_is_masked_everywhere_in_its_session() -> None:
    old = session()
    secret: str = session.secret  # type: ignore[attr-defined]
    new, tally = REDACTOR.redact_transcript(old)
    mark = REDACTOR.redact(f"API_KEY={secret}").removeprefix("API_KEY=")
    assert new.messages[2].text == f"SERVICE_API_KEY={mark}\nPORT=80"
    assert new.messages[3].text == f"{mark}{mark} x{mark}"
    assert new.messages[1].reasoning == f"so {mark} it is"
    assert json.loads(new.messages[1].tool_calls[1].arguments) == {"command": f"echo {mark} é\n", "n": 1}
    assert new.compactions[1].summary == f"The key is {mark}."
    assert new.compactions[1].cleared_text == f"[{mark}]"
    assert new.title == f"Use {mark}"
    assert tally == {"credential": 8}
    assert new.messages[2].tokens is None


def test_what_holds_no_secret_is_the_same_object() -> None:
    old = session()
    new, _ = REDACTOR.redact_transcript(old)
    assert new.messages[0] is old.messages[0]
    assert new.messages[1].tool_calls[0] is old.messages[1].tool_calls[0]
    assert new.compactions[0] is old.compactions[0]
    assert (new.cwd, new.messages[2].tool_name, new.messages[2].tool_call_id) == (
        old.cwd,
        old.messages[2].tool_name,
        "call_2",
    )
    again, tally = REDACTOR.redact_transcript(new)
    assert again is new
    assert tally == {}
    clean = replace(old, messages=old.messages[:1], compactions=(), title="x")
    assert REDACTOR.redact_transcript(clean)[0] is clean


def test_a_short_or_wordy_password_is_masked_only_where_it_is_assigned() -> None:
    word = "sword" + "fish"
    texts = (f"postgres://app:{word}@db/app", f"{word} is a fish", "PASSWORD=ab1!" + "cd\nab1!" + "cd again")
    old = Transcript("s", tuple(Message("user", text, seq=at) for at, text in enumerate(texts)))
    new, _ = REDACTOR.redact_transcript(old)
    assert new.messages[0].text.startswith("postgres://app:[SECRET:credential:")
    assert new.messages[1] is old.messages[1]
    assert new.messages[2].text.endswith("\nab1!" + "cd again")


@pytest.mark.parametrize("value", ["q7-Zx1" + "-Lk2", "aB3" * 3, "}),o.jsx(7" + "},{"])
def test_a_value_of_little_entropy_is_masked_only_where_it_is_assigned(value: str) -> None:
    texts = (f"DB_PASSWORD={value}", f"then {value} stands for itself")
    old = Transcript("s", tuple(Message("user", text, seq=at) for at, text in enumerate(texts)))
    assert REDACTOR.redact_transcript(old)[0].messages[1] is old.messages[1]


def test_a_quote_within_a_value_under_its_key_does_not_end_it() -> None:
    secret = drawn(6) + '"' + drawn(6) + "\\" + drawn(6)
    new = json.loads(REDACTOR.redact_json(json.dumps({"a": [{"db_password": secret}]})))
    assert MARK.fullmatch(new["a"][0]["db_password"])


def test_url_encoded_text_is_read_decoded_and_the_rest_of_it_stays() -> None:
    secret = drawn(24)
    for encode in (quote, quote_plus):
        new = masked(
            "https://host/?a=1%2B1&state=" + encode(f'{{"db": "x", "password": "{secret}"}}', safe="") + "&z=%41"
        )
        assert secret not in new
        assert new.startswith("https://host/?a=1%2B1&state=%7B")
        assert new.endswith("%22%7D&z=%41")


def test_lines_of_a_key_are_masked_where_they_stand_without_it() -> None:
    block = key_block()
    texts = (block, "$ sed -n 4,5p key\n" + "\n".join(block.split("\n")[3:5]))
    new, tally = REDACTOR.redact_transcript(
        Transcript("s", tuple(Message("tool", text, seq=at) for at, text in enumerate(texts)))
    )
    assert MARK.sub("#", new.messages[1].text) == "$ sed -n 4,5p key\n#\n#"
    assert tally == {"private_key": 3}


def test_secrets_of_one_session_do_not_leak_into_the_next() -> None:
    redactor = Redactor(key="")
    redactor.redact_transcript(session())
    secret: str = session.secret  # type: ignore[attr-defined]
    other = Transcript("t", (Message("user", f"plain {secret}", seq=0),))
    assert redactor.redact_transcript(other)[0] is other


def test_an_excerpt_is_masked_before_it_is_cut() -> None:
    secret = BY_FORM["github_token"]
    for before in range(150, 202, 3):
        text = '{"type": "user", "text": "' + "a " * before + secret + '"'
        excerpt = REDACTOR.redact_excerpt(text)
        assert len(excerpt) <= 200
        assert "ghp_" not in excerpt
        assert "[SECRET" not in MARK.sub("", excerpt)


def test_an_excerpt_that_came_cut_loses_its_last_run() -> None:
    text = ('{"text": "' + "a " * 200)[:180] + BY_FORM["github_token"]
    excerpt = REDACTOR.redact_excerpt(text[:200])
    assert excerpt.endswith("a …")
    whole = "b" * 190 + " end"
    assert REDACTOR.redact_excerpt(whole) == whole


@pytest.mark.timeout(240)
@pytest.mark.parametrize("unit", ["a", " ", "\n", '"', '\\"', "key=", '{"a":', "--", "password: ", "[SECRET:", "é"])
def test_ten_million_characters_are_read_in_time_that_grows_with_them(unit: str) -> None:
    """A pattern that goes back over what it has read would take days here; the timeout only ends it."""
    text = unit * (10_000_000 // len(unit))
    assert REDACTOR.redact(text) is text
    part = text[:300_000]
    assert REDACTOR.redact_json(part) is part


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "unit",
    ["eyJ", "eyJ" * 2000 + " ", "eyJhbGciOi.", "-----BEGIN PRIVATE KEY-----\n", "?token=", "--password ", "<a",
     "-----BEGIN PRIVATE KEY-----\n" + "+" * 99, "<password>", 'key="token" ', "machine a login ", "cookie:a=b;",
     "mysql ", "http://a:", "docker login ", "password is ", "AccountKey=", "sk-ant-", "token=!",
     "password='\\\\'", "pass_", "secret: ", "1:-> ", "\\\\n", "-u a:",
     "cookie a=", "://a:b", "a-1-", "1\n", "authorization: ", "machine a", "name: secret ", "${", "%3D", "token=%26",
     "%3Dtoken=%2525", "%20", "a,b?", "a-b_", "<a.b:"],
)  # fmt: skip
def test_hostile_repeats_are_read_in_time_that_grows_with_them(unit: str) -> None:
    text = unit * (600_000 // len(unit))
    found = find(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)


def test_text_that_is_encoded_many_times_is_decoded_once() -> None:
    text = "".join("%" + "25" * number + "3D" for number in range(700))
    assert REDACTOR.redact(text) is text


def test_a_token_longer_than_any_run_of_data_is_found_and_data_is_not() -> None:
    long = f"{part({'alg': 'RS256', 'x5c': drawn(LONGEST_RUN)})}.{part({'sub': drawn(9)})}.{drawn(342)}"
    assert masked(f"id_token {long} end") == f"id_token {masked(long)} end"
    assert MARK.fullmatch(masked(long))
    data = base64.b64encode(DRAW.randbytes(40_000)).decode()
    assert REDACTOR.redact("secret=" + data) == "secret=" + data
    beside = f"image {data} API_KEY={drawn(32)}"
    assert masked(beside).startswith(f"image {data} API_KEY=[SECRET:")
