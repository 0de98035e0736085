-- One row per panel × pair of its members × criterion, dimension or 'overall' that both have scored.
--
-- The figures are those of `judge_agreement`. Members score what they have judged: an answer that one of them was left
-- out of, because its model wrote the summary, is in none of its pairs.
create view panel_agreement as
select
    a.panel_id,  -- Judge version that is the panel
    a.panel,  -- Name of the panel
    a.member as member_a,  -- Name of the one member
    b.member as member_b,  -- Name of the other
    of_pair.level,
    of_pair.item,
    of_pair.n_answers,  -- Answers that both have scored
    of_pair.exact,  -- Share (0 to 1) of pairs of scores with the same whole point
    of_pair.within_one,  -- Share (0 to 1) of pairs of scores at most one whole point apart
    of_pair.kappa,  -- Quadratic-weighted kappa on whole points (Cohen 1968); NULL where undefined
    of_pair.pearson,  -- Correlation of the scores; NULL where one member's do not vary
    of_pair.mean_difference,  -- Mean of b - a in points
    of_pair.ci_low,  -- Lower end of the 95 % interval of mean_difference, clustered
    of_pair.ci_high,  -- Upper end of the 95 % interval of mean_difference, clustered
    of_pair.undefined_because,  -- Why figures are NULL; NULL where all are defined
    a.member_id as member_a_id,  -- Judge version of member_a
    b.member_id as member_b_id  -- Judge version of member_b
from judge_agreement as of_pair
inner join stg_panel_members as a on of_pair.rater_a = a.member_id
inner join stg_panel_members as b on of_pair.rater_b = b.member_id and a.panel_id = b.panel_id
where of_pair.kind = 'judges'
order by
    a.panel_id, a.member, b.member,
    case of_pair.level when 'overall' then 0 when 'dimension' then 1 else 2 end, of_pair.item;
