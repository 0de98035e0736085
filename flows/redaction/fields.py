"""Secrets that stand in a field whose name says so: ``DB_PASSWORD=…``, ``"apiKey": "…"``, ``password: …``.

Nothing is asked of what stands before the name. So a line number, the sign of a diff or of a quote, a box, ``export``
or ``- `` are no concern, and the end of a value is found by how it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from flows.redaction.values import (
    is_chosen,
    is_code,
    is_name,
    is_passphrase,
    is_random,
    is_stock,
    is_strong,
    is_word_with_number,
)

LONGEST = 8192
"""Characters of the longest value without quotes."""
_LONGEST_QUOTED = 1024
_OPEN = {")": "(", "]": "[", "}": "{", ">": "<"}
OTHER_LANGUAGES = "kennwort|wachtwoord|lösenord|hasło|heslo|jelszó|parola|şifre|[Пп]ароль|密码|パスワード"
"""Words for a password of which no other word is a part."""
_STEMS = (
    *"pass pwd pw psk secret token key credential auth contrase senha clave salt".split(),
    *"bearer jeton schl clé ключ 密钥".split(),
    *OTHER_LANGUAGES.replace("[Пп]", "п").split("|"),
)
_WORD = (
    r"pass(?:w(?:or)?d|[ ]?phrase|code|wort)?s?(?![a-z])|pwd|pw(?![a-z0-9])|psk(?![a-z])|secrets?(?![a-z])|tokens?(?![a-z])"  # noqa: E501
    r"|keys?(?![a-z])|authtok(?![a-z])|credentials?(?![a-z])|auth(?![a-z])|contrase(?:ñ|n)a|senha|salt(?![a-z])"
    rf"|{OTHER_LANGUAGES}"
)
_KEY_BEFORE = re.compile(
    r"(?:api|private|access|account|shared|signing|encryption|master|client|service|auth|jwt|secret|storage|deploy|license"
    r"|decryption|admin|host|ssh|ssl|tls|app|session|hmac|root|project|webhook|subscription|function|validation|network|device)[_-]?$|[A-Z0-9]_$",
    re.IGNORECASE,
)
_PW_BEFORE = re.compile(r"(?:bind|root|user|admin|db)$", re.IGNORECASE)
_AUTH_BEFORE = re.compile(r"(?:^|[_.-])$")
_QUOTE = r"\\{0,8}[\"'`]"
_NEXT_LINE = r":[ \t]*(?:[|>][-+]?\d?)?[ \t]*\r?\n[ \t]*(?:-[ \t]+)?(?=\S+[ \t]*(?:\r?\n|$))"
"""Before a value that stands alone in the line below, as YAML writes it."""
_SECRET_WORD = re.compile(_WORD, re.IGNORECASE)
_SEPARATORS = (
    _NEXT_LINE,
    rf"[ \t]{{0,8}}(?::=|=>|:-|→|[:=](?![:=]))(?:[*_]{{2}})?[ \t]{{0,8}}(?:\[[ \t]{{0,4}}(?={_QUOTE}))?(?:(?:!!?|&)\w+[ \t](?!=))?",  # noqa: E501
    r"%3[AaDd](?:%20|\+){0,2}",
    r"[\"']?(?:[ \t][^<>\n]{0,80})?>(?:<!\[CDATA\[|<value>)?(?=[^<>\s]{4,512}(?:</|\]\]>))",
    r"[\"']?[ \t]{1,4}(?=[^\s\"'|&;=:<>{-])(?=[^\s\"'\d]{0,64}\d)",  # set -x NAME value
    r"[ \t]?\([^()\n]{1,60}\)[ \t]?:[ \t]?",  # Password (again): value
    rf"(?!{_QUOTE})(?:\]{_QUOTE})?[^\n\"'`\\:=<>]{{0,40}}?(?:={{1,3}}|:|<-)?[ \t]{{0,4}}(?={_QUOTE})",  # define('NAME', 'value'), char password[] = "value"  # noqa: E501
    r"[\"']?[ \t]{1,4}(?=[^\s\"'|&;=:<>-])",  # the same without a number
)
"""What stands between a name and its value."""
_FIELD = re.compile(
    rf"(?P<tail>[\w.-]{{0,40}})(?P<close>(?:\\{{0,8}}[\"'`]|[*_]{{2}})?\]?)(?P<sep>{'|'.join(_SEPARATORS)})"
    rf"(?:(?P<type>&?(?:'static )?[A-Za-z][\w.\[\]| ]{{0,40}}?[ \t]?=[ \t]?(?={_QUOTE})"
    rf"|[A-Za-z][\w.:]{{0,40}}(?:hex|64|decode|from|bytes)\w{{0,8}}\((?={_QUOTE}))?"
    rf"[rbfN]?(?P<quote>{_QUOTE})|(?P<bare>(?=[^\s\"'`,])))",
    re.IGNORECASE,
)
_PAIR = re.compile(
    rf"(?P<tail>[\w.-]{{0,40}})(?P<sep>(?:\\{{0,8}}[\"'`]|</|:?[ \t]*(?=\r?\n))(?:(?!\bname\b)[^}}]){{0,240}}?"
    rf"(?:<(?:string|td|value)>|(?:value|default|fill|send_keys)(?:\\{{0,8}}[\"'])?[ \t]{{0,12}}[:=(])[ \t]{{0,8}})"
    rf"(?:(?P<quote>{_QUOTE})|(?P<bare>(?=[^\s\"'`,<>{{\[])))",
    re.IGNORECASE,
)
"""A name, and its value as a field of its own behind it: ``variable "db_password" { default = "…" }``."""
_NEXT_OF_LIST = re.compile(rf",\s{{0,20}}{_QUOTE}")
_LAST_NAME = re.compile(r"\w*$")
_NAME_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_LONGEST_NAME = 60
# A quote amid a value belongs to it.
_BARE_END = re.compile(r"\s|</|\]\]>|\\+[nrt]|(?<=[,:{\[(])\\{0,8}[\"'`]|\\{0,8}[\"'`](?![\w!@#$%^*+=])")
_NEXT_FIELD = re.compile(r"[;&,][ ]?[\w.\[\]\" -]{0,40}[=:]|%26|%0[AaDd]|%22|%3B")
_ENCODED_END = re.compile(r"%26|%0[AaDd]|%2[27]|%3B|&")
# What is said about a secret: its size, kind, place or owner. Also names that hold a word by accident.
_COUNTS = (
    "max|min|num|count|total|input|output|prompt|completion|cached?|reasoning|public|primary|foreign|partition|sort"
    "|composite|crew|task|agent|object|item|group|is|has|no|invalid|missing|wrong"
)
_ABOUT = re.compile(
    rf"(?:^|[_.-])(?i:{_COUNTS})(?:(?=[_.-]|$)|(?<![A-Z]{{2}})(?=[A-Z]))|(?i:public|csrf|paginat|next_?page|bypass|askpass|compass"
    r"|surpass|by_?pass|minipass|forg(?:o|e)t|idempot|tokeni|publish|(?:pre|post|design|semantic|sep|eos|bos|pad|unk|stop|special)[_-]?tokens?)"
)
_ABOUT_TAIL = re.compile(
    r"^(?:s)?[_.-]?(?:type|name|kind|file|path|dir|url|uri|alg|prefix|suffix|length|len|size|limit|count|header|field|hash|hint|rates?|report|ratio|stats?|map|list|info|text|value_?error|regex|re|test|"
    r"label|format|pattern|regex|policy|rules?|error|message|msg|input|placeholder|expir\w*|ttl|env|var|ref|store|manager|"
    r"provider|service|host(?:name)?|branch|user(?:name)?|owner|model|tokenizer|folder|home|bucket|region|version|repo|command|cmd|prompt|usage|budget|id|ids|index|column|param\w*|strength|confirm\w*|reset|required|enabled|source|status)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_ABOUT_END = re.compile(
    r"(?i:[_.-](?:name|alg|type|msg|message|arn|ur[il]|path|file|caption|title|description|label|ids?|identifiers?|e?mail))$"
)
_ONLY_RANDOM = re.compile(
    r"(?:^|[^A-Za-z])auth$|(?<!api)(?<!secret)(?<!private)(?<!access)(?<!auth)_keys?$|salt$", re.IGNORECASE
)
"""Names that hold other things as well."""
_ASSIGNED = re.compile(r"[A-Z][A-Z0-9_]{3,40}=[^=]|[)\]}]+[,;.]|[A-Z][A-Za-z.]+[\[<][\w., |<>\[\]]+[\]>]$")
_CALL = re.compile(r"[A-Za-z_]{2,}[\w.]*[(\[](?:[A-Za-z_\"'].*)?")
_OUTCOME = re.compile(r"(?:^|[^\w])PASS$")
"""Of a test: ``PASS: "Run 3"``."""
_SENTENCE = re.compile(r"\s\S*(?i:password|passphrase)|(?i:password|passphrase)\S*\s|</?\w+>")
"""What a page says of a password."""
_AT_HOST = re.compile(r"(?P<name>[^@]+)@[\w.-]{3,}(?:[:/?].*)?")
_NO_VALUE = re.compile(r"\d{2,5}/|\d+/[a-z]+/|[\"'`]|\w+=[^&]*&\w+=|[a-z][\w.-]*[<>=~!]=[ ]?\d+\.")
"""The rest of a URL behind its port, another string, a query, a version that is required."""
_HASH = re.compile(r"[ _-]?hash$", re.IGNORECASE)
_FOLDER = re.compile(r"[/~.]|[A-Za-z]:[\\/]|\\\\|-")
"""Starts what ``PWD`` names when it is no password."""
_LONGEST_DEFAULT = 24
_OWNER_BEFORE = re.compile(
    r"(?:user(?:name)?|login|name|db|database|schema|image|host|hostname|owner|role|account)"
    r"[\"']?[ \t]?[:=][ \t]?[\"']?$",
    re.IGNORECASE,
)
"""What names a user, a database or a service, before the name itself."""
_SETS = re.compile(
    r"(?:^|[\s;&|(=/\"'])(?:setx?|setenv|env|add|arg|#?define)(?:[ \t]+-{1,2}\w+)*[ \t]{1,4}[\"']?[\w./:-]*$"
    r"|(?:^|\s)(?:require|auth_)$",
    re.IGNORECASE,
)
"""Before the name in a command that gives it the value behind it: ``set -x NAME value``, ``requirepass value``."""
_PASSWORD = re.compile(rf"pass|pwd|pw|psk|contrase|senha|{OTHER_LANGUAGES}", re.IGNORECASE)


def find_fields(text: str, stems: list[int]) -> Iterator[tuple[int, int]]:
    """Start and end of every value whose field's name says that it is secret; ``stems`` are those of the text."""
    done, ends = 0, {form: _Ends(text) for form in (_FIELD, _PAIR)}
    for at in stems:
        if at < done or (word := _SECRET_WORD.match(text, at)) is None:
            continue
        left = text[max(0, at - _LONGEST_NAME) : at]
        before = left[len(left.rstrip(_NAME_SIGNS)) :]
        if not _is_sensitive(before, word.group()):
            continue
        for form in (_FIELD, _PAIR):
            if (found := form.match(text, word.end())) is None:
                continue
            spans = list(_field_values(text, at, found, before + word.group(), ends[form]))
            secret = [span for span, is_secret in spans if is_secret]
            yield from secret
            if secret or (spans and spans[0][0][1] - spans[0][0][0] > _LONGEST_QUOTED):
                done = spans[-1][0][1]  # what was judged once is not judged again for every name within
                break


