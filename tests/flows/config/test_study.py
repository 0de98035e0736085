from __future__ import annotations

from pathlib import Path

import pytest

from flows.config.study import Study, make_study
from flows.support.errors import UsageError


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return str(path)


def test_a_flag_overrides_the_file_and_the_file_overrides_the_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, 'points = "messages:40"\nhistory = "chain"\nreplicates = 3\n')
    study = make_study({"points": "messages:20", "history": None}, path)
    assert (study.points, study.history, study.replicates, study.judge) == ("messages:20", "chain", 3, "embedded")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'points = "messages:40"\nhistroy = "chain"\n',
            "line 2: histroy: unknown key (did you mean history?); known: anchor_days, anchors, budget_tokens",
        ),
        ('\n\nhistory = "loop"\n', "line 3: history: expected prefix or chain, found 'loop'"),
        ('points = "tokens:ten"\n', "line 1: points: points 'tokens:ten': expected tokens:N"),
        ('points = "sizes:8000"\nhistory = "chain"\n', "--history chain: at points by sizes a session compacts once"),
        ('points = "sizes:8000"\nreplay = 1\n', "--replay: at points by sizes a session compacts once"),
        ("replicates = 0\n", "line 1: replicates: expected a whole number of at least 1, found 0"),
        ("replicates = true\n", "line 1: replicates: expected a whole number"),
        ("strategies = [1]\n", "line 1: strategies: expected a text or a list of texts"),
        ('strategies = ["no_such_one"]\n', "line 1: strategies: unknown strategy 'no_such_one'; known: "),
        ('rubric = "no_such_one"\n', "line 1: rubric: no rubric 'no_such_one'; known: software_engineering"),
        (
            'judge = "gpt-5"\n',
            "line 1: judge: expected embedded, openai:MODEL, anthropic:MODEL, file or file:NAME, found 'gpt-5'",
        ),
        ('model = "openai:"\n', "line 1: model: expected embedded, openai:MODEL, anthropic:MODEL, found 'openai:'"),
        ('protocol = "open"\n', "line 1: protocol: expected auto or study or closed, found 'open'"),
        ("budget_usd = 0\n", "line 1: budget_usd: expected an amount in US dollars above 0, found 0"),
        ("budget_tokens = 1.5\n", "line 1: budget_tokens: expected a whole number of at least 1, found 1.5"),
        ('models = "all"\n', 'line 1: models: expected tables such as [models."openai:NAME"]'),
        ('[models."gpt"]\nseed = 1\n', "line 1: gpt: this is no model; expected openai:NAME or anthropic:NAME"),
        (
            'judge = "openai:x"\n[models."openai:x"]\nsede = 1\n',
            "line 3: sede: unknown setting of openai:x (did you mean seed?); known: base_url",
        ),
        (
            'judge = "openai:x"\n[models."openai:x"]\nseed = 1.5\n',
            "line 3: seed: expected a whole number of at least 0, found 1.5",
        ),
        (
            'judge = "openai:x"\n[models."openai:x"]\nbase_url = "http://me:pass@host/v1"\n',
            "line 3: base_url: an address with a user, a password or a query would be stored",
        ),
        (
            'judge = "openai:x"\n[models."openai:x"]\nbase_url = "localhost:8080"\n',
            "line 3: base_url: expected an http or https address",
        ),
        ('strategies = ["openai_compact"]\n', "method openai_compact has openai compact and takes a key"),
        (
            'strategies = ["openai_compact"]\nsummarizer = "openai:x"\n',
            "what it leaves can be read by openai's models only: name one with --responder openai:MODEL",
        ),
        (
            'strategies = ["openai_compact"]\nmodel = "openai:x"\njudge = "openai:y"\nprotocol = "study"\n',
            "protocol study: nobody but openai can read what openai_compact leaves",
        ),
        ("[limit]\nn = 3\n", "line 1: limit: expected a whole number"),
        ('points = "messages:40\n', "not TOML: "),
    ],
)
def test_a_bad_study_is_refused_with_file_line_key_and_what_is_accepted(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        make_study({}, path)
    assert str(caught.value).startswith(f"study {path}")
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_bad_flag_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"^--judge: expected embedded, openai:MODEL, anthropic:MODEL, file or file:NAME, found 'cohere:x'",
    ):
        make_study({"judge": "cohere:x"})


