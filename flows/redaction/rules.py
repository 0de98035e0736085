"""What the detector has no rule for, and what looks like a credential and is none.

The shapes are the providers' and tools' own documented ones. Every pattern is anchored at a literal and bounded, so
that its work grows with the text alone; its ``keywords`` are parts of every text that it can match, so that looking for
them first loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from flows.redaction.values import is_chosen, is_code, is_name, is_placeholder, is_random, is_sequence, is_stock

CREDENTIAL = "credential"
"""Kind of what only its surroundings give away: a password, a bearer value, a session cookie."""

_FLAGS = re.IGNORECASE | re.ASCII


@dataclass(frozen=True, eq=False)
class Rule:
    """One shape of credential."""

    kind: str
    keywords: tuple[str, ...]
    """Lower case; one of them is in every text that the pattern matches."""
    pattern: re.Pattern[str]
    """Its group ``v`` is the secret, or ``w`` where it stands in quotes."""
    accept: Callable[[str], bool] = lambda value: True
    is_line: bool = False
    """Whether it is a line by itself, which may look like a line of ``grep -n``."""
    within: re.Pattern[str] | None = None
    """Finds the secrets within group ``v``, as its own group ``v``."""

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of every secret of this shape."""
        for found in self.pattern.finditer(text):
            spans = [found] if self.within is None else self.within.finditer(text, *found.span("v"))
            for one in spans:
                group = "v" if one["v"] is not None else "w"
                if self.accept(one[group]):
                    yield one.span(group)


def is_url_password(value: str) -> bool:
    """Whether the password in a URL is real, and not a placeholder (``user:pass@host``)."""
    return sum(c.isalnum() for c in value) >= 3 and not is_placeholder(value) and not is_stock(unquote(value))


def _is_login(value: str) -> bool:
    """Whether the text after ``-u name:`` is a password, and not a group or an image's version."""
    return is_chosen(value, takes_words=True) and (not is_name(value) or any(c.isdigit() for c in value))


def _is_argument(value: str) -> bool:
    """Whether the text after ``--password`` is a password, and not the next word of a sentence."""
    return is_chosen(value.rstrip(".,;:)")) and is_chosen(value)


def _is_session(value: str) -> bool:
    """Whether a cookie's value is one of a session, and not a domain or a name."""
    return is_chosen(value) and not is_name(value.strip("."))


def _is_header_value(value: str) -> bool:
    """Whether the value of an authorization header is a credential, and not a word of a sentence."""
    return is_random(value) or (len(value) >= 8 and is_chosen(value) and not is_code(value))


def _is_mixed(value: str) -> bool:
    """Whether prose is unlikely to hold the word: a digit, a small letter, and a capital or a sign inside."""
    inner = value.rstrip(".!?")
    has_digit, has_small = any(c.isdigit() for c in inner), any(c.islower() for c in inner)
    return has_digit and has_small and (inner != inner.lower() or not inner.isalnum()) and is_chosen(inner)


def _is_mixed_key(value: str) -> bool:
    """The same where a type of code may stand (``if (token is A2AToken)``)."""
    return _is_mixed(value) and not is_name(value)


def _is_random_value(value: str) -> bool:
    return not is_sequence(value)


def _rule(
    kind: str, keywords: str | tuple[str, ...], *pattern: str, accept: Callable[[str], bool] = lambda value: True
) -> Rule:
    words = tuple(keywords.split()) if isinstance(keywords, str) else keywords
    return Rule(kind, words, re.compile("".join(pattern), _FLAGS), accept)


_GAP = r"[\s#/*]{1,200}"
"""Between two parts that may stand in two lines."""
_BARE = r"[^\s\"'<>`\\]"
_ARGUMENT = (
    r"(?:(?P<q>\\{0,8}[\"'])(?P<w>(?:(?!(?P=q))[^\r\n]){4,256}+)(?P=q)"
    r"|(?P<v>(?!-)(?:[^\s\"'`\\]|[\"'](?=\w)|\\(?![nrt\"'\\])){4,256}))"
)
"""A word of a command: in quotes, escaped or not, or without."""
_QUERY = r"(?:(?:access|auth|api|refresh|id|client|session|private)[_-]?)?(?:token|key|secret|password|sig|signature)"
_SIGNED = r"X-Amz-(?:Signature|Security-Token)|X-Goog-Signature"
_LOGIN = r"\b(?:docker|podman|helm|az|oc)\b[^\n;|&]{0,40}?\blogin\b[^\n;|&]{0,60}?\s-p"
_IN_PROSE = tuple(
    f"{word} {verb}" for word in ("password", "phrase", "secret", "token", "key") for verb in ("is", "was")
)
_FIELD = r"(?:password|passwd|secret|api_?key|token)"

