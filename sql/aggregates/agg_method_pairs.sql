-- One row per judge × dimension (and 'overall') × pair of methods (method_id_a < method_id_b) with questions in common.
--
-- The difference a - b is paired on the probe: both methods' means over their replicates, for the probes that both
-- have a score for. So a compaction that failed under one method changes no comparison but by taking its probes out of
-- it. The standard error is clustered by session; NULL with a single session.
create view agg_method_pairs as
with probe_means as (
    select
        judge_id,
        method_id,
        dimension,
        session_id,
        probe_id,
        avg(score) as score
    from int_answer_scores
    group by judge_id, method_id, dimension, session_id, probe_id
),

session_differences as (
    select
        a.judge_id,
        a.dimension,
        a.method_id as method_id_a,
        b.method_id as method_id_b,
        a.session_id,
        sum(a.score - b.score) as difference_sum,
        count(*) as n_pairs
    from probe_means as a
    inner join probe_means as b
        on
            a.judge_id = b.judge_id
            and a.dimension = b.dimension
            and a.probe_id = b.probe_id
            and a.method_id < b.method_id
    group by a.judge_id, a.dimension, a.method_id, b.method_id, a.session_id
)

select
    judge_id,
    dimension,
    method_id_a,
    method_id_b,
    cluster_mean(difference_sum, n_pairs) as difference,
    cluster_std_error(difference_sum, n_pairs) as std_error,
    cast(sum(n_pairs) as bigint) as n_pairs,
    count(*) as n_sessions
from session_differences
group by judge_id, dimension, method_id_a, method_id_b;
