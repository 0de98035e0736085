-- One row per method × replayed session that was replayed under `none` too: what its compactions did to the calls after
-- them, summed.
--
-- A compaction is seen in the first call that follows its point. What that call would have been sent without it is what
-- the call before was sent and what `none` has more in this call than in the one before: so each compaction is compared
-- with the context that the ones before it left.
create view agg_replayed_cuts as
with sent as (
    select
        own.session_id,
        own.method_id,
        own.seq,
        own.cached_tokens,
        own.input_tokens,
        lag(own.input_tokens) over calls as tokens_before,
        plain.input_tokens - lag(plain.input_tokens) over calls as said_since
    from replay_calls as own
    inner join replay_calls as plain on own.session_id = plain.session_id and own.seq = plain.seq
    inner join methods on plain.method_id = methods.method_id
    where methods.strategy = 'none'
    window calls as (partition by own.session_id, own.method_id order by own.seq)
),

first_calls as (
    select
        points.session_id,
        min(replay_calls.seq) as seq
    from points
    inner join replay_calls on points.session_id = replay_calls.session_id and points.cut_seq <= replay_calls.seq
    group by points.session_id, points.point_id
),

compared as (
    select
        sent.session_id,
        sent.method_id,
        sent.tokens_before - sent.cached_tokens as unread_tokens,
        sent.tokens_before + sent.said_since - sent.input_tokens as removed_tokens,
        sent.seq in (
            select first_calls.seq
            from first_calls
            where first_calls.session_id = sent.session_id
        ) as is_first
    from sent
)

select
    session_id,
    method_id,
    (select any_value(m.method) from stg_methods as m where m.method_id = compared.method_id) as method,
    cast(sum(unread_tokens) filter (where is_first) as bigint) as unread_tokens,  -- Tokens that the calls before were
    -- sent and that the first calls after a compaction cannot read from the cache
    cast(sum(removed_tokens) filter (where is_first) as bigint) as removed_tokens,  -- Tokens that these calls were not
    -- sent any more
    bool_or(removed_tokens <> 0 and not is_first) as removes_between  -- Whether other calls were sent less, too: the
    -- method works at every call
from compared
group by session_id, method_id;
