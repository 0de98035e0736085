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

from flows.redaction.values import (
    is_chosen,
    is_code,
    is_name,
    is_placeholder,
    is_random,
    is_sequence,
    is_stock,
    is_word_with_number,
)

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


def _is_argument(value: str) -> bool:
    """Whether the text after ``--password`` is a password, and not the next word of a sentence or a folder."""
    return (is_chosen(value.rstrip(".,;:)")) and is_chosen(value) and not is_code(value)) or is_word_with_number(
        value.rstrip(".,;:)")
    )


def _is_login(value: str) -> bool:
    """Whether the text after ``-u name:`` is a password, and not a group or an image's version."""
    return is_chosen(value, takes_words=True) and (not is_name(value) or any(c.isdigit() for c in value))


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


def _is_mixed_password(value: str) -> bool:
    """The same, and no name or expression in code."""
    inner = value.rstrip(".!?")
    return is_word_with_number(inner) or (_is_mixed(value) and not is_code(inner))


def _is_mixed_key(value: str) -> bool:
    """The same where a type of code may stand (``if (token is A2AToken)``)."""
    return is_random(value.rstrip(".!?")) or (_is_mixed(value) and not is_code(value))


def _rule(
    kind: str, keywords: str | tuple[str, ...], *pattern: str, accept: Callable[[str], bool] = lambda value: True
) -> Rule:
    words = tuple(word.replace("_", " ") for word in keywords.split()) if isinstance(keywords, str) else keywords
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
_WORD = r"(?:pass(?:word|phrase|code|wort|wd)|contrase(?:ñ|n)a|mot de passe|senha)"
_MORE = r"\b[^\n;|&]{0,160}?[ \t]"
"""The words of a command before one of its options."""
_PIPED = r"(?:sudo\b[^\n|;]{0,40}-S|passwd[ \t]+--stdin|[^\n|;]{0,120}--(?:password-stdin|with-token)|kinit|cryptsetup)"
_ASIDE = r"[ \t]+[\w'’./@\[\]:\\-]{1,40}"
_SAYS = r"(?:[ \t]+(?:is|was|ist|es|to|now|lautet)|[ \t]*(?:[:=→]|[*_]{2}:|:[*_]{2}|[ \t]-))[ \t]*:?[ \t]*[\"'`]?"
_IN_COMMANDS: tuple[tuple[str, str], ...] = (
    (
        "mysql mariadb sshpass rar 7z",
        rf"\b(?:mysql\w*|mariadb[\w-]*|sshpass|7z[ar]?|(?:un)?rar){_MORE}(?-i:-p){_ARGUMENT}",
    ),
    ("mongo cqlsh sshpass", rf"\b(?:mongo\w*|cqlsh|sshpass){_MORE}-p[ \t]+{_ARGUMENT}"),
    ("login", rf"\b(?:docker|podman|helm|az|oc)\b[^\n;|&]{{0,40}}?\blogin{_MORE}-p[ \t]*{_ARGUMENT}"),
    (
        "zip sqlcmd mosquitto ipmitool ssh-keygen",
        rf"\b(?:(?:un)?zip|sqlcmd|mosquitto_\w+|ipmitool|ssh-keygen){_MORE}(?-i:-P)[ \t]*{_ARGUMENT}",
    ),
    ("ssh-keygen", rf"\bssh-keygen{_MORE}(?-i:-N)[ \t]*{_ARGUMENT}"),
    ("openssl", rf"\bopenssl[ \t]+enc{_MORE}(?-i:-k)[ \t]+{_ARGUMENT}"),
    ("pass:", r"-pass(?:in|out)?[ \t]{1,4}\\{0,8}[\"']?pass:(?P<v>[^\s\"'`\\]{4,256})"),
    ("ldap", rf"\bldap\w+{_MORE}-w[ \t]+{_ARGUMENT}"),
    ("redis-cli", rf"\bredis-cli{_MORE}-a[ \t]*{_ARGUMENT}"),
    ("masterauth", rf"\b(?:masterauth)[ \t]+{_ARGUMENT}"),
    (
        "smbclient rpcclient",
        r"\b(?:smb|rpc)client\b[^\n;|&]{0,120}?-U[ \t]*[\"']?[\w.\\/-]{1,60}%(?P<v>[^\s\"'`]{4,128})",
    ),
    ("http_-a https_-a", r"\bhttps? -a[ \t]*[\"']?[\w.@-]{1,60}:(?P<v>[^\s\"'`]{4,128})"),
    ("lftp", r"\blftp\b[^\n;|&]{0,80}?-u[ \t]*[\w.@-]{1,60},(?P<v>[^\s\"'`]{4,128})"),
    (
        "htpasswd",
        rf"\bhtpasswd(?:[ \t]+-[A-Za-z]+)+(?:[ \t]+[^\s-]\S*){{1,2}}?[ \t]+{_ARGUMENT}(?=[\"'\\]|[ \t]*(?:$|[\n;|&)]))",
    ),
    ("sqlplus :thin:", r"(?:\bsqlplus\b[^\n;|&]{0,80}?[ \t\"]|:thin:)[\w.$]{1,40}/(?P<v>[^\s\"'@/]{4,64})@"),
    (
        "net_user rabbitmqctl",
        rf"\b(?:net user|rabbitmqctl\b[^\n]{{0,60}}?(?:add_user|change_password))[ \t]+[\w.-]+[ \t]+(?!/){_ARGUMENT}",
    ),
    ("/user:", rf"/user:[\w.\\@-]{{1,80}}[ \t]+(?!/){_ARGUMENT}"),
    ("/pass:", r"[ \t]/pass:[\"']?(?P<v>[^\s\"'`]{4,128})"),
    ("nmcli", rf"\bnmcli{_MORE}password[ \t]+{_ARGUMENT}"),
    (
        "sudo -stdin with-token kinit cryptsetup",
        rf"(?:echo|printf)[ \t]+(?:-\w+[ \t]+)*(?:['\"]%s(?:\\+n|\s{{1,4}})?['\"][ \t]+)?{_ARGUMENT}[ \t]*\|[ \t]*{_PIPED}",  # noqa: E501
    ),
    (
        "sudo -stdin with-token kinit cryptsetup",
        rf"\b(?:sudo\b[^\n|;]{{0,40}}-S|cryptsetup|kinit|with-token|password-stdin)\b[^\n|;]{{0,80}}<<<[ \t]*{_ARGUMENT}",  # noqa: E501
    ),
    (
        "chpasswd",
        r"echo[ \t]+(?:-\w+[ \t]+)*[\"']?[\w.-]{1,40}:(?P<v>[^\s\"'`|]{4,128})(?=[^\n]{0,20}\bchpasswd)"
        r"|chpasswd[ \t]*<<<[ \t]*[\"']?[\w.-]{1,40}:(?P<w>[^\s\"'`|]{4,128})",
    ),
    ("assword", r"assword[^\n]{0,40}[\"'][^\n]{0,20}\bsend[ \t]+(?:--[ \t]+)?\"(?P<v>[^\"\n\\]{4,128})(?:\\+r|\s)"),
    ("user_default", r"\buser default[ \t]+on[^\n]{0,60}[ \t]>(?P<v>[^\s\"'`]{4,256})"),
    ("pgpassword= pwd= auth= sshpass=", rf"(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS)={_ARGUMENT}"),
    (
        "machine",
        rf"\bmachine[ \t]{{1,9}}\S{{1,80}}{_GAP}login\s{{1,9}}\S{{1,80}}{_GAP}password\s{{1,9}}(?P<v>(?![\"'\\])\S{{4,256}})",  # noqa: E501
    ),
    ("securestring", rf"SecureString[ \t]+(?:-String[ \t]+)?(?!-){_ARGUMENT}"),
    ("credential(", r"Credential\([ \t]*[\"'][^\"'\n]{1,60}[\"'],[ \t]*[\"'](?P<v>[^\"'\n]{4,128})[\"']"),
    ("@tcp( @unix( @udp(", r"(?:^|[\s\"'`=])[\w.-]{1,60}:(?P<v>[^\s\"'`/]{3,128})@(?:tcp|unix|udp)\("),
)
"""Keywords and pattern of a place where nothing but a password can stand: any text there is one."""
_UNDER_NAMES: tuple[tuple[str, str], ...] = (
    ("identified", rf"\bidentified[ \t]+(?:with[ \t]+\w+[ \t]+)?by[ \t]+{_ARGUMENT}"),
    (
        "pass pwd",
        rf"(?<![\w-])--?(?:[a-z]{{1,12}}[_-]){{0,3}}(?:[a-z]{{0,6}}pass(?:word|wd|phrase)?|pwd)(?:=|[ \t]{{1,4}}){_ARGUMENT}",  # noqa: E501
    ),
    ("secret_set", rf"\bsecret set[ \t]+\w+[ \t]+(?:-b[ \t]*|--body[ =]){_ARGUMENT}"),
    ("vault with-token", rf"\b(?:vault[ \t]+login|--with-token[ \t]*<<<)[ \t]+(?!-){_ARGUMENT}"),
)
"""Keywords and pattern of a value under the name of a secret."""
_IN_PROSE: tuple[tuple[str, str], ...] = (
    (
        "password passphrase passcode passwort passwd contrase mot_de_passe senha",
        rf"(?<![\w.$-]){_WORD}(?:(?:{_ASIDE}){{0,6}}?{_SAYS}|[ \t]{{1,2}}[\"'`]?)(?P<v>[^\s\"'`,;()<>\\]{{8,512}})",
    ),
    (
        "as_the",
        r"\b(?:use|with|set)[ \t]+[\"'`]?(?P<v>[^\s\"'`,;()<>\\]{8,128})[\"'`]?[ \t]+as the[ \t]+(?:\w+[ \t]+)?pass",
    ),
    (
        "creds credentials login",
        r"\b(?:cred(?:ential)?s|login)\b(?:[ \t]*:|[ \t]+are)?[ \t]+[\w.@-]{1,60}(?:[ \t]*/[ \t]*(?:pass\w*[ \t]+)?|:)(?P<v>[^\s\"'`,;()<>\\/]{8,128})",  # noqa: E501
    ),
)
_KEY_PART = r"\"(?:d|p|q|dp|dq|qi|k)\\{0,8}\"[ \t]{0,4}:[ \t]{0,4}\\{0,8}\"(?P<v>[\w=-]{20,1400})\\{0,8}\""
_NO_BRACE = r"[^{}]{0,1500}?"
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
        accept=lambda value: not is_sequence(value),
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
    *(_rule(CREDENTIAL, words, pattern, accept=is_url_password) for words, pattern in _IN_COMMANDS),
    *(_rule(CREDENTIAL, words, pattern, accept=_is_argument) for words, pattern in _UNDER_NAMES),
    *(_rule(CREDENTIAL, words, pattern, accept=_is_mixed_password) for words, pattern in _IN_PROSE),
    _rule(
        CREDENTIAL,
        "secret token api",
        rf"\b(?:secret|token|api[ _-]?key)(?:{_ASIDE}){{0,6}}?(?![ \t]*[=-]){_SAYS}",
        r"(?<!\d:)(?P<v>[^\s\"'`,;()<>\\{}\[\]]{8,512})",
        accept=_is_mixed_key,
    ),
    _rule(CREDENTIAL, ("kty",), rf"{_KEY_PART}{_NO_BRACE}kty|kty{_NO_BRACE}{_KEY_PART.replace('<v>', '<w>')}"),
    _rule(CREDENTIAL, "://", r"://(?P<v>[\w~.-]{20,256})@[\w.-]", accept=is_random),
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
