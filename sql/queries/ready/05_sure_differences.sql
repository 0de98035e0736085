-- Sure differences: which pairs of methods differ for sure, and what could this data not have shown?
--
-- One row per judge × pair of methods, the surest first. Differences are paired on the same question and clustered by
-- session; p_adjusted is corrected for all pairs and dimensions of the judge (Holm). "Not shown" is not "equal": a true
-- difference below detectable_difference would have been missed more often than in one of five such data sets, and
-- that is before the correction. With a single cluster nothing can be said.
--
-- Parameters:
--   judge       name of a judge, or the beginning of its id (default: every judge, one after the other)
--   dimension   dimension of the rubric (default: overall)
--   method      show only pairs with this method (default: all)
--   level       p_adjusted below which a difference is taken for sure (default: 0.05)
--   versions   all: earlier versions of methods and dropped ones, too (default: the current ones)
--
-- Columns:
--   judge                    embedded (no language model) or the spec of a model
--   judge_id                 judge version
--   dimension                dimension of the rubric, or overall
--   better                   method with the higher mean on the questions that both have
--   worse                    the other one
--   difference               better less worse, in points of 0 to 5
--   ci_low                   lower end of its 95 % interval, before any correction; NULL with a single cluster
--   ci_high                  upper end
--   p_adjusted               p, corrected (Holm); NULL with a single cluster
--   verdict                  differ, not shown, or one session or project
--   detectable_difference    smallest true difference that such data shows in 80 % of cases, at 5 %, uncorrected
--   n_pairs                  questions that both methods have a score for
--   n_sessions               sessions that they are of
--   n_clusters               projects that these are of, where there are ten; else sessions
select
    judge,
    judge_id,
    dimension,
    if(difference >= 0, method_a, method_b) as better,
    if(difference >= 0, method_b, method_a) as worse,
    abs(difference) as difference,
    if(difference >= 0, ci_low, -ci_high) as ci_low,
    if(difference >= 0, ci_high, -ci_low) as ci_high,
    p_adjusted,
    case
        when p_adjusted is null then if(n_sessions = 1, 'one session', 'one project')
        when p_adjusted < coalesce(cast(getvariable('level') as double), 0.05) then 'differ'
        else 'not shown'
    end as verdict,
    detectable_difference,
    n_pairs,
    n_sessions,
    n_clusters
from paired_differences
where
    dimension = coalesce(getvariable('dimension'), 'overall')
    and coalesce(getvariable('method') in (method_a, method_b), true)
    and judge_is_wanted(judge, judge_id)
    and version_is_wanted(is_current)
order by
    judge asc,
    judge_id asc,
    p_adjusted asc nulls last,
    abs(paired_differences.difference) desc,
    better asc,
    worse asc
