"""Rules beside the detector's, and lists of texts that only look like credentials.

The shapes are the providers' and tools' own documented ones. Every pattern is anchored at a literal and bounded, so
that its work grows with the text alone; its ``keywords`` are parts of every text that it can match, so that looking for
them first loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from flows.redaction.printed import PRINTED, PRINTED_KEYWORDS
from flows.redaction.values import (
    is_chosen,
    is_code,
    is_name,
    is_passphrase,
    is_placeholder,
    is_random,
    is_sequence,
    is_stock,
    is_strong,
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
                    start, end = one.span(group)
                    yield start, end - (len(one[group]) - len(one[group].rstrip(".,;:")) if group == "v" else 0)


def is_url_password(value: str) -> bool:
    """Whether the password in a URL is real, and not a placeholder (``user:pass@host``)."""
    return sum(c.isalnum() for c in value) >= 3 and not is_placeholder(value) and not is_stock(unquote(value))


def _is_word(value: str) -> bool:
    """Whether a word of a sentence or of a command is a secret."""
    return is_strong(value.rstrip(".,;:!?)"))


def _is_key(value: str) -> bool:
    """Whether a value is a key in a place where names and labels are usual: behind ``token``, ``--key``."""
    inner = value.rstrip(".,;:!?)")
    return is_strong(inner) and not is_word_with_number(inner) and (is_random(inner) or not is_passphrase(inner))


def _is_login(value: str) -> bool:
    """Whether the text after ``-u name:`` is a password, and not a group or an image's version."""
    return is_chosen(value, takes_words=True) and (not is_name(value) or any(c.isdigit() for c in value))


def _is_session(value: str) -> bool:
    """Whether a cookie's value is one of a session, and not a domain or a name."""
    return is_chosen(value) and not is_name(value.strip("."))


