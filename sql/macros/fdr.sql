-- False discovery rate (Benjamini and Hochberg 1995), second step: of the rows at or below a level, at most that share
-- is expected to be wrong. From the `fdr_step` of each.
create macro fdr(p, step, family) as case
    when p is not null
        then least(1.0, min(step) over (partition by family order by p desc nulls last range unbounded preceding))
end;