def test_the_settings_of_a_model_come_from_the_file_then_the_environment_and_stand_in_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    path = write(tmp_path, '[models."openai:a"]\ntemperature = 0.5\nbase_url = "https://elsewhere.example/v1"\n')
    study = make_study({"model": "openai:a", "judge": "openai:b"}, path)
    first, second = study.model_settings
    assert (first.base_url, first.temperature) == ("https://elsewhere.example/v1", 0.5)
    assert (second.base_url, second.temperature) == ("http://127.0.0.1:9/v1", 0.0)
    assert "sk-secret" not in str(study.as_dict())
    assert make_study({"judge": "openai:gpt-5.2"}).model_settings[0].temperature is None  # it reasons, and takes none


def test_where_the_answering_model_is_makes_another_study_and_the_judge_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = []
    for url in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        keys.append(make_study({"responder": "openai:a"}).study_key)
    assert keys[0] != keys[1]
    assert make_study({"judge": "openai:a"}).study_key == make_study({}).study_key


def test_the_protocol_is_closed_when_a_method_leaves_what_only_its_provider_reads(tmp_path: Path) -> None:
    assert make_study({"judge": "openai:a"}).judge_protocol == "study"
    assert make_study({"judge": "openai:a", "protocol": "closed"}).judge_protocol == "closed"
    path = write(tmp_path, '[models."openai:a"]\napi = "responses"\n')
    flags = {"model": "openai:a", "judge": "openai:b", "strategies": "none,openai_compact"}
    opaque = make_study(flags, path)
    with pytest.raises(UsageError, match='set api = "responses" in'):
        make_study(flags)
    assert opaque.judge_protocol == "closed"


def test_a_study_that_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file"):
        make_study({}, str(tmp_path / "none.toml"))
    (tmp_path / "study.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read as UTF-8"):
        make_study({}, str(tmp_path / "study.toml"))


def test_model_sets_summariser_responder_and_prober_at_once() -> None:
    study = make_study({"model": "embedded"})
    assert (study.summarizer, study.responder, study.prober) == ("embedded",) * 3


def test_the_study_key_changes_with_what_makes_answers_comparable_and_with_nothing_else() -> None:
    same = [Study(limit=3), Study(store="elsewhere"), Study(concurrency=1), Study(judge_replicates=2)]
    other = [Study(points="messages:20"), Study(history="chain"), Study(tokenizer="cl100k_base")]
    assert {study.study_key for study in same} == {Study().study_key}
    assert len({study.study_key for study in [Study(), *other]}) == 4


def test_a_list_in_the_place_of_a_value_is_a_method_for_each() -> None:
    swept = make_study({"strategies": "head_tail(head=[1,2],tail=[5,8]),none"}).methods()
    assert [m.name for m in swept] == [
        "head_tail(head=1,tail=5)",
        "head_tail(head=1)",
        "head_tail(tail=5)",
        "head_tail",
        "none",
    ]
    for wrong, said in (
        ("ours = head_tail(tail=[5])", "no name of its own"),
        ("head_tail(tail=[])", "values in every"),
    ):
        with pytest.raises(UsageError, match=f"--strategies: .*expected {said}"):
            make_study({"strategies": wrong})


def test_a_set_of_methods_stands_for_its_members_and_each_stands_once() -> None:
    ladder = [m.name for m in make_study({"strategies": "@recency-ladder"}).methods()]
    assert ladder == [
        "empty",
        "recency(share=0.02)",
        "recency(share=0.05)",
        "recency",
        "recency(share=0.2)",
        "recency(share=0.4)",
        "none",
    ]
    defaults = [m.name for m in make_study({}).methods()]
    assert [name for name in defaults if name.startswith("recency")] == ["recency"]
    assert [m.name for m in make_study({"strategies": "@defaults"}).methods()] == defaults
    together = [m.name for m in make_study({"strategies": "head_tail, @recency-ladder,@defaults"}).methods()]
    assert together[:8] == ["head_tail", *ladder]
    assert sorted(together) == sorted({*defaults, *ladder})


