-- One row per judge × current method that is no control and applies everywhere: between which ranks it would lie over
-- other sessions like these, and how often it would be the best.
--
-- A bootstrap of clusters (`stg_clusters`; Efron 1979, for ranks Goldstein and Spiegelhalter 1996): the study is drawn
-- anew 1,000 times, whole clusters with replacement, and the methods are ranked by their overall in each draw. One
-- cluster less is drawn than there are, which makes the variance of a mean that of the sample (Rao and Wu 1988); it
-- matters with few. The numbers that draw are hashes, so that the same store always gives the same figures. More than
-- 100 clusters are drawn in 100 parts of as many.
--
-- Methods that are truly alike share a rank that no draw knows of: their intervals are then too narrow, and p_best is
-- divided among them by luck. Read an interval together with `tie_group`. With one session there are no rows, and none
-- of a method whose few sessions are missing in more than one draw of twenty.
--
-- A load makes a table of it (`flows.database.database_draft.MATERIALIZED`): it reads every score, a thousand times.
create view rank_intervals as
with scored as (
    select
        scores.judge_id,
        scores.method_id,
        stg_clusters.cluster,
        sum(scores.score) as score_sum,
        count(*) as n_answers
    from int_answer_scores as scores
    inner join stg_methods on scores.method_id = stg_methods.method_id
    inner join stg_clusters on scores.session_id = stg_clusters.session_id
    where
        scores.dimension = 'overall'
        and stg_methods.is_current
        and not stg_methods.is_control
        and scores.method_id not in (select c.method_id from compactions as c where c.status = 'not_applicable')
    group by scores.judge_id, scores.method_id, stg_clusters.cluster
),

parts as (
    select
        judge_id,
        cluster,
        least(100, count(*) over (partition by judge_id)) as n_parts,
        row_number() over (partition by judge_id order by md5(cluster)) % n_parts as part
    from scored
    group by judge_id, cluster
),

sums as materialized (
    select
        scored.judge_id,
        scored.method_id,
        parts.n_parts,
        parts.part,
        sum(scored.score_sum) as score_sum,
        sum(scored.n_answers) as n_answers
    from scored
    inner join parts on scored.judge_id = parts.judge_id and scored.cluster = parts.cluster
    group by scored.judge_id, scored.method_id, parts.n_parts, parts.part
),

draws as materialized (
    select
        drawn.n_parts,
        drawn.draw,
        drawn.part,
        count(*) as times
    from (
        select
            sizes.n_parts,
            draws.draw,
            md5_number_lower(draws.draw || ' ' || places.place) % cast(sizes.n_parts as ubigint) as part
        from (select distinct n_parts from sums) as sizes
        cross join (select unnest(range(1000)) as draw) as draws
        cross join (select unnest(range(99)) as place) as places
        where places.place < sizes.n_parts - 1
    ) as drawn
    group by drawn.n_parts, drawn.draw, drawn.part
),

means as (
    select
        sums.judge_id,
        sums.method_id,
        draws.draw,
        round(sum(draws.times * sums.score_sum) / sum(draws.times * sums.n_answers), 9) as overall
    from sums
    inner join draws on sums.n_parts = draws.n_parts and sums.part = draws.part
    group by sums.judge_id, sums.method_id, draws.draw
),

ranked as (
    select
        judge_id,
        method_id,
        rank() over (partition by judge_id, draw order by overall desc) as rank,
        count(*) over (partition by judge_id, draw, overall) as n_alike
    from means
)

select
    ranked.judge_id,
    stg_methods.method,  -- Method, as on the leaderboard
    quantile_disc(ranked.rank, 0.025) as rank_low,  -- Best rank of the 95 % interval, 1 is the best
    quantile_disc(ranked.rank + ranked.n_alike - 1, 0.975) as rank_high,  -- Worst rank of the 95 % interval
    avg(greatest(0, least(1, (2 - ranked.rank) / ranked.n_alike))) as p_best,  -- Share of the draws (0 to 1) in which
    -- it is the best; methods that are alike in a draw share it
    avg(greatest(0, least(1, (4 - ranked.rank) / ranked.n_alike))) as p_best_three,  -- Share of the draws in which it
    -- is among the best three
    ranked.method_id
from ranked
inner join stg_methods on ranked.method_id = stg_methods.method_id
group by ranked.judge_id, stg_methods.method, ranked.method_id
having count(*) >= 950
order by ranked.judge_id asc, p_best desc, rank_high asc, rank_low asc, stg_methods.method asc;