def _field_values(
    text: str, at: int, found: re.Match[str], name: str, ends: _Ends
) -> Iterator[tuple[tuple[int, int], bool]]:
    """Start and end of a field's value, or of each of its list, and whether it is secret."""
    start, sep, quote = found.end(), found["sep"].strip(" \t\r\n\"'"), found["quote"]
    end = _quoted_end(text, start, quote) if quote else 0
    is_quoted = end > 0
    end = end or _bare_end(text, start, found["sep"], ends)
    value = text[start:end]
    if end <= start or (_is_weak(found, sep) and not _is_sure(text[max(0, at - 120) : at], found, sep, name, value)):
        return
    is_literal = (is_quoted and quote[-1] != "`") or _is_literal(text, found, name)
    if sep.endswith("[") and not _PASSWORD.search(name) and not is_random(value):
        return
    is_secret = is_secret_field(name, found["tail"], value, is_quoted, is_literal)
    yield (start, end), is_secret and not _is_default(value, name, text)
    while sep.endswith("[") and is_quoted and (following := _NEXT_OF_LIST.match(text, end + len(quote))):
        start, end = following.end(), _quoted_end(text, following.end(), quote)
        yield (start, end), is_secret_field(name, found["tail"], text[start:end])


def _is_weak(found: re.Match[str], sep: str) -> bool:
    """Whether a name and a value may stand so beside each other in a list, a sentence or a call, too."""
    is_sign = bool(sep) and (
        sep[0] in ":=→%" or sep[:2] in {":=", "=>", ":-"} or sep[-2:] == "):" or sep[-1] == ">" or "![CDATA[" in sep
    )
    return found.re is _FIELD and (not is_sign or sep in {"==", "==="})


