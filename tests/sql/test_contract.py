"""The store as analysts find it: tables, views, columns, comments."""

from __future__ import annotations

import re
from hashlib import sha256
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlfluff.core import FluffConfig, Linter

from flows.database.database_draft import MATERIALIZED, build_database
from flows.database.scores_db import connect, violations
from flows.database.sql_model import grain_of, relations, schemas
from tests.sql.loaded import make_loaded

SQL = Path(__file__).parents[2] / "sql"
FILES = sorted(SQL.rglob("*.sql"))

TABLES = {
    "sessions": "session_id source_format source_path title task_type n_messages n_tokens started_at",
    "points": "point_id session_id cycle cut_seq tokens_before",
    "methods": "method_id method strategy params peer peer_version mode needs_model",
    "compactions": "compaction_id point_id method_id replicate status tokens_before tokens_after seconds cost_usd "
    "error",
    "probes": "probe_id point_id probe_type question ground_truth evidence",
    "answers": "answer_id compaction_id session_id probe_id replicate text status cost_usd error",
    "comparisons": "comparison_id session_id judge_id judge probe_id answer_a answer_b first outcome reasoning is_same "
    "error",
    "judges": "judge_id judge model rubric prompt_sha256 protocol params created_at",
    "scores": "answer_id session_id judge_id judge_replicate dimension criterion score unscored_reason reasoning",
    "verdicts": "answer_id judge_id judge_replicate stated_overall stated_dimensions asked_again",
    "calls": "stage model input_tokens output_tokens cost_usd cached seconds status",
    "human_scores": "answer_id rater criterion score sample_id",
    "judge_validity": "judge_id judge alteration about n n_unscored mean ci_low ci_high effect effect_low "
    "effect_high required_low required_high passes measured_at",
    "label_samples": "sample_id answer_id judge_id probability probe_type score_band seed drawn_at",
    "night_figures": "night taken_at run_id engine judge_id judge method_id method dimension mean std_error n_answers "
    "n_sessions rank",
    "night_sums": "night judge_id method dimension session_id content_sha256 score_sum n_answers",
    "anchor_scores": "answer_id judge_id taken_on dimension criterion score unscored_reason",
    "published_leaderboard": "method overall",
    "runs": "study versions counts started_at ended_at status",
    "run_stages": "run_id stage unit started_at seconds busy_seconds cpu_seconds driver_cpu_seconds peak_memory_bytes "
    "tasks retries done failed items_left sessions sessions_settled",
    "criteria": "rubric criterion dimension weight question",
    "probes_not_asked": "point_id probe_type reason prober status",
    "quarantine": "source_path line reason excerpt",
    "inputs": "input_path source_format n_sessions n_folded n_messages n_quarantined",
    "messages_met": "input_path kind n_met",
    "set_aside": "input_path kind reason n_set_aside",
    "folded_sessions": "recorded_id input_path folded_into",
    "masked_secrets": "input_path kind n_masked",
    "needs": "point_id number kind value observation_seq observation_tokens needed_at turns_after",
    "measures": "compaction_id status error n_needs n_lost lost n_fetches refetch_tokens",
    "statement_states": "compaction_id session_id probe_id position since state support lines with_fetched",
    "replay_calls": "session_id method_id seq input_tokens cached_tokens output_tokens",
    "next_actions": "next_action_id session_id point_id compaction_id method_id repetition status error tool kind "
    "target program with_full with_full_again with_session reason",
    "price_lists": "price_list source input cached_input cache_write output above",
    "checks": "invariant violations meaning",
    "store_info": "schema_version sql_sha256 made_by store_format tokenizer study_key made_at",
}
VIEWS = {
    "leaderboard": "judge_id judge method overall overall_of_dimensions accuracy context_awareness artifact_trail "
    "completeness continuity instruction_following n_answers n_sessions n_unscored tokens_removed rank tie_group",
    "leaderboard_long": "judge_id judge method dimension mean std_error ci_low ci_high n_answers n_sessions",
    "paired_differences": "judge_id judge dimension method_a method_b difference std_error ci_low ci_high p_value"
    " p_adjusted n_pairs n_sessions detectable_difference",
    "leaderboard_by_task_type": "judge_id judge method task_type dimension mean",
    "leaderboard_by_length": "judge_id judge method length dimension mean",
    "leaderboard_by_probe_type": "judge_id judge method probe_type dimension mean",
    "leaderboard_by_cycle": "judge_id judge method cycle dimension mean",
    "pareto": "judge_id judge method overall tokens_kept tokens_after fetched_tokens tokens_read on_frontier "
    "dominated_by distance p_adjusted is_beyond_noise",
    "matched_budget": "judge_id judge method overall recency_overall difference std_error ci_low ci_high p_value "
    "p_adjusted n_pairs n_sessions n_outside",
    "leaderboard_corrected": "judge_id judge method dimension raw_mean raw_ci_low raw_ci_high corrected std_error "
    "ci_low ci_high n_answers n_labelled n_sessions_labelled judge_weight rectifier rectifier_of undefined_because",
    "moved": "judge_id judge method dimension mean_then mean difference std_error ci_low ci_high p_value p_adjusted "
    "is_beyond_noise difference_same",
    "nights": "night taken_at judge_id judge method overall change std_error rank n_answers n_sessions",
    "judge_drift": "judge_id judge taken_on dimension mean_first mean shift std_error ci_low ci_high",
    "judge_agreement": "kind rater_a rater_b judge_a judge_b level item n_answers n_sessions exact within_one kappa "
    "alpha_ordinal alpha_interval icc pearson spearman mean_difference std_error ci_low ci_high",
    "judge_bridge": "judge_id_from judge_id_to judge_from judge_to method dimension mean_from mean_to shift std_error "
    "ci_low ci_high n_answers n_sessions rank_from rank_to n_flips flipped_with n_flips_beyond_noise",
    "criterion_quality": "judge_id judge criterion dimension n_answers n_unscored mean std_dev share_at_ceiling "
    "share_at_floor range_of_methods",
    "variance_components": "judge_id judge dimension var_session var_compaction var_answer var_judge",
    "compression": "method tokens_before tokens_after tokens_removed n_grew seconds cost_usd",
    "coverage": "method stage expected done failed unscored missing",
    "costs": "stage model",
    "message_fates": "compaction_id seq fate covered_by",
    "accounting": "input_path source_format kind n_met n_stored n_set_aside n_folded n_unaccounted",
    "accounting_by_format": "source_format kind n_inputs n_met n_stored n_set_aside n_folded n_unaccounted",
    "intake_by_format": "source_format n_inputs n_sessions n_copies messages stored set_aside in_copies",
    "set_aside_by_reason": "source_format kind reason n_inputs n_set_aside",
    "families": "family_id session_id parent_session_id kind depth n_own n_inherited",
    "tokens_per_task": "method context_tokens refetch_tokens tokens_per_task break_even_turns break_even_turns_cached",
    "artifact_exact": "compaction_id point_id method method_id created_precision created_recall modified_precision "
    "modified_recall read_precision read_recall any_precision any_recall",
    "artifact_exact_by_method": "method method_id files pooled_precision pooled_recall",
    "fact_survival": "method method_id age kind share std_error ci_low ci_high n_facts n_sessions",
    "token_price_ratios": "kind ratio source",
    "variance_components_by_method": "judge_id judge dimension method var_session var_question var_compaction "
    "var_answer var_judge",
    "messages": "session_id seq role text reasoning tool_calls tool_call_id tool_name is_error tokens source_ref",
    "contexts": "compaction_id position seq role text",
    "backfill_progress": "judge_id judge day method n_answers n_judged n_failed n_left",
    "coverage_by_judge": "judge_id judge method expected done unscored missing",
    "leaderboard_by_source": "judge_id judge method source dimension mean",
    "leaderboard_by_resolved": "judge_id judge method resolved dimension mean",
    "leaderboard_by_exit_status": "judge_id judge method exit_status dimension mean",
    "reliability": "judge_id dimension methods n_methods n_sessions split_half",
    "against_baseline": "judge_id judge dimension baseline method difference std_error ci_low ci_high p_value "
    "p_adjusted p_fdr p_not_worse p_not_worse_adjusted p_equivalent p_equivalent_adjusted says "
    "detectable_difference n_pairs n_sessions df is_control is_default baseline_id method_id",
    "rank_intervals": "judge_id method rank_low rank_high p_best p_best_three method_id",
    "replay_cost": "method price_list usd_per_session session_ci_low session_ci_high usd_per_task task_ci_low "
    "task_ci_high share_of_none usd_without_cache summary_usd read_tokens written_tokens uncached_tokens output_tokens",
    "next_action": "method n_points changed noise effect std_error ci_low ci_high p_value p_adjusted same equivalent "
    "as_session full_as_session n_known n_sessions",
    "recovery": "judge_id judge method has_pointers score_without score_with difference std_error ci_low ci_high "
    "p_value tokens_before tokens_without tokens_with share_fetched n_fetches n_probes n_sessions method_id "
    "recovering_id n_clusters",
    "lost_statements": "session_id cycle method kind text state stated_at needed_at lines support "
    "with_fetched evidence",
    "answers_side_by_side": "judge_id judge session_id cycle probe_type question ground_truth method answer score "
    "baseline baseline_answer baseline_score difference",
    "cliffs": "judge_id judge method cycle before after fall ci_low ci_high n_sessions is_cliff method_id is_current "
    "n_clusters",
    "fronts": "judge_id method kept cost cost_in on_front line method_id",
    "judge_remarks": "judge judge_id item n n_answers detail",
    "pair_results": "judge_id judge method_a method_b share_a std_error ci_low ci_high p_value n_questions n_a n_ties "
    "n_b n_same n_agreeing n_sessions n_clusters",
    "pair_position": "judge_id judge share_first std_error ci_low ci_high p_value n_comparisons n_first n_second "
    "n_clusters",
    "panel_agreement": "panel_id panel member_a member_b level item n_answers exact within_one kappa pearson "
    "mean_difference ci_low ci_high",
    "compaction_sizes": "judge_id judge method size tokens_after retention score whole against_none change std_error "
    "ci_low ci_high p_value p_adjusted p_not_worse_adjusted p_equivalent_adjusted says n_pairs n_sessions n_questions "
    "method_id",
    "retention": "judge_id method dimension retention ci_low ci_high n_questions n_sessions",
}
"""Every mart and two more views: the columns that the public contract fixes, in their order; more may follow."""
MARTS = sorted(path.stem for layer in ("marts", "boards") for path in (SQL / layer).glob("*.sql"))


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    """Of an empty store: (relation, comment) and (relation, column, comment)."""
    path = tmp_path_factory.mktemp("empty") / "scores.duckdb"
    build_database({}, path)
    relations = "FROM {0}() WHERE database_name = 'store' AND schema_name = 'main' AND NOT internal"
    with connect(path) as connection:
        found = {
            kind: connection.execute(f"SELECT {kind}_name, comment {relations.format(f'duckdb_{kind}s')}").fetchall()
            for kind in ("table", "view")
        }
        found["column"] = connection.execute(
            f"SELECT table_name, column_name, comment {relations.format('duckdb_columns')} ORDER BY column_index"
        ).fetchall()
    return found


