"""The parts that touch the world: files, clocks, processes, Prefect, the command.

Read in this order: ``study`` (all that a run depends on), ``store`` (what lies where), ``evaluate`` (the whole, in
order, one page), then one file an arrow: ``ingest`` → ``compact`` → ``probe`` → ``measure`` → ``answer`` → ``score`` →
``load``. What a worker process does inside a task stands in ``work``, without Prefect; ``plan`` says what is still to
be done.
"""