def _is_sure(before: str, found: re.Match[str], sep: str, name: str, value: str) -> bool:
    """Whether a value is a secret where names and values may stand beside each other by chance."""
    if not sep and _SETS.search(before):
        return True
    if found["quote"] == "`" or (sep[:1] == "(" and found["tail"]) or (not found["quote"] and name == "PASS"):
        return False
    if _PASSWORD.search(name) or (_is_constant(name) and found["quote"]):
        return is_strong(value.rstrip(".,;:!?)"))
    return found["quote"] is not None and is_random(value)


def find_stems(text: str) -> list[int]:
    """The positions where a name may have a word that marks a secret."""
    lower = text.lower()
    if len(lower) != len(text):  # a few capitals are two small letters
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    places = []
    for stem in _STEMS:
        at = lower.find(stem)
        while at >= 0:
            places.append(at)
            at = lower.find(stem, at + len(stem))
    return sorted(places)


def _is_sensitive(before: str, word: str) -> bool:
    """Whether a word, with what precedes it, marks a name as that of a secret."""
    word = word.lower()
    if word.startswith("key"):
        return _KEY_BEFORE.search(before) is not None
    if word == "auth":
        return _AUTH_BEFORE.search(before) is not None
    return word != "pw" or not before[-1:].isalpha() or _PW_BEFORE.search(before) is not None


