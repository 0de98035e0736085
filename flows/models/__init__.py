"""Language models by their specs, and all that a call to one needs.

Read in this order: ``settings`` (which model, where, how it samples, what it costs), ``remote`` (a model as the rest of
the project sees it), ``gateway`` (every call goes through it: cache, limits, retries, budget, journal), ``wire`` (what
a provider's client does for the gateway), ``openai_client`` and ``anthropic_client`` (the clients), ``cache`` (what has
been paid for), ``batches`` (a provider's batch interface, which fills the cache).
"""