def test_an_unknown_set_of_methods_is_answered_with_those_that_there_are() -> None:
    said = "unknown set of methods '@zzz'; there are @defaults, @all, @recency-ladder and families such as @openhands"
    with pytest.raises(UsageError, match=f"^--strategies: {said}$"):
        make_study({"strategies": "none,@zzz"})


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"strategies": "@defualts"}, "unknown set of methods '@defualts' (did you mean @defaults?)"),
        (
            {"strategies": "none,@recency-lader"},
            "unknown set of methods '@recency-lader' (did you mean @recency-ladder?)",
        ),
        ({"strategies": "head_tial"}, "unknown strategy 'head_tial' (did you mean head_tail?)"),
        ({"strategies": "Mask_SWEagnt"}, "unknown strategy 'Mask_SWEagnt' (did you mean mask_sweagent?)"),
        ({"strategies": "head_tail(tial=3)"}, "it has: head, tail (did you mean tail?)"),
        ({"strategies": "af_py_truncation(metric=token)"}, "not 'token' (did you mean tokens?)"),
        ({"judge": "opnai:gpt-5.2"}, "found 'opnai:gpt-5.2' (did you mean openai?)"),
        ({"tokenizer": "o200k"}, "found 'o200k' (did you mean o200k_base?)"),
        ({"rubric": "software_enginering"}, "no rubric 'software_enginering' (did you mean software_engineering?)"),
    ],
)
def test_a_slip_in_a_name_is_answered_with_what_was_meant(flags: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_study(flags)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 250, "and with no list of all names"


def test_strategies_default_to_all_and_each_stands_once() -> None:
    assert len(Study().methods()) > 3
    assert [m.name for m in make_study({"strategies": "none, empty,none"}).methods()] == ["none", "empty"]


def test_the_study_in_the_documentation_is_a_study(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
    path = write(tmp_path, page.split("```toml\n")[1].split("```")[0])
    assert make_study({}, path).strategies == ("none", "empty", "head_tail(tail=20)")


def test_a_study_file_composes_methods_and_names_them(tmp_path: Path) -> None:
    text = """
strategies = ["none", "ours"]

[[methods]]
name = "ours"
trigger = "tokens>16000"
steps = ["af_py_tool_result", "head_tail(tail=20) when messages>50"]
budget = 16000

[[methods]]
name = "short tail"
strategy = "head_tail"
params = { tail = 3 }
"""
    path = write(tmp_path, text)
    assert [method.name for method in make_study({}, path).methods()] == ["none", "ours", "short tail"], "wanted too"
    named = make_study({"strategies": ("short tail", "empty")}, path)
    assert [(method.name, method.spec) for method in named.methods()] == [
        ("short tail", "head_tail(tail=3)"),
        ("empty", "empty"),
    ]
    everything = make_study({}, write(tmp_path, text.replace("strategies =", "sources ="))).methods()
    assert {"none", "ours", "short tail", "head_tail"} <= {method.name for method in everything}
    assert make_study({}, path).as_dict()["named_methods"][1] == "short tail = head_tail(tail=3)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[methods]]\nname = "x"\n', "line 1: methods: method 'x' needs either strategy or steps"),
        ('limit = 1\n[[methods]]\nname = "x"\nsteps = ["nun"]\n', "line 2: methods: unknown strategy 'nun'"),
        ('methods = "x"\n', "line 1: methods: expected tables [[methods]]"),
        ('[[methods]]\nname = "x"\nstrategy = "none"\ntrigger = "tokens"\n', "trigger 'tokens': expected one of"),
        ('[[methods]]\nname = "x"\nstrategy = "none"\n' * 2, "two methods are called 'x'"),
        (
            '[[methods]]\nname = "x"\nstrategy = "none"\n[[methods]]\nname = "y"\nstrategy = "none"\n',
            "'x' and 'y' are the same method",
        ),
        ('named_methods = ["x = none"]\n', "unknown key"),
    ],
)
def test_a_composition_that_is_wrong_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_study({}, write(tmp_path, text))
    assert said in str(caught.value)
