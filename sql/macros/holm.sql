-- Holm's correction (1979), second step: a p-value that holds over all of its family, from the `p_step` of each.
create macro holm(p, step, family) as case
    when p is not null
        then least(1.0, max(step) over (partition by family order by p asc nulls last range unbounded preceding))
end;
