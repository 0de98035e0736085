"""Credentials are masked, and nothing else. Every secret here is made up while the tests run."""

from __future__ import annotations

import base64
import json
import pickle
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction import Message, Transcript
from flows.redaction import KEY_VARIABLE, Redactor
from flows.redaction.detector import LONGEST_RUN
from flows.redaction.marks import MARK
from flows.redaction.rule_lookup import rules_for
from flows.redaction.rules import RULES
from tests.flows.redaction import planted
from tests.flows.redaction.draws import plant
from tests.flows.redaction.made_up import (
    BY_FORM,
    DRAW,
    HARMLESS,
    IN_CONTEXT,
    REDACTOR,
    drawn,
    key_block,
    masked,
    part,
)


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

# A key of letters may be the name of a secret ("xTOKEN"); then all of its value is masked, as it should be.
NO_LETTERS = st.characters(exclude_categories=["L", "Cs"])


@settings(deadline=None, max_examples=60)
@given(
    value=JSON,
    name=st.text(NO_LETTERS, max_size=8),
    before=st.text(max_size=8),
    around=st.sampled_from(sorted(IN_CONTEXT)),
)
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
    examples = [
        around.replace("{{", "{").replace("}}", "}").replace("{}", secret) for around, secret in IN_CONTEXT.items()
    ]
    for text in (*examples, *(one.text for one in plant(seed=1, values=1))):
        for shown in (text, text.upper(), text.lower(), text.swapcase(), "é" + text):
            for number, rule in enumerate(RULES):
                if next(rule.pattern.finditer(shown), None):
                    tried.add(number)
                    assert rule in rules_for(shown), (rule.keywords, text)
    assert tried == set(range(len(RULES))), "a rule without an example"


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_what_a_rule_can_match_has_one_of_its_keywords(data: st.DataObject) -> None:
    rule = data.draw(st.sampled_from(RULES))
    text = data.draw(st.from_regex(rule.pattern))
    assert rule in rules_for(text)


