-- Worst answers: what did a method get wrong, word by word?
--
-- One row per judge × answer, the lowest overall first: to be read, because a mean does not say whether the method
-- forgot, the responder failed or the judge erred. Without a method it is the best of the leaderboard: where does
-- even that one fail?
--
-- Parameters:
--   judge    name of a judge, or the beginning of its id (default: every judge, one after the other)
--   method   name of a method, as on the leaderboard (default: the judge's first that is no control)
--   rows     how many answers of each judge (default: 5)
--
-- Columns:
--   judge           embedded (no language model) or the spec of a model
--   judge_id        judge version
--   method          name of the method
--   score           overall of the answer, 0 to 5
--   probe_type      recall, artifact, continuation, decision or constraint
--   question        what was asked
--   ground_truth    what would have been right
--   answer          what was answered
--   reasons         the judge's reasons, the lowest criterion first
--   session         title of the session, or its id
--   cycle           which compaction of the session it was, from 1
--   answer_id       the answer, to look further
with chosen as (
    select
        leaderboard.judge,
        leaderboard.judge_id,
        leaderboard.method,
        leaderboard.method_id
    from leaderboard
    inner join methods on leaderboard.method_id = methods.method_id
    where
        judge_is_wanted(leaderboard.judge, leaderboard.judge_id)
        and coalesce(
            leaderboard.method = getvariable('method'),
            methods.strategy not in ('none', 'empty') and leaderboard.is_current
        )
    qualify row_number() over (partition by leaderboard.judge_id order by leaderboard.place nulls last) = 1
),

worst as (
    select
        chosen.judge,
        chosen.judge_id,
        chosen.method,
        given.answer_id,
        given.score,
        given.probe_id,
        given.session_id,
        given.cycle
    from int_answer_scores as given
    inner join chosen on given.judge_id = chosen.judge_id and given.method_id = chosen.method_id
    where given.dimension = 'overall'
    qualify
        row_number() over (partition by given.judge_id order by round(given.score, 9), given.answer_id)
        <= coalesce(cast(getvariable('rows') as bigint), 5)
),

reasons as (
    select
        scores.judge_id,
        scores.answer_id,
        string_agg(
            scores.criterion || ' ' || coalesce(cast(round(scores.score, 2) as varchar), 'unscored')
            || coalesce(': ' || scores.reasoning, ''),
            '; ' order by scores.score nulls last, scores.criterion, scores.judge_replicate
        ) as reasons
    from scores
    semi join worst on scores.judge_id = worst.judge_id and scores.answer_id = worst.answer_id
    group by scores.judge_id, scores.answer_id
)

select
    worst.judge,
    worst.judge_id,
    worst.method,
    worst.score,
    probes.probe_type,
    probes.question,
    probes.ground_truth,
    answers.text as answer,
    reasons.reasons,
    coalesce(sessions.title, worst.session_id) as session,
    worst.cycle,
    worst.answer_id
from worst
inner join answers on worst.answer_id = answers.answer_id
inner join probes on worst.probe_id = probes.probe_id
inner join sessions on worst.session_id = sessions.session_id
left join reasons on worst.judge_id = reasons.judge_id and worst.answer_id = reasons.answer_id
order by worst.judge, worst.judge_id, round(worst.score, 9), worst.answer_id
