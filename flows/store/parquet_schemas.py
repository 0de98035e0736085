"""Arrow schemas of every Parquet file in the store, one place.

``session_id`` stands in every shard, so that a batch of sessions finds its rows; ids are hashes
(``flows.support.ids``).
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa


def _fields(type: pa.DataType, names: str) -> list[tuple[str, pa.DataType]]:
    """Fields of one type, whose names stand in one text."""
    return [(name, type) for name in names.split()]


_texts = partial(_fields, pa.string())
_ints = partial(_fields, pa.int32())
_longs = partial(_fields, pa.int64())
_floats = partial(_fields, pa.float64())
_int_lists = partial(_fields, pa.list_(pa.int32()))

TOOL_CALLS = pa.list_(pa.struct(_texts("id name arguments")))

MESSAGES = pa.schema(
    [
        ("session_id", pa.string()),
        ("seq", pa.int32()),
        *_texts("role text reasoning"),
        ("tool_calls", TOOL_CALLS),
        *_texts("tool_call_id tool_name"),
        ("is_error", pa.bool_()),
        ("tokens", pa.int32()),
        *_texts("source_ref timestamp author"),
    ]
)
"""One row a message; the rows of a session lie together, in order."""

POINT = pa.struct([("point_id", pa.string()), *_ints("cycle cut_seq"), ("tokens_before", pa.int64())])
"""Where the history of a session is compacted."""

POINTS = pa.schema([*_texts("session_id content_sha256 points_spec"), ("points", pa.list_(POINT))])
"""One row a session as it was and a points spec; an empty list where the session has no point."""

CALL = pa.struct([("model", pa.string()), *_longs("input_tokens output_tokens"), *_floats("cost_usd seconds")])

CONTEXT_MESSAGE = pa.struct(
    [
        ("seq", pa.int32()),
        *_texts("role text reasoning tool_calls tool_call_id tool_name"),
        ("is_error", pa.bool_()),
        ("covers", pa.list_(pa.int32())),
        ("tokens", pa.int32()),
        ("opaque", pa.string()),
    ]
)
"""A message of a compacted context. One that stayed as it was has its ``seq`` and nothing else."""

KINDS = pa.struct(_longs("system user assistant tool made"))
"""Tokens by role; ``made`` for messages that a strategy made."""

MADE = pa.struct(
    [("position", pa.int32()), ("role", pa.string()), ("tokens", pa.int64()), ("covers", pa.list_(pa.int32()))]
)
"""A message that a strategy made: where it stands in the context, and which messages it stands for."""

COMPACTIONS = pa.schema(
    [
        *_texts("compaction_id session_id point_id points_spec method_id"),
        ("replicate", pa.int32()),
        *_texts("status error"),
        *_longs("tokens_before tokens_after"),
        *_floats("seconds cost_usd"),
        *_int_lists("kept edited covered dropped"),
        ("made", pa.list_(MADE)),
        ("before_by_kind", KINDS),
        ("after_by_kind", KINDS),
        ("flags", pa.list_(pa.string())),
        *_ints("n_kept n_edited n_covered n_dropped"),
        ("grew", pa.bool_()),
        ("invalid_context", pa.bool_()),
        ("calls", pa.list_(CALL)),
        ("context", pa.list_(CONTEXT_MESSAGE)),
    ]
)
"""One row a point, method and replicate; ``status`` is ``done``, ``failed`` or ``not_applicable``, the last two with
the reason in ``error``. In a chain the context of what is not applicable is the history as it was."""

PROBES = pa.schema(
    [
        *_texts("probe_id session_id point_id probe_type prober status reason question ground_truth evidence"),
        *_texts("statements"),
        ("max_tokens", pa.int32()),
    ]
)
"""One row a point and probe type; ``status`` is ``done``, ``not_asked`` or ``failed``, the last two with a reason."""

ANSWERS = pa.schema(
    [
        *_texts("answer_id session_id compaction_id probe_id"),
        ("replicate", pa.int32()),
        *_texts("responder status error text"),
        ("n_tokens", pa.int32()),
        ("fetched_tokens", pa.int64()),
        ("fetches", pa.list_(pa.string())),
        ("model", pa.string()),
        *_longs("input_tokens output_tokens"),
        *_floats("cost_usd seconds"),
        ("answered_at", pa.timestamp("us")),
    ]
)

NEXT_ACTIONS = pa.schema(
    [
        *_texts("next_action_id session_id content_sha256 point_id compaction_id"),
        ("repetition", pa.int32()),
        *_texts("responder code status error tool arguments kind target program"),
        *_texts("with_full with_full_again with_session reason model"),
        *_longs("input_tokens output_tokens"),
        *_floats("cost_usd seconds"),
    ]
)
"""One row a point and context from which the next action was asked for; ``compaction_id`` is NULL for the whole
history. ``status`` is ``done``, ``not_asked`` or ``failed``, the last two with the reason in ``error``."""

SCORES = pa.schema(
    [
        *_texts("answer_id session_id judge_id"),
        ("judge_replicate", pa.int32()),
        *_texts("dimension criterion status"),
        ("score", pa.float64()),
        *_texts("unscored_reason reasoning"),
        ("stated_overall", pa.float64()),
        ("stated_dimensions", pa.string()),
        ("asked_again", pa.bool_()),
    ]
)
"""``status`` is ``failed`` where the judge gave no verdict: unscored, and asked again at the next run.

