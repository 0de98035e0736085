-- A judge version has one id: judges that differ in nothing but the id would be averaged apart.
select
    judge,
    model,
    rubric,
    prompt_sha256,
    protocol,
    params,
    count(*) as n_judges
from judges
group by judge, model, rubric, prompt_sha256, protocol, params
having count(*) > 1
