-- One row per judge × dimension (and 'overall') × set of methods ('all', 'upper half'): how far the order of these
-- methods can be relied on.
--
-- The methods are the current ones without the controls, and the upper half is by their mean overall. Two coefficients,
-- of which 1 is best:
--
-- split_half   would other sessions give the same order? The correlation of the methods' means over two halves of the
--              sessions, stepped up to all sessions by Spearman and Brown (1910), averaged over eight divisions that
--              are drawn by hashes of the sessions' ids.
-- alpha        do the probe types agree? Cronbach's alpha (1951) of the methods' means by probe type.
--
-- From 0.7 on a coefficient is commonly called acceptable (Nunnally 1978).
--
-- A load makes a table of it (`flows.database.scores_db.MATERIALIZED`): it reads every score.
create view reliability as
with by_session as (
    select
        scores.judge_id,
        scores.dimension,
        scores.method_id,
        scores.session_id,
        scores.probe_type,
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

session_totals as (
    select
        judge_id,
        dimension,
        method_id,
        session_id,
        sum(total) as total,
        sum(n) as n
    from by_session
    group by judge_id, dimension, method_id, session_id
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
    from session_totals as by_session
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

by_type as (
    select
        chosen.methods,
        by_session.judge_id,
        by_session.dimension,
        by_session.method_id,
        by_session.probe_type,
        sum(by_session.total) / sum(by_session.n) as mean
    from by_session
    inner join chosen on by_session.judge_id = chosen.judge_id and by_session.method_id = chosen.method_id
    group by all
),

types as (
    select
        judge_id,
        dimension,
        methods,
        count(distinct probe_type) as n_probe_types
    from by_type
    group by judge_id, dimension, methods
),

complete as (
    select by_type.*
    from by_type
    inner join types
        on
            by_type.judge_id = types.judge_id
            and by_type.dimension = types.dimension
            and by_type.methods = types.methods
    qualify
        count(*) over (partition by by_type.judge_id, by_type.dimension, by_type.methods, by_type.method_id)
        = types.n_probe_types
),

of_types as (
    select
        judge_id,
        dimension,
        methods,
        sum(variance) as variances
    from (
        select
            judge_id,
            dimension,
            methods,
            var_samp(mean) as variance
        from complete
        group by judge_id, dimension, methods, probe_type
    ) as variances_by_type
    group by judge_id, dimension, methods
),

of_sums as (
    select
        judge_id,
        dimension,
        methods,
        var_samp(total) as variance
    from (
        select
            judge_id,
            dimension,
            methods,
            sum(mean) as total
        from complete
        group by judge_id, dimension, methods, method_id
    ) as sums_by_method
    group by judge_id, dimension, methods
    having count(*) >= 3
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
    sizes.methods,
    sizes.n_methods,
    sizes.n_sessions,
    types.n_probe_types,
    split_halves.split_half,
    case
        when types.n_probe_types >= 2 and of_sums.variance > 0
            then
                types.n_probe_types / (types.n_probe_types - 1)
                * (1 - of_types.variances / of_sums.variance)
    end as alpha
from sizes
inner join types
    on sizes.judge_id = types.judge_id and sizes.dimension = types.dimension and sizes.methods = types.methods
left join split_halves
    on
        sizes.judge_id = split_halves.judge_id
        and sizes.dimension = split_halves.dimension
        and sizes.methods = split_halves.methods
left join of_types
    on sizes.judge_id = of_types.judge_id and sizes.dimension = of_types.dimension and sizes.methods = of_types.methods
left join of_sums
    on sizes.judge_id = of_sums.judge_id and sizes.dimension = of_sums.dimension and sizes.methods = of_sums.methods
order by sizes.judge_id, sizes.dimension, sizes.methods;

comment on view reliability is
'One row per judge, dimension (or overall) and set of methods: how far their order can be relied on';
comment on column reliability.judge_id is 'Judge version';
comment on column reliability.dimension is 'Dimension of the rubric, or overall';
comment on column reliability.methods is
'all: current methods without the controls; upper half: those with the higher means';
comment on column reliability.n_methods is 'Methods in the set';
comment on column reliability.n_sessions is 'Sessions with scores of them';
comment on column reliability.n_probe_types is 'Probe types with scores in this dimension';
comment on column reliability.split_half is
'Spearman-Brown coefficient of the methods'' means over two halves of the sessions; mean of 8 divisions, 1 is best';
comment on column reliability.alpha is
'Cronbach''s alpha of the methods'' means over probe types; 1 is best, NULL with one type or fewer than three methods';
