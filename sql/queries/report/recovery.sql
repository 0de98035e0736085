-- One row per method that was also run with fetches of dropped messages, the best with them first.
--
-- Parameters (variables):
--   judge_id   judge version that the report is of
select
    method,
    has_pointers,
    score_without,
    score_with,
    difference,
    ci_low,
    ci_high,
    tokens_without,
    tokens_with,
    share_fetched,
    n_probes,
    n_sessions
from recovery
where judge_id = getvariable('judge_id')
order by score_with desc, method asc
