"""The steps of writing probes with a model: ``show`` a session, read its ``reply``, ``check`` and ``build`` probes."""
