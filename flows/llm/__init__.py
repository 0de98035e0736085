"""Language models by their specs, and all that a call to one needs.

Read in this order: ``settings`` (which model, where, how it samples, what it costs), ``remote_model`` (a model as the
rest of the project sees it), ``gateway`` (every call goes through it: cache, limits, retries, budget, journal),
``clients`` (one for each interface), ``cache`` (what has been paid for), ``batch`` (a provider's batch interface, which
fills the cache).
"""
