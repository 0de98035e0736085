-- Leaderboard: which method is better, by how much, and how sure is that?
--
-- One row per judge × method, in the order of `fronts`: those that no other beats at what it keeps and costs, then the
-- rest. Methods with a letter of tie_group in common (b-e: b, c, d and e) cannot be told apart by this data; the
-- interval says where a method's mean would lie over other sessions of the same kind. A
-- method with is_partial rests on fewer questions than the rest and is ranked by its differences to them. The methods
-- none (nothing removed) and empty (everything removed) are controls, the ends of the scale, without a rank.
--
-- Parameters:
--   judge   name of a judge, or the beginning of its id (default: every judge, one after the other)
--   versions   all: earlier versions of methods and dropped ones, too (default: the current ones)
--
-- Columns:
--   judge                    embedded (no language model) or the spec of a model
--   judge_id                 judge version
--   rank                     by overall; NULL for the controls, with one session, and without a question in common
--   tie_group                letters: methods with one in common are not told apart (5 %, Holm over all pairs)
--   method                   name of the method
--   overall                  mean over answers of the answer's overall, 0 to 5
--   ci_low                   lower end of its 95 % interval, clustered; NULL with a single cluster
--   ci_high                  upper end
--   overall_of_dimensions    unweighted mean of the method's dimension means, 0 to 5
--   accuracy                 mean over answers, 0 to 5; the same for the next five
--   context_awareness        knows the state of the work
--   artifact_trail           knows what was done to which file
--   completeness             covers the question
--   continuity               can go on without fetching again
--   instruction_following    keeps to format and limits
--   constraints              knows what the person or a rules file requires or forbids; no part of overall
--   tokens_removed           share of tokens that compaction removed, 0 to 1
--   n_answers                answers with a score
--   n_sessions               sessions that they are of
--   n_clusters               projects that these are of, where there are ten; else sessions
--   n_unscored               answers that the judge was given and has no score for
--   is_partial               whether the method is not applicable at some points
--   on_front                 whether no other method keeps as much for less, or more at no higher cost
select
    leaderboard.judge,
    leaderboard.judge_id,
    leaderboard.rank,
    leaderboard.tie_group,
    leaderboard.method,
    leaderboard.overall,
    overall.ci_low,
    overall.ci_high,
    leaderboard.overall_of_dimensions,
    leaderboard.accuracy,
    leaderboard.context_awareness,
    leaderboard.artifact_trail,
    leaderboard.completeness,
    leaderboard.continuity,
    leaderboard.instruction_following,
    leaderboard.constraints,
    leaderboard.tokens_removed,
    leaderboard.n_answers,
    leaderboard.n_sessions,
    overall.n_clusters,
    leaderboard.n_unscored,
    leaderboard.is_partial,
    fronts.on_front
from leaderboard
left join leaderboard_long as overall
    on
        leaderboard.judge_id = overall.judge_id
        and leaderboard.method_id = overall.method_id
        and overall.dimension = 'overall'
left join fronts on leaderboard.judge_id = fronts.judge_id and leaderboard.method_id = fronts.method_id
where judge_is_wanted(leaderboard.judge, leaderboard.judge_id) and version_is_wanted(leaderboard.is_current)
order by leaderboard.judge, leaderboard.judge_id, fronts.line nulls last, leaderboard.method
