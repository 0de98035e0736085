-- One row per judge × dimension (and 'overall') × pair of methods with questions in common; each pair stands once, in
-- either order.
--
-- The difference a - b is paired on the probe: both methods' means over their replicates, for the probes that both
-- have a score for. So a compaction that failed under one method changes no comparison but by taking its probes out of
-- it. The standard error is clustered (the sums of `cluster_sums`); NULL with a single cluster.
--
-- Methods are not joined probe by probe, which would take most of the time. Within a session the sum of differences is
-- the difference of the methods' sums, where both have all of the session's probes. Where one of them lacks a probe (a
-- gap), what the other has there alone is taken out again.
--
-- A load makes a table of it (`flows.database.database_draft.MATERIALIZED`), some dimensions at a time (variable
-- `dimensions`), of many answers one, so that it needs the memory of one.
create view agg_method_pairs as
with cells as materialized (
    select
        judge_id,
        dimension,
        row_number() over () as cell
    from int_answer_scores
    where coalesce(list_contains(getvariable('dimensions'), dimension), true)
    group by judge_id, dimension
),

probe_scores as materialized (
    select
        cells.cell,
        sessions.rowid as session_number,
        probes.rowid as probe_number,
        stg_methods.method_number,
        avg(scored.score) as score
    from int_answer_scores as scored
    inner join cells on scored.judge_id = cells.judge_id and scored.dimension = cells.dimension
    inner join stg_methods on scored.method_id = stg_methods.method_id
    inner join sessions on scored.session_id = sessions.session_id
    inner join probes on scored.probe_id = probes.probe_id
    group by cells.cell, sessions.rowid, probes.rowid, stg_methods.method_number
),

session_scores as materialized (
    select
        cell,
        session_number,
        method_number,
        sum(score) as score_sum,
        count(*) as n_probes
    from probe_scores
    group by cell, session_number, method_number
),

in_session as (
    select
        cell,
        session_number,
        count(*) as n_methods
    from session_scores
    group by cell, session_number
),

on_probe as (
    select
        cell,
        session_number,
        probe_number,
        count(*) as n_methods
    from probe_scores
    group by cell, session_number, probe_number
),

-- Probes that some method of the session lacks.
incomplete as materialized (
    select
        on_probe.cell,
        on_probe.session_number,
        on_probe.probe_number
    from on_probe
    inner join in_session using (cell, session_number)
    where on_probe.n_methods < in_session.n_methods
),

incomplete_scores as materialized (
    select probe_scores.*
    from probe_scores
    inner join incomplete using (cell, probe_number)
),

gaps as materialized (
    select
        incomplete.cell,
        incomplete.probe_number,
        session_scores.method_number
    from incomplete
    inner join session_scores using (cell, session_number)
    left join incomplete_scores as own
        on
            incomplete.cell = own.cell
            and incomplete.probe_number = own.probe_number
            and session_scores.method_number = own.method_number
    where own.score is null
),

-- What one method of a pair has where the other has a gap, with the sign that it has in a - b.
alone as (
    select
        s.cell,
        s.session_number,
        least(s.method_number, g.method_number) as number_a,
        greatest(s.method_number, g.method_number) as number_b,
        sum(s.score * sign(g.method_number - s.method_number)) as score_sum,
        count(*) filter (where s.method_number < g.method_number) as n_probes
    from incomplete_scores as s
    inner join gaps as g
        on s.cell = g.cell and s.probe_number = g.probe_number
    group by
        s.cell, s.session_number, least(s.method_number, g.method_number),
        greatest(s.method_number, g.method_number)
),

-- Sums of the differences and numbers of the probes that both have.
session_pairs as (
    select
        a.cell,
        a.session_number,
        a.method_number as number_a,
        b.method_number as number_b,
        a.score_sum - coalesce(alone.score_sum, 0) - b.score_sum as score_sum,
        a.n_probes - coalesce(alone.n_probes, 0) as n_probes
    from session_scores as a
    inner join session_scores as b
        on
            a.cell = b.cell
            and a.session_number = b.session_number
            and a.method_number < b.method_number
    left join alone
        on
            a.cell = alone.cell
            and a.session_number = alone.session_number
            and a.method_number = alone.number_a
            and b.method_number = alone.number_b
    where a.n_probes > coalesce(alone.n_probes, 0)
),

clusters as (
    select
        sessions.rowid as session_number,
        min(sessions.rowid) over (partition by stg_clusters.cluster) as cluster_number
    from sessions
    inner join stg_clusters on sessions.session_id = stg_clusters.session_id
),

cluster_pairs as materialized (
    select
        pairs.cell,
        pairs.number_a,
        pairs.number_b,
        sum(pairs.score_sum) as score_sum,
        cast(sum(pairs.n_probes) as bigint) as n_probes,
        count(*) as n_sessions
    from session_pairs as pairs
    inner join clusters on pairs.session_number = clusters.session_number
    group by pairs.cell, pairs.number_a, pairs.number_b, clusters.cluster_number
),

wholes as (
    select
        cell,
        number_a,
        number_b,
        sum(score_sum) as score_sum,
        sum(n_probes) as n_probes
    from cluster_pairs
    group by cell, number_a, number_b
),

figures as (
    select
        s.cell,
        s.number_a,
        s.number_b,
        cast(sum(s.n_sessions) as bigint) as n_sessions,
        figures_of_sums(cluster_sums(s.score_sum, s.n_probes, w.score_sum, w.n_probes)) as paired
    from cluster_pairs as s
    inner join wholes as w using (cell, number_a, number_b)
    group by s.cell, s.number_a, s.number_b
)

select
    cells.judge_id,
    cells.dimension,
    a.method_id as method_id_a,  -- Identity of the one method
    b.method_id as method_id_b,  -- Identity of the other
    a.method as method_a,  -- Name of the one method
    b.method as method_b,  -- Name of the other
    figures.paired.mean as difference,  -- Mean of a - b over the questions that both have
    figures.paired.std_error,  -- Standard error, clustered; NULL with a single cluster
    figures.paired.df,  -- Degrees of freedom of std_error
    t_test_of(figures.paired) as p_value,  -- Two-sided p-value of no difference; NULL with a single cluster
    figures.paired.n as n_pairs,  -- Questions that both methods have a score for
    figures.n_sessions,  -- Sessions that these questions are of
    figures.paired.n_clusters
from figures
inner join cells on figures.cell = cells.cell
inner join stg_methods as a on figures.number_a = a.method_number
inner join stg_methods as b on figures.number_b = b.method_number;
