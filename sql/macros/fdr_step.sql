-- False discovery rate (Benjamini and Hochberg 1995), first step: a p-value times the size of its family, divided by
-- its place from the least up. `fdr` takes it on. Rows without a p-value are not of the family.
create macro fdr_step(p, family) as
p * count(p) over (partition by family) / count(p) over (partition by family order by p asc nulls last);