def _is_default(value: str, name: str, text: str) -> bool:
    """Whether a word is also the name of a user, a database or a service: ``DB_USER=shop DB_PASSWORD=shop``."""
    if len(value) > _LONGEST_DEFAULT or not value.replace("-", "").replace("_", "").isalpha():
        return False
    return value.lower() in name.lower() or any(
        _OWNER_BEFORE.search(text, max(0, one.start() - _LONGEST_NAME), one.start())
        for one in re.finditer(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text)
    )


def is_secret_cell(name: str, value: str) -> bool:
    """Whether a value in a column of this name is a secret: there stands no code, but often what is said about it."""
    has_digit = any(c.isdigit() for c in value)
    is_one = len(value.split()) == 1 and (is_strong(value) or (has_digit and not is_code(value)))
    return is_one and is_secret_field(_HASH.sub("", name).replace(" ", "_"), "", value)


def is_about_tail(text: str, at: int) -> bool:
    """Whether a name goes on, at a position, with what makes it no secret's: ``token|_type``, ``password|_file``."""
    return _ABOUT_TAIL.match(text[at : at + 30]) is not None


@lru_cache(maxsize=4096)
def is_secret_field(name: str, tail: str, value: str, is_quoted: bool = True, is_literal: bool = True) -> bool:
    """Whether a value of a field is a secret.

    Args:
        name: The field's name to the end of the word that says what it is.
        tail: The rest of its name.
        value: What it holds.
        is_quoted: Whether it stands in quotes.
        is_literal: Whether what stands there can't be code.
    """
    if not is_literal and name.lower() == "pass" and not is_strong(value):
        return False  # a test's outcome
    if name.lower().endswith("pwd") and _FOLDER.match(value):
        return False
    is_password = _PASSWORD.search(name[-16:]) is not None
    if (host := _AT_HOST.fullmatch(value)) and is_stock(host["name"]):
        return False  # the rest of a URL
    if _OUTCOME.search(name) and not (is_quoted and is_strong(value)):
        return False
    if _NO_VALUE.match(value) or _SENTENCE.search(value) or _CALL.fullmatch(value):
        return False
    if (not is_password and len(value.split()) > 1) or _ASSIGNED.match(value):
        return False  # what is assigned in the value is judged by its own name; or code between two strings
    is_about = bool(_ABOUT.search(name) or _ABOUT_TAIL.match(tail) or _ABOUT_END.search(tail))
    if (is_password or _is_constant(name)) and is_passphrase(value) and not tail and not _ABOUT.search(name):
        return True
    if not is_literal and is_code(value):
        return (is_password or name.lower().endswith("secret")) and is_word_with_number(value)
    if is_random(value):
        return not _ABOUT.search(name) and (not is_about or len(value) >= 20)
    if is_about or _ONLY_RANDOM.search(name):
        return False
    is_constant = is_literal and not is_quoted and is_password
    if not is_password and (len(value) < 8 or value.isdigit() or is_name(value)):
        return name.lower().endswith("secret") and is_word_with_number(value)
    if "_" in value and is_name(value) and not any(c.isdigit() for c in value):
        return False
    if value.isdigit() and not (is_constant and len(value) >= 6 and not is_stock(value)):
        return False
    return is_chosen(
        value, takes_words=not tail and value.isascii() and (is_constant or (is_password and _is_constant(name)))
    )


