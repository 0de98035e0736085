-- One row per method × stage (compaction, answer, score), and one per stage of the questions (probe, probe_not_asked),
-- which are the same for every method and stand under the method 'all methods'.
--
-- In every row expected = done + failed + unscored + missing, unless something was done twice. Expected are:
-- compaction       every point of the store, as often as the method was repeated, less those at which it does not apply
-- probe            every point × probe type × prober, less those that are not asked
-- probe_not_asked  questions for which the history holds no truth: no method's failure; counted as unscored
-- answer           every probe at the method's done compactions (what a failed compaction loses is failed there)
-- score            one verdict per done answer × judge × judge replicate, all judges together (`coverage_by_judge`
--                  has them apart); without any judge, one per done answer
--
-- Of current methods only: those that the newest run of the study asks for.
create view coverage as
with n_points as (
    select count(*) as n from points
),

probers as (
    select greatest(1, count(distinct prober)) as n
    from (
        select prober from probes
        union all
        select prober from probes_not_asked
    ) as named
),

compaction_stage as (
    select
        stg_methods.method_id,
        'compaction' as stage,
        n_points.n * greatest(1, count(distinct compactions.replicate))
        - count(*) filter (where compactions.status = 'not_applicable') as expected,
        count(*) filter (where compactions.status = 'done') as done,
        count(*) filter (where compactions.status = 'failed') as failed,
        0 as unscored,
        count(*) filter (where compactions.status = 'not_applicable') as not_applicable
    from stg_methods
    cross join n_points
    left join compactions on stg_methods.method_id = compactions.method_id
    where stg_methods.is_current
    group by stg_methods.method_id, n_points.n
),

answer_stage as (
    select
        stg_methods.method_id,
        'answer' as stage,
        coalesce(agg_expected_answers.n_expected, 0) as expected,
        coalesce(agg_expected_answers.n_done, 0) as done,
        coalesce(agg_expected_answers.n_failed, 0) as failed,
        0 as unscored,
        0 as not_applicable
    from stg_methods
    left join agg_expected_answers on stg_methods.method_id = agg_expected_answers.method_id
    where stg_methods.is_current
),

verdicts as (
    select
        method_id,
        sum(n_expected) as n_expected,
        sum(n_done) as n_done,
        sum(n_unscored) as n_unscored
    from agg_expected_scores
    group by method_id
),

score_stage as (
    select
        answer_stage.method_id,
        'score' as stage,
        coalesce(verdicts.n_expected, answer_stage.done) as expected,
        coalesce(verdicts.n_done, 0) as done,
        0 as failed,
        coalesce(verdicts.n_unscored, 0) as unscored,
        0 as not_applicable
    from answer_stage
    left join verdicts on answer_stage.method_id = verdicts.method_id
),

not_asked as (
    select
        count(*) filter (where status = 'not_asked') as n,
        count(*) filter (where status = 'failed') as n_failed
    from probes_not_asked
),

probe_stage as (
    select
        null as method_id,
        'probe' as stage,
        n_points.n * 5 * probers.n - not_asked.n as expected,
        (select count(*) from probes) as done,
        not_asked.n_failed as failed,
        0 as unscored,
        0 as not_applicable
    from n_points
    cross join probers
    cross join not_asked
),

not_asked_stage as (
    select
        null as method_id,
        'probe_not_asked' as stage,
        n as expected,
        0 as done,
        0 as failed,
        n as unscored,
        0 as not_applicable
    from not_asked
),

stages as (
    select * from compaction_stage
    union all
    select * from probe_stage
    union all
    select * from not_asked_stage
    union all
    select * from answer_stage
    union all
    select * from score_stage
)

select
    coalesce(stg_methods.method, 'all methods') as method,  -- Name of the method; all methods for the questions, which
    -- belong to none
    stages.stage,  -- compaction, probe, probe_not_asked, answer or score
    cast(stages.expected as bigint) as expected,  -- Items that should be there
    cast(stages.done as bigint) as done,  -- Items that are done
    cast(stages.failed as bigint) as failed,  -- Items that were tried and failed; scores have unscored instead
    cast(stages.unscored as bigint) as unscored,  -- Verdicts without any score, or questions for which there is no
    -- truth
    cast(greatest(0, stages.expected - stages.done - stages.failed - stages.unscored) as bigint)
        as missing,  -- Items of which there is no trace (a run that has not got there, or a narrowed one)
    cast(stages.not_applicable as bigint) as not_applicable,  -- Points at which the method has nothing to say: no
    -- failure, and no part of what is expected
    stages.method_id  -- Identity of the method; NULL for all methods
from stages
left join stg_methods on stages.method_id = stg_methods.method_id
order by
    stages.method_id is not null,
    stg_methods.method,
    list_position(['compaction', 'probe', 'probe_not_asked', 'answer', 'score'], stages.stage);
