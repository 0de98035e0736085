"""A model that may fetch dropped messages, while a plan is made: how many calls it could take."""

from __future__ import annotations

import json
from dataclasses import replace

from compaction import ModelRequest
from compaction.strategies.recovery import request_for
from flows.llm.call_recorder import PLANNED
from flows.llm.remote_model import RemoteModel
from flows.llm.settings import ModelSettings
from flows.pipeline.engine import Engine
from judge import Answer
from judge.llm.recovery import RecoveringResponder, write_request


class PlannedRecovery(RecoveringResponder):
    """A model that may fetch, while nothing is asked: it fetches as often as it may, with the question's words."""

    def ask(self, request: ModelRequest) -> Answer:
        """The cached reply; for each other one a request, or the filler where no fetch is left."""
        reply = super().ask(request)
        asked = json.loads(request.messages[-1].text)
        if PLANNED not in reply.text or not asked["fetches_left"]:
            return reply
        return replace(reply, text=write_request(request_for(asked["question"])))


def with_planned_recovery(engine: Engine, responder: ModelSettings | None) -> Engine:
    """The engine of a plan with such a model as the one that may fetch; ``responder`` is its model, if it has one."""
    if responder is None:
        return engine
    model = RemoteModel(responder, engine.gateway)
    return replace(engine, recovering=PlannedRecovery(model, engine.responder.name))
