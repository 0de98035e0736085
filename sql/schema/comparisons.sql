-- Which of two answers to one question a model prefers; one row per pair of answers × order × judge version.
create table comparisons (
    comparison_id varchar not null,  -- Hash of judge, answers and order
    session_id varchar not null,  -- Session of the answers
    judge_id varchar not null,  -- Version of the judge in pairs: model, prompt and form; no row of judges
    judge varchar not null,  -- Name of the model that judged
    probe_id varchar not null,
    answer_a varchar not null,  -- Answer of the method whose name comes first in the alphabet
    answer_b varchar not null,  -- Answer of the other method
    first varchar not null check (first in ('a', 'b')),  -- Answer that was shown first
    outcome varchar check (outcome in ('a', 'b', 'tie')),  -- Answer that is better; NULL where there is no verdict
    reasoning varchar,  -- The judge's reason
    is_same boolean not null,  -- Whether both answers are the same text, which is a tie that nobody was asked for
    error varchar,  -- Why there is no verdict
    check ((outcome is null) <> (error is null))
);
