"""A language model as judge of several answers in one call: all questions that were asked of one context.

The context is sent once for all of them. What that costs is independence: an answer is seen beside others, and one
reply that cannot be read holds several verdicts. So a packed judge is another judge than the one that gets each answer
alone, with an id of its own. A pack of one, and an answer whose verdict in a pack is of no use, is asked as that one
asks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compaction.model import Model, ModelError, ModelRequest, ReplyError
from compaction.transcript import Message
from judge.llm.judge import JudgePrompts, ModelJudge, Protocol, instructions, lines_for, sha256_of, whole_form
from judge.llm.verdict_form import Verdict, read_several, schema_of_several
from judge.rubric import Rubric
from judge.scoring import JudgeCase, JudgeError, JudgeVersion, PackTooLargeError

VERSION = 1
"""Raise it when a pack is asked otherwise, or its verdicts read otherwise."""

MOST_TOKENS = 12_000
"""Tokens of the verdicts of one pack: those on one answer to each type of probe take 9,400 of them at most."""


class PackedJudge(ModelJudge):
    """Scores several answers with one call of a language model; safe to call from many threads."""

    def __init__(
        self, model: Model, rubric: Rubric, protocol: Protocol, *, prompts: JudgePrompts | None = None
    ) -> None:
        super().__init__(model, rubric, protocol, prompts=prompts)
        self._pack_system = Message("system", instructions(rubric, self._prompts, protocol, "pack"))
        self._pack_schema = schema_of_several(whole_form(rubric))
        self.version = _packed_version(self.version, lines_for(self._prompts.judge, protocol, "pack"))

    def split(self, cases: Sequence[JudgeCase]) -> list[int]:
        """How many of these cases, in their order, go into each pack: as many as the length of the verdicts allows."""
        sizes, left = [0], MOST_TOKENS
        for case in cases:
            tokens = self._task(case.criteria).max_tokens
            if tokens > left and sizes[-1]:
                sizes.append(0)
                left = MOST_TOKENS
            sizes[-1] += 1
            left -= tokens
        return sizes

    def score_together(self, cases: Sequence[JudgeCase]) -> list[Verdict | ReplyError]:
        """A verdict on each case, or why there is none and it has to be asked alone. All have one context.

        Raises JudgeError when there is no verdict at all, PackTooLargeError when there may be with fewer cases,
        CallsStoppedError when no call may be made any more.
        """
        forms = [self._task(case.criteria).form for case in cases]
        request = self.request_for_all(cases)
        try:
            done = self._model.complete(replace(request, check=lambda text: read_several(text, forms)))
            return read_several(done.text, forms)
        except ReplyError as error:
            return [error] * len(cases)
        except ModelError as error:
            if error.kind in ("overflow", "truncated"):
                raise PackTooLargeError(str(error)) from error
            if error.kind in ("unavailable", "unusable"):
                raise JudgeError(str(error)) from error
            return [ReplyError(str(error))] * len(cases)

    def request_for_all(self, cases: Sequence[JudgeCase]) -> ModelRequest:
        """The request to the model about cases of one context."""
        context = self._context(cases[0].context) if self._protocol == "study" else ""
        answers = ",\n".join(f'{{"number":{number},{self._fields(case)}}}' for number, case in enumerate(cases, 1))
        user = Message("user", f'{{{context}"answers":[\n{answers}]}}')
        tokens = sum(self._task(case.criteria).max_tokens for case in cases)
        shared = len(context) + 1 if context else 0
        messages = (self._pack_system, user)
        return ModelRequest(messages, tokens, self._pack_schema, cases[0].replicate, shared=shared)


def _packed_version(alone: JudgeVersion, prompt: str) -> JudgeVersion:
    pack = {"version": VERSION, "prompt_sha256": sha256_of(prompt), "most_tokens": MOST_TOKENS}
    return replace(alone, judge=f"{alone.judge} (packed)", params={**alone.params, "pack": pack})
