"""Arrow schemas of every Parquet file in the store, one place.

``session_id`` stands in every shard, so that a batch of sessions finds its rows; ids are hashes
(``flows.support.ids``).
"""

from __future__ import annotations

import pyarrow as pa

TOOL_CALLS = pa.list_(pa.struct([("id", pa.string()), ("name", pa.string()), ("arguments", pa.string())]))

MESSAGES = pa.schema(
    [
        ("session_id", pa.string()),
        ("seq", pa.int32()),
        ("role", pa.string()),
        ("text", pa.string()),
        ("reasoning", pa.string()),
        ("tool_calls", TOOL_CALLS),
        ("tool_call_id", pa.string()),
        ("tool_name", pa.string()),
        ("is_error", pa.bool_()),
        ("tokens", pa.int32()),
        ("source_ref", pa.string()),
        ("timestamp", pa.string()),
        ("author", pa.string()),
    ]
)
"""One row a message; the rows of a session lie together, in order."""

POINTS = pa.schema(
    [
        ("session_id", pa.string()),
        ("content_sha256", pa.string()),
        ("points_spec", pa.string()),
        (
            "points",
            pa.list_(
                pa.struct(
                    [
                        ("point_id", pa.string()),
                        ("cycle", pa.int32()),
                        ("cut_seq", pa.int32()),
                        ("tokens_before", pa.int64()),
                    ]
                )
            ),
        ),
    ]
)
"""One row a session as it was and a points spec; an empty list where the session has no point."""

