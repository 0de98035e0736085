-- Holm's correction (1979), first step: a p-value times how many of its family are left at its turn, from the least up.
-- `holm` takes it on. Rows without a p-value are not of the family.
create macro p_step(p, family) as p * count(p) over (partition by family order by p desc nulls last);