def test_no_planted_secret_passes_in_any_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The figure of docs/redaction.md; ``python -m tests.flows.redaction.planted`` prints what passes.

    Whether a secret passes does not depend on what a guess at its mark costs, so that is cheap here.
    """
    monkeypatch.setattr("flows.redaction.marks._COST", {"n": 2, "r": 1, "p": 1})
    number, through = planted.find_leaks(REDACTOR)
    assert through == []
    assert number > 15_000


@pytest.mark.parametrize("seed", [1, 2])
def test_one_of_fifty_planted_shapes_and_values_passes_at_most(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.redaction.marks._COST", {"n": 2, "r": 1, "p": 1})
    passing, n_shapes, n_passed, number = planted.count_passing(REDACTOR.redact, seed, values=4)
    assert 50 * len(passing) <= n_shapes, passing
    assert 50 * n_passed <= number


@pytest.mark.parametrize(
    "text",
    [
        'skill-tool add --pwd "D:\\Documents\\GitHub\\site.com\\.claude\\skills" --title x',
        "tool --pwd /home/me/work/site-2024 run",
        "PWD=/home/me/src/Project7\nOLDPWD=C:\\\\Users\\\\me\\\\repo2",
        "clone http://user%3Aname@host/repo.git",
        "password_file: /etc/app/db2.pass\npassword_host: db-7.internal\ntoken_branch: feature/login-v2",
        "tokenizer: bert-base-uncased\ntoken_model: Qwen2.5-7B-Instruct\ncredentials_user: svc_deploy2",
        "modernc.org/token v1.1.0 h1:Xl7Ap9dKaEs5kLoOQeQmPWevfnk/DM5qcLcYlA8ys6Y=",
        "results are identified by exclusion: any step",
        "    'encodepassword',\n    'encode_sql92',\n    'encodeurl',",
        "   305\t            pass\n   306\t            registry.unregister_writer(*fmtcls1)",
        "the pass takes `limit=500` and `Parser.swift:529-531`",
        "secret = keypair[:32]; token = split_header[1]; password = password.encode('latin1')",
        '"password": {"type": "string", "default": "", "minLength": 8}',
    ],
)
def test_paths_hosts_branches_models_and_code_are_no_secrets(text: str) -> None:
    assert REDACTOR.redact(text) is text


def test_a_key_that_is_read_in_parts_is_masked_in_each() -> None:
    lines = key_block(lines=24).split("\n")
    texts = ["\n".join(lines[at : at + 8]) for at in range(0, len(lines), 8)]
    new, _ = REDACTOR.redact_transcript(
        Transcript("s", tuple(Message("tool", text, seq=at) for at, text in enumerate(texts)))
    )
    assert not [line for line in lines[1:-1] for message in new.messages if line in message.text]


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


def test_a_token_longer_than_any_run_of_data_is_found_and_data_is_not() -> None:
    long = f"{part({'alg': 'RS256', 'x5c': drawn(LONGEST_RUN)})}.{part({'sub': drawn(9)})}.{drawn(342)}"
    assert masked(f"id_token {long} end") == f"id_token {masked(long)} end"
    assert MARK.fullmatch(masked(long))
    data = base64.b64encode(DRAW.randbytes(40_000)).decode()
    assert REDACTOR.redact("secret=" + data) == "secret=" + data
    beside = f"image {data} API_KEY={drawn(32)}"
    assert masked(beside).startswith(f"image {data} API_KEY=[SECRET:")


@pytest.mark.parametrize(
    "text",
    ['{{"password": "{}"}}', "db:\n  password: {}\n", 'password = "{}"', "admin_password: '{}'", "PASSWORD={}"],
)
def test_words_with_hyphens_are_a_password_under_its_name(text: str) -> None:
    for words in ("correct-horse-battery", "maple-tractor-violin-7", "harbour-lantern"):
        new = masked(text.replace("{{", "{").replace("}}", "}").replace("{}", words))
        assert words not in new
    for none in ("current-password", "reset-form-label", "your-password-here", "user-name"):
        shown = text.replace("{{", "{").replace("}}", "}").replace("{}", none)
        assert none in masked(shown) or text == "PASSWORD={}"


@pytest.mark.parametrize(
    "text",
    [
        '    minipass: "npm:^7.0.3"\n    js-tokens: "npm:^4.0.0"\n    "@shop/api-key": "workspace:^"',
        "http://[dead:beef:cafe:5417:affe:8fa3:deaf:feed]:5432/x",
        r"{\\\"audio_tokens\\\":0,\\\"cached_tokens\\\":0,\\\"model\\\":\\\"x\\\"}",
        "env = dict(DO_API_KEY=parser.get('default', 'key'), KRB5_PASSWORD=str(self._config(KRB5_PASSWORD_ENV)))",
        "conf.Credentials = socks5.StaticCredentials{test.auth.user: test.auth.password}",
        "MYSQL_USER=petclinic\nMYSQL_PASSWORD=petclinic\nCLICKHOUSE_PASSWORD=clickhouse",
        "Authorization: Basic dXNlcjpwYXNzd29yZA==\npassword: c2VjdXJlLXBhc3N3b3Jk",
        "sig_key:   51:C4:0C:6D:7E:A5:6C:D8:8F:B4:3A:DF:91:78:4F:18:BC:D5:E4:C5",
        'PASS: "Run size-3e"\nSet-Cookie: p1=perm; Domain=.perlmeister.com; PART=ROCKET_LAUNCHER_0001',
        'test "\\$PWD" = "\\$_PYENV_VH_PWD"; const serviceKey = !definition.isReadOnlyLink',
        '"forgotPassword": "Forgot password? - <0>Reset</0>", displaySecretKey: "sk-lf-...7890"',
        "Username=postgres;Password=yourWeak(!)Password",
        "@reset_token = @user.generate_token_for(:password_reset)\n@next_token = @scanner.next_token",
    ],
)
def test_what_was_read_as_no_secret_in_files_of_others_stays(text: str) -> None:
    assert REDACTOR.redact(text) == text
