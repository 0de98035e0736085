"""What the detector has no rule for, and what looks like a credential and is none.

The shapes are the providers' and tools' own documented ones. Every pattern is anchored at a literal and bounded, so
that its work grows with the text alone; its ``keywords`` are parts of every text that it can match, so that looking for
them first loses nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

CREDENTIAL = "credential"
"""Kind of what only its surroundings give away: a password, a bearer value, a session cookie."""

_FLAGS = re.IGNORECASE | re.ASCII
_PLACEHOLDER = re.compile(
    r"""\$[{(A-Z_]|\{\{|\{[\w.]*\}|<[^>]*>|%\(?[a-z_]*\)?s\b|\*{3}|x{4}|\.{3}|…
    |\byour[-_ ]|[-_ ]here\b|example|placeholder|change[-_ ]?me|redacted|removed|dummy|replace[-_ ]|insert[-_ ]
    |\btodo\b|masked|process\.env|os\.environ|getenv|secret:""",
    re.IGNORECASE | re.VERBOSE,
)
_WORDS = re.compile(r"[^\W\d_]+(?:[-_. /][^\W\d_]+)*")
_CODE = re.compile(r"[(!&*]*[A-Za-z_$][A-Za-z_$]*(?:(?:\?\.|\.|->|::)[A-Za-z_$]+|\(|\[|\?)[^\s\d]*")
_NAME = re.compile(r"[A-Za-z_$]+[.]?")
_SNAKE = re.compile(r"[a-z$]*[a-z0-9]*(?:_[a-z]+[a-z0-9]?)+[)\]}]*|[A-Za-z_$]+[)\]}]+")
_TYPED = re.compile(r"(?:[A-Za-z_$]+|[A-Z][a-z]+\d{1,2}[A-Z][a-z]+)[)\]}]+:[^\s\d]*")
_OPERATOR = re.compile(r"&&|\|\||===?|=>|^\(|[\w\]]\[|\w\((?!.*\d.*\d)|\)[.{;]")
_TYPE_NAME = re.compile(r"[\w.]*[a-z0-9](?:Key|Token|Secret|Credential)s?(?:Types?)?")
_CODE_AFTER = re.compile(r"\s?[,;)}\]|&?.(]|[ ]+[A-Za-z]")
_SAYS_WHAT_IT_IS = re.compile(r"key|token|secret|passw|credential|auth", re.IGNORECASE)
_PATH = re.compile(r"\w+(?:[./-]\w+)*")
_PASSWORD_NAME = re.compile(r"(?:pass|pwd)[a-z_-]*[\"'\]\\]*\s*[:=]", _FLAGS)
_LETTERS_ONLY_SECRET = 24
"""Characters from which a word of letters alone can be a random value."""
_LONGEST_PASSPHRASE = 4
"""Words; what is longer describes the field."""
_PASSWORD_WORDS = frozenset({"pass", "passwd", "password", "pwd", "secret", "token", "my-token"})
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", _FLAGS)


@dataclass(frozen=True, eq=False)
class Rule:
    """One shape of credential."""

    kind: str
    keywords: tuple[str, ...]
    """Lower case; one of them is in every text that the pattern matches."""
    pattern: re.Pattern[str]
    """Its group ``v`` is the secret."""
    accept: Callable[[str], bool] = lambda value: True
    within: re.Pattern[str] | None = None
    """Finds the secrets within group ``v``, as its own group ``v``."""

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of every secret of this shape."""
        for found in self.pattern.finditer(text):
            spans = [found] if self.within is None else self.within.finditer(text, *found.span("v"))
            for one in spans:
                if self.accept(one.group("v")):
                    yield one.span("v")


def entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values()) if value else 0.0


def is_opaque(value: str) -> bool:
    """Whether a value looks drawn at random: 16 characters or more, digits and letters, 3 bits per character."""
    has_both = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= 16 and has_both and entropy(value) >= 3 and not _UUID.fullmatch(value) and is_value(value)


def is_password(value: str) -> bool:
    """Whether a value can be a chosen password: letters, and a digit, a sign or capitals anywhere; no code."""
    has_sign = any(c.isdigit() for c in value) or bool(re.search(r"[^\w.\-/]", value))
    n_changes = sum(one.isupper() != other.isupper() for one, other in pairwise(value))
    return (has_sign or 3 * n_changes >= len(value)) and any(c.isalpha() for c in value) and is_value(value)


def is_value(value: str) -> bool:
    """Whether a value is no placeholder and no expression in code."""
    return not _PLACEHOLDER.search(value) and not _CODE.fullmatch(value)


def is_url_password(value: str) -> bool:
    """Whether the password in a URL is one, and not the word for it (``user:pass@host``)."""
    return not _PLACEHOLDER.search(value) and value.lower() not in _PASSWORD_WORDS


def is_secret_in_context(text: str, start: int, end: int) -> bool:
    """Whether what an assignment assigns is a value, and not a placeholder, a name in code or a few words.

    Args:
        text: The text around it.
        start: Where the value starts.
        end: Where it ends.
    """
    value = text[start:end]
    if _PLACEHOLDER.search(value) or len(value.split()) > _LONGEST_PASSPHRASE:
        return False
    if text[start - 1 : start] not in {'"', "'", "`"} and _is_code(text, start, end):
        return False
    is_password_field = _PASSWORD_NAME.search(text, max(0, start - 40), start) is not None
    n_digits = sum(c.isdigit() for c in value)
    if _SAYS_WHAT_IT_IS.search(value) and _PATH.fullmatch(value) and n_digits <= (0 if is_password_field else 4):
        return False
    is_words = _WORDS.fullmatch(value.rstrip(".")) is not None
    return is_password_field or not is_words or (value.isalpha() and len(value) >= _LETTERS_ONLY_SECRET)


def _is_code(text: str, start: int, end: int) -> bool:
    """Whether a value without quotes is an expression, a name, or the first word of a sentence."""
    value = text[start:end]
    if _OPERATOR.search(value) or any(form.fullmatch(value) for form in (_CODE, _SNAKE, _TYPE_NAME, _TYPED)):
        return True
    is_name = _NAME.fullmatch(value) is not None
    return is_name and (_CODE_AFTER.match(text, end) is not None or text[start - 2 : start] == "= ")


def _is_mixed(value: str) -> bool:
    """Whether prose is unlikely to hold the word: a digit, a small letter, and a capital or a sign inside."""
    inner = value.rstrip(".!?")
    has_digit, has_small = any(c.isdigit() for c in inner), any(c.islower() for c in inner)
    return has_digit and has_small and (inner != inner.lower() or not inner.isalnum()) and is_password(inner)


def _rule(
    kind: str, keywords: str | tuple[str, ...], *pattern: str, accept: Callable[[str], bool] = lambda value: True
) -> Rule:
    words = tuple(keywords.split()) if isinstance(keywords, str) else keywords
    return Rule(kind, words, re.compile("".join(pattern), _FLAGS), accept)


_BARE = r"[^\s\"'<>`\\]"
_QUERY = r"(?:(?:access|auth|api|refresh|id|client|session|private)[_-]?)?(?:token|key|secret|password|sig|signature)"
_SIGNED = r"X-Amz-(?:Signature|Security-Token)|X-Goog-Signature"
_LOGIN = r"\b(?:docker|podman|helm|az|oc)\b[^\n;|&]{0,40}?\blogin\b[^\n;|&]{0,60}?\s-p"
_IN_PROSE = tuple(
    f"{word} {verb}" for word in ("password", "phrase", "secret", "token", "key") for verb in ("is", "was")
)
_FIELD = r"(?:password|passwd|secret|api_?key|token)"

RULES: tuple[Rule, ...] = (
    _rule("jwt", "eyj", r"(?<![\w-])(?P<v>eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?)"),
    _rule("anthropic_api_key", "sk-ant-", r"(?<![\w-])(?P<v>sk-ant-[a-z]{2,10}\d\d-[\w-]{60,120})"),
    _rule("age_secret_key", "age-secret-key-1", r"\b(?P<v>AGE-SECRET-KEY-1[0-9A-Z]{58})\b"),
    _rule(
        "slack_webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<v>T[A-Z0-9]{6,14}/[A-Z0-9]{6,20}/[A-Z0-9/]{18,90})",
    ),
    _rule("discord_webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/(?P<v>\d{15,22}/[\w-]{50,100})"),
    _rule(
        "azure_shared_key",
        "accountkey sharedaccesskey",
        r"\b(?:Account|SharedAccess)Key=(?P<v>[A-Za-z0-9+/]{42,88}={0,2})",
    ),
    _rule(
        CREDENTIAL,
        "token= key= secret= password= sig= signature=",
        rf"[?&](?:{_QUERY}|{_SIGNED})=",
        r"(?P<v>[^&\s\"'<>#`|)\\]{16,4096})",
        accept=is_opaque,
    ),
    _rule(
        CREDENTIAL,
        "-token -secret -key apikey accesskey",
        r"--(?<![\w-]--)(?:[a-z]{1,12}-){0,3}(?:api-?key|token|secret|access-?key)(?:=|[ \t]{1,4})[\"']?",
        rf"(?P<v>{_BARE}{{16,4096}})",
        accept=is_opaque,
    ),
    _rule(
        CREDENTIAL,
        "-pass -pwd",
        r"--(?<![\w-]--)(?:[a-z]{1,12}-){0,3}(?:password|passwd|pass|pwd)(?:=|[ \t]{1,4})[\"']?",
        rf"(?P<v>{_BARE}{{6,128}})",
        accept=is_password,
    ),
    _rule(
        CREDENTIAL,
        "mysql mariadb",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n;|&]{0,80}?\s-p[\"']?",
        rf"(?P<v>(?!-){_BARE}{{6,128}})",
        accept=is_value,
    ),
    _rule(
        CREDENTIAL,
        "sshpass login redis-cli",
        rf"(?:\bsshpass[ \t]{{1,4}}-p|{_LOGIN}|\bredis-cli\b[^\n;|&]{{0,60}}?\s-a)[ \t]{{0,4}}[\"']?",
        rf"(?P<v>(?!-){_BARE}{{6,128}})",
        accept=is_value,
    ),
    _rule(
        CREDENTIAL,
        "pgpassword mysql_pwd rediscli_auth",
        rf"\b(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH)=[\"']?(?P<v>{_BARE}{{4,128}})",
        accept=is_value,
    ),
    _rule(
        CREDENTIAL,
        "machine",
        r"\bmachine[ \t]{1,9}\S{1,80}\s{1,9}login\s{1,9}\S{1,80}\s{1,9}password\s{1,9}(?P<v>\S{6,256})",
        accept=is_password,
    ),
    _rule(
        CREDENTIAL,
        "password> passwd> secret> key> token>",
        rf"<[\w:.-]{{0,40}}?{_FIELD}>(?P<v>[^<>\s]{{6,512}})</",
        accept=is_password,
    ),
    _rule(
        CREDENTIAL,
        "value=",
        rf"\bkey=\"[\w:.-]{{0,40}}?{_FIELD}\"\s{{1,4}}value=\"(?P<v>[^\"\s]{{8,512}})\"",
        accept=is_password,
    ),
    _rule(
        CREDENTIAL,
        _IN_PROSE,
        r"\b(?:password|passphrase|secret|token|api[ _-]?key) (?:is|was)(?: now)?:? [\"'`]?",
        r"(?P<v>[^\s\"'`,;()<>\\]{8,512})",
        accept=_is_mixed,
    ),
    _rule(
        CREDENTIAL,
        ("api key",),
        r"\bapi[ ]keys?[ ]?[:=] {0,2}[\"'`]?(?P<v>[^\s\"'`,;()<>\\]{16,512})",
        accept=is_opaque,
    ),
    Rule(
        CREDENTIAL,
        ("cookie",),
        re.compile(r"\b(?:set-)?cookie[\"']?[:=][ \"']{0,3}(?P<v>[^\r\n\"'\\]{16,8192})", _FLAGS),
        is_opaque,
        re.compile(r"[\w.-]{1,64}=(?P<v>[\w%+/=.~:-]{16,4096})", _FLAGS),
    ),
)
"""The shapes beside the detector's own: each was given to the detector, which found nothing."""

_RULES_OF = {
    word: frozenset(rule for rule in RULES if word in rule.keywords) for rule in RULES for word in rule.keywords
}
_PARTS = ("key", "token", "pass", "secret", "mysql", "redis")
_GATES: dict[bytes, list[tuple[bytes, frozenset[Rule]]]] = {}
for _word, _rules in _RULES_OF.items():
    _gate = next((part for part in _PARTS if part in _word), _word)
    _GATES.setdefault(_gate.encode(), []).append((_word.encode(), _rules))


def rules_for(text: str) -> list[Rule]:
    """The rules that can match a text at all, in their order: one of their keywords is in it."""
    lower = text.encode("utf-8", "surrogatepass").lower()  # bytes are searched several times as fast as text
    hits = [
        rules
        for gate, words in _GATES.items()
        if gate in lower
        for word, rules in words
        if word is gate or word in lower
    ]
    if not hits:
        return []
    wanted = frozenset[Rule]().union(*hits)
    return [rule for rule in RULES if rule in wanted]