def _is_header_value(value: str) -> bool:
    """Whether the value of an authorization header is a credential, and not a word of a sentence."""
    return is_random(value) or (len(value) >= 8 and is_chosen(value) and not is_code(value))


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
_MORE = r"\b[^\n;|&]{0,160}?[ \t]"
"""The words of a command before one of its options."""
_PIPED = r"(?:sudo\b[^\n|;]{0,40}-S|passwd[ \t]+--stdin|[^\n|;]{0,120}--(?:password-stdin|with-token)|kinit|cryptsetup)"
_IN_COMMANDS: tuple[tuple[str, str], ...] = (
    (
        "mysql mariadb sshpass rar 7z",
        rf"\b(?:mysql\w*|mariadb[\w-]*|sshpass|7z[ar]?|(?:un)?rar){_MORE}(?-i:-p){_ARGUMENT}",
    ),
    ("mongo cqlsh sshpass", rf"\b(?:mongo\w*|cqlsh|sshpass){_MORE}-p[ \t]+{_ARGUMENT}"),
    (
        "zip sqlcmd mosquitto ipmitool ssh-keygen",
        rf"\b(?:(?:un)?zip|sqlcmd|mosquitto_\w+|ipmitool|ssh-keygen){_MORE}(?-i:-P)[ \t]*{_ARGUMENT}",
    ),
    ("openssl", rf"\bopenssl[ \t]+enc{_MORE}(?-i:-k)[ \t]+{_ARGUMENT}"),
    ("signtool", rf"\bsigntool\b[^\n;|&]{{0,160}}?[ \t]/p[ \t]+{_ARGUMENT}"),
    ("-command", rf"-command[ =]{{1,4}}\\{{0,8}}[\"']echo[ \t]+{_ARGUMENT}"),
    ("auth-user-pass", r"<auth-user-pass>\s{0,9}\S{1,80}\s{1,9}(?P<v>[^\s<]{4,256})"),
    ("wifi:", r"\bWIFI:[^\n]{0,80}?;P:(?P<v>[^\s;]{4,64});"),
    ("redis-cli", rf"\bredis-cli{_MORE}-a[ \t]*{_ARGUMENT}"),
    ("masterauth", rf"\b(?:masterauth)[ \t]+{_ARGUMENT}"),
    (
        "smbclient rpcclient",
        r"\b(?:smb|rpc)client\b[^\n;|&]{0,120}?-U[ \t]*[\"']?[\w.\\/-]{1,60}%(?P<v>[^\s\"'`]{4,128})",
    ),
    ("http_-a https_-a xh_-a", r"\b(?:https?|xh) -a[ \t]*[\"']?[\w.@-]{1,60}:(?P<v>[^\s\"'`]{4,128})"),
    ("lftp", r"\blftp\b[^\n;|&]{0,80}?-u[ \t]*[\w.@-]{1,60},(?P<v>[^\s\"'`]{4,128})"),
    (
        "sqlplus :thin: connect_",
        r"(?:\bsqlplus\b[^\n;|&]{0,80}?[ \t\"]|:thin:|\bconnect[ ])[\w.$]{1,40}/\"?(?P<v>[^\s\"'@]{4,64})\"?@",
    ),
    (
        "net_user rabbitmqctl",
        rf"\b(?:net user|rabbitmqctl\b[^\n]{{0,60}}?(?:add_user|change_password))[ \t]+[\w.-]+[ \t]+(?!/){_ARGUMENT}",
    ),
    ("/user:", rf"/user:[\w.\\@-]{{1,80}}[ \t]+(?!/){_ARGUMENT}"),
    ("/p: /pass", r"[ \t]/p(?:ass(?:word)?)?:[\"']?(?P<v>[^\s\"'`]{4,128})"),
    (
        "sudo -stdin with-token kinit cryptsetup",
        rf"(?:echo|printf)[ \t]+(?:-\w+[ \t]+)*(?:['\"]%s(?:\\+n|\s{{1,4}})?['\"][ \t]+)?{_ARGUMENT}[ \t]*\|[ \t]*{_PIPED}",  # noqa: E501
    ),
    (
        "chpasswd",
        r"echo[ \t]+(?:-\w+[ \t]+)*[\"']?[\w.-]{1,40}:(?P<v>[^\s\"'`|]{4,128})(?=[^\n]{0,20}\bchpasswd)"
        r"|chpasswd(?:[ \t]*<<<[ \t]*[\"']?"
        r"|[ \t]*<<-?[ ]?\W?\w+\W?\n|:\s{1,20}(?:expire: \w+\s{1,20})?list:[ \t]*\|?\s{1,20}(?:-[ ])?)"
        r"[\w.-]{1,40}:(?P<w>[^\s\"'`|]{4,128})",
    ),
    (
        "assword",
        r"assword[^\n]{0,40}[\"'][^\n]{0,20}(?:\n[^\n]{0,20})?\bsend[ \t]+(?:--[ \t]+)?\"(?P<v>[^\"\n\\]{4,128})(?:\\+r|\s)",  # noqa: E501
    ),
    ("user", r"\b(?:user default|setuser[ \t]+\w+)[ \t]+on[^\n]{0,60}[ \t]>(?P<v>[^\s\"'`]{4,256})"),
    ("pgpassword= pwd= auth= sshpass=", rf"(?:PGPASSWORD|MYSQL_PWD|REDISCLI_AUTH|SSHPASS)={_ARGUMENT}"),
    ("securestring", rf"SecureString[ \t]+(?:-String[ \t]+)?(?!-){_ARGUMENT}"),
    ("credential(", r"Credential\([ \t]*[\"'][^\"'\n]{1,60}[\"'],[ \t]*[\"'](?P<v>[^\"'\n]{4,128})[\"']"),
    ("@tcp( @unix( @udp(", r"(?:^|[\s\"'`=])[\w.-]{1,60}:(?P<v>[^\s\"'`/]{3,128})@(?:tcp|unix|udp)\("),
)
"""Keywords and pattern of a place where nothing but a password can stand: any text there is one."""
_UNDER_NAMES: tuple[tuple[str, str], ...] = (
    ("identified", rf"\bidentified[ \t]+(?:with[ \t]+\w+[ \t]+)?by[ \t]+{_ARGUMENT}"),
    ("secret_set", rf"\bsecret set[ \t]+\w+[ \t]+(?:-b[ \t]*|--body[ =]){_ARGUMENT}"),
    ("<<<", rf"<<<[ \t]*{_ARGUMENT}"),
    ("<(echo", rf"<\(echo[ \t]+(?:-n[ \t]+)?{_ARGUMENT}"),
    (
        "login_ auth_ log_in_ authtoken_ unlock_ unseal_ obscure_ passwd_ community_ pw_ secret_ password_ apikey_"
        " token_ identify_ rootpw_ -key_",
        rf"(?<![\w.$<])(?:log[ ]?in|(?:add-)?auth(?:token)?(?:[ ]token)?|un(?:lock|seal)|obscure|(?:mk)?passwd|community|(?:user|owner|root)_?pw"  # noqa: E501
        r"|identify|pre-shared-key|secret|password|apikey)[ ]+"
        rf"(?:(?:-{{1,2}}[\w-]+|init|plain|default|[a-z]{{2}}|sha-\d+|\d{{1,2}}|\S+@[\w.-]+)[ ]+){{0,4}}{_ARGUMENT}",
    ),
    (
        "smbclient net_use passphrase http-basic alias_set",
        rf"\b(?:smbclient[ \t]+//\S{{1,80}}|net use\b[^\n]{{0,80}}?\\[\w$.-]{{1,60}}|(?:wpa_passphrase|http-basic\S{{0,40}})[ \t]+\S{{1,60}}"  # noqa: E501
        rf"|alias set(?:[ \t]+\S{{1,80}}){{3}})[ \t]+(?!/){_ARGUMENT}",
    ),
    ("pass_", rf"(?<![^\n])PASS[ ]{_ARGUMENT}[ \t]*(?![^\r\n])"),
    ("user_", rf"(?<![^\n])[ \t]*user[ ]+[\w.@-]{{1,60}}[ \t]+{_ARGUMENT}"),
    ("auth_", r"\bauth[ ]+[\w.-]{1,40}:(?P<v>[^\s\"'`]{8,128})"),
    ("]:", r"\]:\d{2,5}[ \t]+[\w.@-]{1,80}:(?P<v>[^\s\"'`]{8,128})"),
    (".login= -login=", r"[.-]login=(?P<v>[^\s\"'`]{8,128})"),
    (
        "impacket exec.py secretsdump",
        r"(?:\bimpacket-\w+|exec\.py|secretsdump\.py)[ \t]+[\w./-]{1,80}:[\"']?(?P<v>[^\s\"'`]{6,128})[\"']?@",
    ),
    (":add-mask:", r"::add-mask::(?P<v>[^\s\"'`]{8,4096})"),
    ("-value _/d_", rf"(?:pass|key|secret|token)[^\n]{{0,60}}?[ \t](?:--?value|/d)[ =]{_ARGUMENT}"),
    ("pragma", rf"\bpragma[ \t]+key[ \t]*=[ \t]*{_ARGUMENT}"),
)
"""Keywords and pattern of a place where a secret may stand: what is there must look like one."""
_FLAG = rf"(?<![\w-])(?:(?-i:-hp|-[pPwskKaAXxcNt])|--(?:en|de)crypt)[ \t]*{_ARGUMENT}"
_LINES: tuple[tuple[str, str, str], ...] = (
    (
        "useradd usermod security bcp snmp mcrypt ccrypt ldap rar qpdf",
        r"\b(?:useradd|usermod|security|bcp|snmp\w+|[mc]crypt|ldap\w+|rar|qpdf)\b(?P<v>[^\n]{8,300})",
        _FLAG,
    ),
    ("-u -l -d -t -user", r"-(?<![\w-]-)(?-i:[uUlDt]|-user(?:name)?)[ \t=](?P<v>[^\n]{8,300})", _FLAG),
    (
        "connect( connection( auth( login( begin( pdo( auth=( authenticationtoken( auth_ changeuserpassword( wallet( hmac( hmac.new( fernet( sign( crypt( cipheriv( .from( sendline(",  # noqa: E501
        r"(?:connect(?:ion)?|auth(?:=|enticationtoken)?|login|begin|pdo|changeuserpassword|wallet|hmac(?:\.new)?|fernet|sign|crypt|cipheriv|\.from|sendline)(?:\(|(?<=auth)[ ](?=\\{0,8}[\"']))"  # noqa: E501
        r"(?P<v>[^\n]{8,300})",
        r"(?P<q>\\{0,8}[\"'])(?P<v>[^\s\"'\\();,]{8,128})(?P=q)(?P<w>)",
    ),
    (
        "echo printf",
        r"(?:echo|printf)[ \t]+(?P<v>[^|\n]{6,200}(?:\n[^|\n]{1,200})?)\|[^\n|;]{0,60}?\b(?:su|passwd|smbpasswd|passphrase-fd|secrets?|login)\b",  # noqa: E501
        r"(?P<v>[^\s\"'`\\:]{6,256})(?P<w>)",
    ),
)
"""Keywords, a line, and the secrets in it: what is there must look like one."""
_IN_PROSE: tuple[tuple[str, str], ...] = (
    (
        "pass",
        r"\b(?:use|with|set|it's|is)[ \t]+[\"'`]?(?P<v>[^\s\"'`,;()<>\\]{8,128})[\"'`]?"
        r"[ \t]+(?:as|is|\()[ \t]?(?:(?:the|your|my|an?)[ \t]+)?(?:\w+[ \t]+)?pass",
    ),
    (
        "creds credentials login log_in sign_in signin",
        r"\b(?:cred(?:ential)?s|(?:log|sign)[ ]?in)\b(?:[ \t]*:|[ \t]+(?:are|with|as))?[ \t]+[\w.@-]{1,60}(?:[ \t]*/[ \t]*(?:pass\w*[ \t]+)?|:)(?P<v>[^\s\"'`,;()<>\\]{8,128})",  # noqa: E501
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
    *(_rule(CREDENTIAL, words, pattern, accept=is_url_password) for words, pattern in _IN_COMMANDS),
    *(_rule(CREDENTIAL, words, pattern, accept=_is_word) for words, pattern in _UNDER_NAMES),
    *(_rule(CREDENTIAL, words, pattern, accept=_is_word) for words, pattern in _IN_PROSE),
    _rule(
        CREDENTIAL,
        "-token -secret key -auth",
        rf"--(?<![\w-]--)(?:[a-z]{{1,12}}-){{0,3}}(?:api-?key|token|secret|(?:access-?|auth-?)?key|auth)(?:=|[ \t]{{1,4}}){_ARGUMENT}",  # noqa: E501
        accept=_is_key,
    ),
    *(
        replace(_rule(CREDENTIAL, words, line, accept=_is_word), within=re.compile(pattern, _FLAGS))
        for words, line, pattern in _LINES
    ),
    _rule(CREDENTIAL, PRINTED_KEYWORDS, PRINTED, accept=_is_word),
    _rule(CREDENTIAL, ("kty",), rf"{_KEY_PART}{_NO_BRACE}kty|kty{_NO_BRACE}{_KEY_PART.replace('<v>', '<w>')}"),
    _rule(CREDENTIAL, "://", r"://(?P<v>[\w~.-]{20,256})@[\w.-]", accept=is_random),
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
        r"authorization(?:\\{0,8}[\"'])?\]?[ \t]{0,4}(?:[:=](?!:)|%3A)[ \t]{0,4}(?:%20)?(?:\\{0,8}[\"'`])?",
        r"(?:(?:basic|bearer|token|apikey|api-key|negotiate|digest)(?:[ \t]{1,4}|%20|\+))?(?P<v>[\w.~+/:=%-]{8,8192})",
        accept=_is_header_value,
    ),
    _rule(
        CREDENTIAL,
        "bearer basic",
        r"(?:bearer|basic)(?:[ \t]{1,4}|%20)(?P<v>[\w.~+/-]{8,8192}+(?:={1,2}|%3D){0,2})",
        accept=_is_key,
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
