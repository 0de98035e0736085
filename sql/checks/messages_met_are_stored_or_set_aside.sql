-- Of every input and kind, the messages (and calls) that were met are stored, set aside with a reason, or in copies.
select
    input_path,
    kind,
    n_met,
    n_stored,
    n_set_aside,
    n_folded
from accounting
where n_unaccounted <> 0