def columns(described: dict[str, list[tuple[Any, ...]]], relation: str) -> list[str]:
    return [column for found, column, _ in described["column"] if found == relation]


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_table_has_the_contracts_columns(described: dict[str, list[tuple[Any, ...]]], table: str) -> None:
    assert set(TABLES[table].split()) <= set(columns(described, table))


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_a_view_has_the_contracts_columns_first(described: dict[str, list[tuple[Any, ...]]], view: str) -> None:
    expected = VIEWS[view].split()
    assert columns(described, view)[: len(expected)] == expected


def test_every_table_is_listed_here(described: dict[str, list[tuple[Any, ...]]]) -> None:
    assert {name for name, _ in described["table"]} == set(TABLES) == set(schemas())


@pytest.mark.parametrize("mart", MARTS)
def test_a_mart_is_in_every_place(mart: str) -> None:
    page = (SQL.parent / "docs" / "sql.md").read_text(encoding="utf-8")
    places = {
        "its columns in VIEWS of tests/sql/test_contract.py": bool(VIEWS.get(mart)),
        "a word on it in docs/sql.md": f"`{mart}`" in page,
    }
    missing = [place for place, there in places.items() if not there]
    assert missing == [], f"the mart {mart} lacks: {'; '.join(missing)}"


def test_no_view_is_listed_here_that_is_not_there() -> None:
    assert set(VIEWS) == {*MARTS, "token_price_ratios"}


