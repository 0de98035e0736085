-- One row per judge × dimension (and 'overall') × set of methods ('all', 'upper half'): how far the order of these
-- methods can be relied on.
--
-- The methods are the current ones without the controls, and the upper half is by their mean overall. split_half says
-- whether other sessions would give the same order: the correlation of the methods' means over two halves of the
-- sessions, stepped up to all sessions by Spearman and Brown (1910), averaged over eight divisions that are drawn by
-- hashes of the sessions' ids. 1 is best; from 0.7 on it is commonly called acceptable (Nunnally 1978).
--
-- A load makes a table of it (`flows.database.database_draft.MATERIALIZED`): it reads every score.
create view reliability as
with by_session as (
    select
        scores.judge_id,
        scores.dimension,
        scores.method_id,
        scores.session_id,
        sum(scores.score) as total,
        count(*) as n
    from int_answer_scores as scores
    inner join stg_methods on scores.method_id = stg_methods.method_id
    where stg_methods.is_current and not stg_methods.is_control
    group by all
),

ranked as (
    select
        judge_id,
        method_id,
        percent_rank() over (partition by judge_id order by sum(total) / sum(n) desc) as place
    from by_session
    where dimension = 'overall'
    group by judge_id, method_id
),

chosen as (
    select
        judge_id,
        method_id,
        'all' as methods
    from ranked
    union all
    select
        judge_id,
        method_id,
        'upper half' as methods
    from ranked
    where place <= 0.5
),

halves as (
    select
        chosen.methods,
        by_session.judge_id,
        by_session.dimension,
        by_session.method_id,
        divisions.division,
        sum(by_session.total) filter (where ascii(md5(by_session.session_id || divisions.division)) % 2 = 0)
        / sum(by_session.n) filter (where ascii(md5(by_session.session_id || divisions.division)) % 2 = 0) as one,
        sum(by_session.total) filter (where ascii(md5(by_session.session_id || divisions.division)) % 2 = 1)
        / sum(by_session.n) filter (where ascii(md5(by_session.session_id || divisions.division)) % 2 = 1) as other
    from by_session
    inner join chosen on by_session.judge_id = chosen.judge_id and by_session.method_id = chosen.method_id
    cross join (select unnest(range(8)) as division) as divisions
    group by all
),

correlations as (
    select
        judge_id,
        dimension,
        methods,
        division,
        corr(one, other) as r
    from halves
    where one is not null and other is not null
    group by judge_id, dimension, methods, division
    having count(*) >= 3 and stddev_samp(one) > 0 and stddev_samp(other) > 0
),

split_halves as (
    select
        judge_id,
        dimension,
        methods,
        avg(2 * r / (1 + r)) as split_half
    from correlations
    where r > -1
    group by judge_id, dimension, methods
),

sizes as (
    select
        chosen.methods,
        by_session.judge_id,
        by_session.dimension,
        count(distinct by_session.method_id) as n_methods,
        count(distinct by_session.session_id) as n_sessions
    from by_session
    inner join chosen on by_session.judge_id = chosen.judge_id and by_session.method_id = chosen.method_id
    group by all
)

select
    sizes.judge_id,
    sizes.dimension,
    sizes.methods,  -- all: current methods without the controls; upper half: those with the higher means
    sizes.n_methods,  -- Methods in the set
    sizes.n_sessions,  -- Sessions with scores of them
    split_halves.split_half  -- Spearman-Brown coefficient of the methods' means over two halves of the sessions; mean
    -- of 8 divisions, 1 is best
from sizes
left join split_halves using (judge_id, dimension, methods)
order by sizes.judge_id, sizes.dimension, sizes.methods;