CALL = pa.struct(
    [
        ("model", pa.string()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("seconds", pa.float64()),
    ]
)

CONTEXT_MESSAGE = pa.struct(
    [
        ("seq", pa.int32()),
        ("role", pa.string()),
        ("text", pa.string()),
        ("reasoning", pa.string()),
        ("tool_calls", pa.string()),
        ("tool_call_id", pa.string()),
        ("tool_name", pa.string()),
        ("is_error", pa.bool_()),
        ("covers", pa.list_(pa.int32())),
        ("tokens", pa.int32()),
        ("opaque", pa.string()),
    ]
)
"""A message of a compacted context. One that stayed as it was has its ``seq`` and nothing else."""

KINDS = pa.struct([(kind, pa.int64()) for kind in ("system", "user", "assistant", "tool", "made")])
"""Tokens by role; ``made`` for messages that a strategy made."""

MADE = pa.struct(
    [("position", pa.int32()), ("role", pa.string()), ("tokens", pa.int64()), ("covers", pa.list_(pa.int32()))]
)
"""A message that a strategy made: where it stands in the context, and which messages it stands for."""

COMPACTIONS = pa.schema(
    [
        ("compaction_id", pa.string()),
        ("session_id", pa.string()),
        ("point_id", pa.string()),
        ("points_spec", pa.string()),
        ("method_id", pa.string()),
        ("replicate", pa.int32()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("tokens_before", pa.int64()),
        ("tokens_after", pa.int64()),
        ("seconds", pa.float64()),
        ("cost_usd", pa.float64()),
        ("kept", pa.list_(pa.int32())),
        ("edited", pa.list_(pa.int32())),
        ("covered", pa.list_(pa.int32())),
        ("dropped", pa.list_(pa.int32())),
        ("made", pa.list_(MADE)),
        ("before_by_kind", KINDS),
        ("after_by_kind", KINDS),
        ("flags", pa.list_(pa.string())),
        ("n_kept", pa.int32()),
        ("n_edited", pa.int32()),
        ("n_covered", pa.int32()),
        ("n_dropped", pa.int32()),
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
        ("probe_id", pa.string()),
        ("session_id", pa.string()),
        ("point_id", pa.string()),
        ("probe_type", pa.string()),
        ("prober", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("question", pa.string()),
        ("ground_truth", pa.string()),
        ("evidence", pa.string()),
        ("facts", pa.string()),
        ("max_tokens", pa.int32()),
    ]
)
"""One row a point and probe type; ``status`` is ``done``, ``not_asked`` or ``failed``, the last two with a reason."""

ANSWERS = pa.schema(
    [
        ("answer_id", pa.string()),
        ("session_id", pa.string()),
        ("compaction_id", pa.string()),
        ("probe_id", pa.string()),
        ("replicate", pa.int32()),
        ("responder", pa.string()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("text", pa.string()),
        ("n_tokens", pa.int32()),
        ("fetched_tokens", pa.int64()),
        ("model", pa.string()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("seconds", pa.float64()),
        ("answered_at", pa.timestamp("us")),
    ]
)

SCORES = pa.schema(
    [
        ("answer_id", pa.string()),
        ("session_id", pa.string()),
        ("judge_id", pa.string()),
        ("judge_replicate", pa.int32()),
        ("dimension", pa.string()),
        ("criterion", pa.string()),
        ("status", pa.string()),
        ("score", pa.float64()),
        ("unscored_reason", pa.string()),
        ("reasoning", pa.string()),
        ("stated_overall", pa.float64()),
        ("stated_dimensions", pa.string()),
        ("asked_again", pa.bool_()),
    ]
)
"""``status`` is ``failed`` where the judge gave no verdict: unscored, and asked again at the next run.

``stated_…`` is what a model said of its totals, the same in all rows of a verdict; nothing is computed from it."""

LABELS = pa.schema(
    [
        ("answer_id", pa.string()),
        ("rater", pa.string()),
        ("criterion", pa.string()),
        ("score", pa.float64()),
        ("sample_id", pa.string()),
        ("notes", pa.string()),
        ("labelled_at", pa.timestamp("us")),
    ]
)
"""One row an answer, rater and criterion; ``notes`` is what the rater wrote about the answer, the same in all rows."""

LABEL_SAMPLES = pa.schema(
    [
        ("sample_id", pa.string()),
        ("answer_id", pa.string()),
        ("judge_id", pa.string()),
        ("probability", pa.float64()),
        ("probe_type", pa.string()),
        ("score_band", pa.string()),
        ("seed", pa.string()),
        ("drawn_at", pa.timestamp("us")),
    ]
)
"""One row a sample and answer that was drawn for people to label."""

ANCHOR_SCORES = pa.schema(
    [
        ("answer_id", pa.string()),
        ("session_id", pa.string()),
        ("judge_id", pa.string()),
        ("taken_on", pa.date32()),
        ("dimension", pa.string()),
        ("criterion", pa.string()),
        ("status", pa.string()),
        ("score", pa.float64()),
        ("unscored_reason", pa.string()),
    ]
)
"""One row an anchor answer, judge, day of taking and criterion; ``status`` as in ``SCORES``."""

NEEDS = pa.schema(
    [
        ("needs_id", pa.string()),
        ("session_id", pa.string()),
        ("point_id", pa.string()),
        ("status", pa.string()),
        ("error", pa.string()),
        (
            "needs",
            pa.list_(
                pa.struct(
                    [
                        ("kind", pa.string()),
                        ("value", pa.string()),
                        ("observation_seq", pa.int32()),
                        ("observation_tokens", pa.int64()),
                        ("needed_at", pa.int32()),
                        ("turns_after", pa.int32()),
                    ]
                )
            ),
        ),
    ]
)
"""One row a point of a session as it is and a version of the measuring code."""

MEASURES = pa.schema(
    [
        ("measure_id", pa.string()),
        ("session_id", pa.string()),
        ("compaction_id", pa.string()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("seconds", pa.float64()),
        *((f"n_{what}{end}", pa.int32()) for what in ("paths", "identifiers", "quotes") for end in ("", "_lost")),
        ("n_needs", pa.int32()),
        ("n_lost", pa.int32()),
        ("lost", pa.list_(pa.int32())),
        ("fetched", pa.list_(pa.int32())),
        ("n_fetches", pa.int32()),
        ("refetch_tokens", pa.int64()),
        ("summary_calls", pa.int32()),
        ("summary_input_tokens", pa.int64()),
        ("summary_output_tokens", pa.int64()),
        *(
            (f"n_{use}_{what}", pa.int32())
            for use in ("created", "modified", "read", "any")
            for what in ("true", "told", "right")
        ),
        (
            "facts",
            pa.list_(
                pa.struct(
                    [
                        ("probe_id", pa.string()),
                        ("positions", pa.list_(pa.int32())),
                        ("stated", pa.list_(pa.bool_())),
                    ]
                )
            ),
        ),
    ]
)
"""One row a compaction, its session and probes as they are, and a version of the measuring code.

``status`` is ``done``, ``failed``, or ``opaque`` where only a provider can read the context; the last two with the
reason in ``error``."""

NIGHTS = pa.schema(
    [
        ("study_key", pa.string()),
        ("night", pa.int32()),
        ("taken_at", pa.timestamp("us")),
        ("run_id", pa.string()),
        ("engine", pa.string()),
        ("judge_id", pa.string()),
        ("judge", pa.string()),
        ("method_id", pa.string()),
        ("method", pa.string()),
        ("dimension", pa.string()),
        ("mean", pa.float64()),
        ("std_error", pa.float64()),
        ("n_sessions", pa.int64()),
        ("rank", pa.int64()),
        ("n_answers", pa.int64()),
        ("session_id", pa.string()),
        ("content_sha256", pa.string()),
        ("score_sum", pa.float64()),
        ("is_open", pa.bool_()),
    ]
)
"""One row a night, judge, method and dimension with the figures, and one (``session_id`` is set) a session of it whose
sum or text is not as the night before."""

CALLS = pa.schema(
    [
        ("call_id", pa.string()),
        ("run_id", pa.string()),
        ("stage", pa.string()),
        ("item_id", pa.string()),
        ("model", pa.string()),
        ("key", pa.string()),
        ("input_tokens", pa.int64()),
        ("output_tokens", pa.int64()),
        ("cost_usd", pa.float64()),
        ("cached", pa.bool_()),
        ("seconds", pa.float64()),
        ("status", pa.string()),
        ("error", pa.string()),
        ("started_at", pa.string()),
    ]
)
"""One row a try of a model call that was sent, and a use of a cached answer."""