_COOKIE = re.compile(
    r"[\w.-]{0,64}(?:sess|sid|auth|token|jwt|csrf|login)[\w.-]{0,32}(?:=|%3D)(?P<v>[\w%+/=.~:!$&*@-]{8,4096})"
    r"|[\w.-]{1,64}(?:=|%3D)(?P<w>[\w%+/=.~:-]{16,4096})",
    _FLAGS,
)

RULES: tuple[Rule, ...] = (
    _rule("jwt", "eyj", r"(?<![\w-])(?P<v>eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?)"),
    _rule(
        "anthropic_api_key",
        "sk-ant-",
        r"(?<![\w-])(?P<v>sk-ant-[a-z]{2,10}\d\d-[\w-]{60,120})",
        accept=_is_random_value,
    ),
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
        accept=is_random,
    ),
    _rule(
        CREDENTIAL,
        "-token -secret -key apikey accesskey",
        r"--(?<![\w-]--)(?:[a-z]{1,12}-){0,3}(?:api-?key|token|secret|access-?key)(?:=|[ \t]{1,4})[\"']?",
        rf"(?P<v>{_BARE}{{16,4096}})",
        accept=is_random,
    ),
    _rule(
        CREDENTIAL,
        "-pass -pwd",
        r"--(?<![\w-]--)(?:[a-z]{1,12}-){0,3}(?:password|passwd|pass|pwd)(?:=|[ \t]{1,4})",
        _ARGUMENT,
        accept=_is_argument,
    ),
    _rule(
        CREDENTIAL,
        "mysql mariadb",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n;|&]{0,80}?\s-p",
        _ARGUMENT,
        accept=is_url_password,
    ),
    _rule(
        CREDENTIAL,
        "sshpass login redis-cli",
        rf"(?:\bsshpass[ \t]{{1,4}}-p|{_LOGIN}|\bredis-cli\b[^\n;|&]{{0,60}}?\s-a)[ \t]{{0,4}}",
        _ARGUMENT,
        accept=is_url_password,
    ),
    _rule(
        CREDENTIAL,
        "pgpassword mysql_pwd rediscli_auth",
        r"(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH)=",
        _ARGUMENT,
        accept=is_url_password,
    ),
    _rule(
        CREDENTIAL,
        "machine",
        rf"\bmachine[ \t]{{1,9}}\S{{1,80}}{_GAP}login\s{{1,9}}\S{{1,80}}{_GAP}",
        r"password\s{1,9}(?P<v>(?![\"'\\])\S{4,256})",
        accept=is_url_password,
    ),
    _rule(
        CREDENTIAL,
        "password> passwd> secret> key> token>",
        rf"<[\w:.-]{{0,40}}?{_FIELD}>(?P<v>[^<>\s]{{6,512}})</",
        accept=is_chosen,
    ),
    _rule(
        CREDENTIAL,
        "value=",
        rf"\bkey=\"[\w:.-]{{0,40}}?{_FIELD}\"\s{{1,4}}value=\"(?P<v>[^\"\s]{{8,512}})\"",
        accept=is_chosen,
    ),
    _rule(
        CREDENTIAL,
        _IN_PROSE,
        r"\b(?:password|passphrase) (?:is|was)(?: now)?:? [\"'`]?",
        r"(?P<v>[^\s\"'`,;()<>\\]{8,512})",
        accept=_is_mixed,
    ),
    _rule(
        CREDENTIAL,
        _IN_PROSE,
        r"\b(?:secret|token|api[ _-]?key) (?:is|was)(?: now)?:? [\"'`]?",
        r"(?P<v>[^\s\"'`,;()<>\\]{8,512})",
        accept=_is_mixed_key,
    ),
    _rule(
        CREDENTIAL,
        ("api key",),
        r"\bapi[ ]keys?[ ]?[:=] {0,2}[\"'`]?(?P<v>[^\s\"'`,;()<>\\]{16,512})",
        accept=is_random,
    ),
    Rule(
        CREDENTIAL,
        ("cookie",),
        re.compile(
            r"cookie(?:\\{0,8}[\"']?[ \t]{0,4}(?:[:=]|%3A)|[ \t])[ \t]{0,4}(?:%20)?\\{0,8}[\"']?(?P<v>[^\r\n\"'\\]{8,8192})",  # noqa: E501
            _FLAGS,
        ),
        _is_session,
        within=_COOKIE,
    ),
    Rule(
        CREDENTIAL,
        ("-b",),
        re.compile(r"-(?<![\w-]-)b[ \t]{0,4}\\{0,8}[\"']?(?P<v>[\w.-]{1,64}=[^\r\n\"'\\]{8,8192})", _FLAGS),
        _is_session,
        within=_COOKIE,
    ),
    _rule(
        CREDENTIAL,
        "-u --user --proxy-user",
        r"-(?<![\w-]-)(?:u[ \t]{0,4}|-(?:proxy-)?user(?:=|[ \t]{1,4}))(?:\\{0,8}[\"'])?[\w.@-]{1,80}:",
        r"(?P<v>(?![\d:]{1,8}\b)(?:[^\s\"'`\\]|[\"'](?=\w)|\\(?![nrt\"'\\])){4,256})",
        accept=_is_login,
    ),
    _rule(
        CREDENTIAL,
        "://",
        r"://[^\s:/@\"'`<>\\]{0,80}:(?P<v>[^\s/\"'`<>\\]{3,128})@(?=[\w.\[$%{-])",
        accept=is_url_password,
    ),
    _rule(
        CREDENTIAL,
        "authorization",
        r"authorization(?:\\{0,8}[\"'])?\]?[ \t]{0,4}(?:[:=]|%3A)[ \t]{0,4}(?:%20)?(?:\\{0,8}[\"'`])?",
        r"(?:(?:basic|bearer|token|apikey|api-key|negotiate|digest)(?:[ \t]{1,4}|%20|\+))?(?P<v>[\w.~+/:=%-]{8,8192})",
        accept=_is_header_value,
    ),
    _rule(
        CREDENTIAL,
        "bearer basic",
        r"(?:bearer|basic)(?:[ \t]{1,4}|%20)(?P<v>[\w.~+/-]{16,8192}+(?:={1,2}|%3D){0,2})",
        accept=_is_header_value,
    ),
    Rule(
        CREDENTIAL,
        (":54", ":64", ":*:"),
        re.compile(r":(?:\*|[56]4\d\d):[\w*.-]{1,60}:[\w*.@-]{1,60}:(?P<v>[^\s\"'`\\:]{4,128}+)(?!:)", _FLAGS),
        is_url_password,
        is_line=True,
    ),
    _rule(
        CREDENTIAL,
        ":$apr1$ :$2a$ :$2b$ :$2y$ :$1$ :$5$ :$6$ :{sha} :{ssha}",
        r":(?P<v>\$(?:apr1|2[aby]|[156])\$[./\w$=,]{20,120}|\{S?SHA\}[A-Za-z0-9+/]{20,80}={0,2})",
    ),
    _rule(
        CREDENTIAL,
        ("env ", "env\t"),
        rf"\benv[ \t]{{1,4}}\w{{0,60}}?{_FIELD}\w{{0,20}}[ \t]{{1,4}}",
        _ARGUMENT,
        accept=is_random,
    ),
    _rule(
        CREDENTIAL,
        "value",
        rf"name\\{{0,8}}[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}\\{{0,8}}[\"']?[\w.-]{{0,60}}?{_FIELD}\\{{0,8}}[\"']?[ \t]{{0,4}},?",  # noqa: E501
        rf"{_GAP}\\{{0,8}}[\"']?value\\{{0,8}}[\"']?[ \t]{{0,4}}[:=][ \t]{{0,4}}",
        _ARGUMENT,
        accept=is_chosen,
    ),
)
"""The shapes beside the detector's own: each was given to the detector, which found nothing."""

_RULES_OF = {
    word: frozenset(rule for rule in RULES if word in rule.keywords) for rule in RULES for word in rule.keywords
}
_PARTS = ("key", "token", "pass", "secret", "mysql", "redis", ":$", "phrase", "sig", "-u")
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