``stated_…`` is what a model said of its totals, the same in all rows of a verdict; nothing is computed from it."""

LABELS = pa.schema(
    [
        *_texts("answer_id rater criterion"),
        ("score", pa.float64()),
        *_texts("sample_id notes"),
        ("labelled_at", pa.timestamp("us")),
    ]
)
"""One row an answer, rater and criterion; ``notes`` is what the rater wrote about the answer, the same in all rows."""

LABEL_SAMPLES = pa.schema(
    [
        *_texts("sample_id answer_id judge_id"),
        ("probability", pa.float64()),
        *_texts("probe_type score_band seed"),
        ("drawn_at", pa.timestamp("us")),
    ]
)
"""One row a sample and answer that was drawn for people to label."""

ANCHOR_SCORES = pa.schema(
    [
        *_texts("answer_id session_id judge_id"),
        ("taken_on", pa.date32()),
        *_texts("dimension criterion status"),
        ("score", pa.float64()),
        ("unscored_reason", pa.string()),
    ]
)
"""One row an anchor answer, judge, day of taking and criterion; ``status`` as in ``SCORES``."""

COMPARISONS = pa.schema(
    [
        *_texts("comparison_id session_id judge_id judge probe_id answer_a answer_b first status outcome reasoning"),
        ("is_same", pa.bool_()),
        ("error", pa.string()),
    ]
)
"""One row a pair of answers, order and judge; ``first`` is ``a`` or ``b``, ``outcome`` too, or ``tie``.

``status`` is ``failed`` where there is no verdict: it is asked for again at the next time. ``is_same``: both answers
are the same text, which is a tie that nobody was asked for."""

NEED = pa.struct(
    [
        *_texts("kind value"),
        ("observation_seq", pa.int32()),
        ("observation_tokens", pa.int64()),
        *_ints("needed_at turns_after"),
    ]
)
"""What was observed before the point and is needed after it."""

NEEDS = pa.schema([*_texts("needs_id session_id point_id status error"), ("needs", pa.list_(NEED))])
"""One row a point of a session as it is and a version of the measuring code."""

STATE = pa.struct(
    [
        ("probe_id", pa.string()),
        ("position", pa.int32()),
        *_texts("since state"),
        ("support", pa.float64()),
        ("lines", pa.string()),
        ("with_fetched", pa.float64()),
        ("fetched_lines", pa.string()),
    ]
)
"""What a context tells of one statement of a probe."""

MEASURES = pa.schema(
    [
        *_texts("measure_id session_id compaction_id status error"),
        ("seconds", pa.float64()),
        *_ints("n_paths n_paths_lost n_identifiers n_identifiers_lost n_quotes n_quotes_lost n_needs n_lost"),
        *_int_lists("lost fetched"),
        ("n_fetches", pa.int32()),
        ("refetch_tokens", pa.int64()),
        ("summary_calls", pa.int32()),
        *_longs("summary_input_tokens summary_output_tokens"),
        *(
            (f"n_{use}_{what}", pa.int32())
            for use in ("created", "modified", "read", "any")
            for what in ("true", "told", "right")
        ),
        ("states", pa.list_(STATE)),
        ("code", pa.string()),
    ]
)
"""One row a compaction, its session and probes as they are, and a version of the measuring code.

``status`` is ``done``, ``failed``, or ``opaque`` where only a provider can read the context; the last two with the
reason in ``error``. ``states`` has one entry a statement of the probes until the compaction's point: what the context
tells of it, and how far it can be read with what the method fetches for the question (``with_fetched``, NULL where it
fetches nothing). ``code`` is the version of the measures."""

REPLAYED_CALL = pa.struct([("seq", pa.int32()), *_longs("input_tokens cached_tokens output_tokens")])
"""One model call of a session (``compaction.measures.replay.ReplayedCall``)."""

REPLAYS = pa.schema(
    [
        *_texts("replay_id session_id content_sha256 method_id points_spec code status error"),
        ("seconds", pa.float64()),
        ("calls", pa.list_(REPLAYED_CALL)),
    ]
)
"""One row a session as it is and a method: its calls as they would have been. ``code`` is the replay's version."""

NIGHTS = pa.schema(
    [
        ("study_key", pa.string()),
        ("night", pa.int32()),
        ("taken_at", pa.timestamp("us")),
        *_texts("run_id engine judge_id judge method_id method dimension"),
        *_floats("mean std_error"),
        *_longs("n_sessions rank n_answers"),
        *_texts("session_id content_sha256"),
        ("score_sum", pa.float64()),
        ("is_open", pa.bool_()),
    ]
)
"""One row a night, judge, method and dimension with the figures, and one (``session_id`` is set) a session of it whose
sum or text is not as the night before."""

CALLS = pa.schema(
    [
        *_texts("call_id run_id stage item_id model key"),
        *_longs("input_tokens output_tokens"),
        ("cost_usd", pa.float64()),
        ("cached", pa.bool_()),
        ("seconds", pa.float64()),
        *_texts("status error started_at"),
        *_longs("cached_input_tokens cache_write_tokens"),
    ]
)
"""One row a try of a model call that was sent, and a use of a cached answer."""