def test_every_table_and_view_has_a_comment_that_says_its_grain(
    described: dict[str, list[tuple[Any, ...]]],
) -> None:
    for name, comment in described["table"] + described["view"]:
        assert comment, name
        if not name.startswith("check_"):
            assert "one row per" in comment.lower(), name


def test_every_column_has_a_comment(described: dict[str, list[tuple[Any, ...]]]) -> None:
    """But those of a check's violations, which are named for what they are taken from."""
    bare = [(t, c) for t, c, comment in described["column"] if not comment and not t.startswith("check_")]
    assert bare == []


def test_a_view_with_a_methods_id_has_its_name_beside_it(described: dict[str, list[tuple[Any, ...]]]) -> None:
    """But stg_ views, which are a table's rows and stand before the names, and checks of keys, whose rows are keys."""
    names = [name for name, _ in described["view"] if not name.startswith(("stg_", "check_unique_"))]
    assert len(names) > 80
    bare = [
        (name, column)
        for name in names
        for column in columns(described, name)
        if re.fullmatch("method_id(_[ab])?", column) and column.replace("_id", "") not in columns(described, name)
    ]
    assert bare == []


def test_an_empty_store_answers_every_view(tmp_path: Path, described: dict[str, list[tuple[Any, ...]]]) -> None:
    path = tmp_path / "scores.duckdb"
    build_database({}, path)
    with connect(path) as connection:
        counts = {name: len(connection.execute(f"FROM {name}").fetchall()) for name, _ in described["view"]}
        assert violations(connection) == []
    assert {name for name, n in counts.items() if n} == {"coverage", "token_price_ratios"}


