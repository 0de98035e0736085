"""Secrets that are made up while the tests run, and text that looks like them."""

from __future__ import annotations

import base64
import json
import random
import string
from collections import Counter

from flows.redaction import Redactor
from flows.redaction.marks import MARK

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
    "the password is stored by argon2id (see #4711), token rotation since 2f58f9e0 in release 2026-03-01-rc2",
    "reset the password at https://host.test/reset/4f9d2c7ab1; the token docs are in docs/auth/tokens-v2.md:120",
    "token check\n0b5c1d2e-7f3a-4c1d-9e2f-a1b2c3d4e5f6 is the run",
    "better-auth@1.6.11 renews the secret, k8s-pipeline2 reads it",
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