def _is_constant(name: str) -> bool:
    return _LAST_NAME.search(name)[0].isupper()  # type: ignore[index]


def _is_whole(text: str, start: int) -> bool:
    """Whether a name fills its quotes, as in ``setenv("DB_PASSWORD", "…")``."""
    return text[start - 1 : start] in {'"', "'", "`"}


def _is_literal(text: str, found: re.Match[str], name: str) -> bool:
    """Whether a value without quotes is written in a form that has no expressions: an environment file, a URL."""
    sep = found["sep"]
    return sep[0] == "%" or (
        sep == "=" and (_is_constant(name) or text[found.start() - 1 : found.start()] in {"?", "&", ";"})
    )


class _Ends:
    """The ends of unquoted values. Starts are asked for in ascending order, so each character is read once."""

    def __init__(self, text: str) -> None:
        self._text, self._from, self._end = text, 0, -1

    def after(self, start: int) -> int:
        if not self._from <= start <= self._end:
            found = _BARE_END.search(self._text, start)
            self._from, self._end = start, found.start() if found else len(self._text)
        return self._end


def _bare_end(text: str, start: int, sep: str, ends: _Ends) -> int:
    end = ends.after(start)
    if end - start > LONGEST:
        return start
    if (sep[0] == "%" and (cut := _ENCODED_END.search(text, start, end))) or (
        cut := _NEXT_FIELD.search(text, start, end)
    ):
        end = cut.start()
    value = text[start:end].rstrip(",;")
    while value and value[-1] in _OPEN and value.count(value[-1]) > value.count(_OPEN[value[-1]]):
        value = value[:-1].rstrip(",;")
    return start + len(value)


def _quoted_end(text: str, start: int, quote: str) -> int:
    """The end of a quoted value: the same quote with as many backslashes in the same line; 0 if there is none."""
    n_escapes, limit = len(quote) - 1, min(len(text), start + _LONGEST_QUOTED)
    at = text.find(quote[-1], start, limit)
    while at >= 0:
        before = at - len(text[start:at].rstrip("\\")) - start
        if before % (2 * n_escapes + 2) == n_escapes:
            end = at - n_escapes
            return 0 if "\n" in text[start:end] else end
        at = text.find(quote[-1], at + 1, limit)
    return 0