def test_every_query_of_people_and_pages_can_be_run(tmp_path: Path) -> None:
    """Those of backfills, nights and scorecards read tables that are made for them."""
    path = make_loaded({}, tmp_path)
    queries = [query for folder in ("ready", "report", "compare") for query in (SQL / "queries" / folder).glob("*.sql")]
    assert len(queries) > 15
    with connect(path) as connection:
        for query in queries:
            connection.execute(f"EXPLAIN {query.read_text(encoding='utf-8')}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_sql_file_opens_with_its_grain_and_makes_what_it_is_named_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("-- ")
    if path.parent.name in ("schema", "staging", "intermediate", "aggregates", "marts", "boards"):
        assert "one row per" in grain_of(text).lower()
        kind = "table" if path.parent.name == "schema" else "view"
        assert f"create {kind} {path.stem} " in text.replace("(", " (")
    if path.parent.name == "load":
        assert text.startswith("-- One row per")


def test_a_view_reads_only_layers_before_its_own() -> None:
    layers = ["schema", "staging", "intermediate", "aggregates", "marts", "boards"]
    names = {path.stem: layers.index(path.parent.name) for layer in layers for path in (SQL / layer).glob("*.sql")}
    for layer in layers[1:]:
        for path in (SQL / layer).glob("*.sql"):
            code = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--"))
            words = code.split()
            read = {b.strip("(),;") for a, b in pairwise(words) if a in ("from", "join")}
            own = set() if path.stem in MATERIALIZED else MATERIALIZED.keys()  # a load makes tables of them first
            later = [name for name in read - own if names.get(name, -1) >= layers.index(layer)]
            assert later == [], path.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_query_that_a_file_names_is_read_in_it(path: Path) -> None:
    """Also by a macro, which takes it by its name."""
    code = re.sub("--.*", "", path.read_text(encoding="utf-8"))
    named = re.findall(r"(\w+) as (?:materialized )?\(\s+select", code)
    assert [name for name in named if len(re.findall(rf"\b{name}\b", code)) < 2] == []


@pytest.fixture(scope="module")
def linter() -> Linter:
    return Linter(config=FluffConfig.from_path(str(SQL)))


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_sqlfluff_has_nothing_to_say(path: Path, linter: Linter, pytestconfig: pytest.Config) -> None:
    """Where it had nothing to say, it is not asked again about the same text with the same rules and settings."""
    assert len(FILES) > 60
    rules = [rule.code for rule in linter.get_rulepack().rules]
    asked = path.read_text("utf-8"), version("sqlfluff"), rules, list(linter.config.iter_vals())
    key = sha256(repr(asked).encode()).hexdigest()
    remembered = f"sqlfluff/{path.parent.name}/{path.stem}"
    assert pytestconfig.cache is not None
    if pytestconfig.cache.get(remembered, None) != key:
        [linted] = linter.lint_path(str(path)).files
        assert [f"{v.line_no} {v.rule_code()} {v.desc()}" for v in linted.get_violations()] == []
        pytestconfig.cache.set(remembered, key)


def test_every_relation_stands_in_the_schema_of_its_layer_too(tmp_path: Path) -> None:
    path = tmp_path / "scores.duckdb"
    build_database({}, path)
    with duckdb.connect(path, read_only=True) as connection:  # as other programs open it
        found = connection.execute(
            "SELECT view_name, schema_name FROM duckdb_views() WHERE schema_name <> 'main' AND NOT internal"
        ).fetchall()
        assert dict(found).keys() == relations()
        assert len(found) == len(relations())
        place = dict(found)
        assert (place["scores"], place["agg_variance"]) == ("raw", "staging")
        assert (place["leaderboard"], place["check_orphan_rows"]) == ("marts", "checks")
        for name, schema in found:
            assert connection.table(f"{schema}.{name}").columns == connection.table(f"main.{name}").columns
        [(comment,)] = connection.execute(
            "SELECT comment FROM duckdb_columns() WHERE schema_name = 'marts' AND column_name = 'overall_of_dimensions'"
            " AND table_name = 'leaderboard'"
        ).fetchall()
        assert comment
