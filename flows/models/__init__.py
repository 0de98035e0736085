"""Models by their specs, and all that a call to one needs.

``settings`` (which model, where, how it samples, what it costs), ``engine`` (the parts of a study: summariser, prober,
responder, judge), ``remote`` (a model behind the gateway), ``gateway`` (cache, limits, retries, budget, journal: every
call goes through it), ``wire`` (what a provider's client does for it), ``openai_client`` and ``anthropic_client`` (the
clients), ``cache`` (what was paid for).
"""

from flows.models.engine import Engine, engine_for

__all__ = ["Engine", "engine_for"]
