"""The embedded responder: it quotes the lines that state the statements of a question, and answers nothing.

It is told what to look for, so what it finds is the most that a reader of the context could find. Its figures are
called retention, never the quality of an answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from judge.answer import Answer, AnswerError
from judge.measures.states import PARTLY
from judge.statement import StatementState

VERSION = 4
"""Raise it when an answer comes out otherwise."""

ABSTENTION = "The context does not tell."
"""What it says when nothing is found."""

NOT_MEASURED = "what the context tells is not known: nobody but its provider can read it, or it was not measured"

CHARS_PER_TOKEN = 2.5
"""Cautious: paths and code have fewer characters a token than prose, and the limit must hold."""


class EmbeddedResponder:
    """Answers with the lines that were found."""

    name = f"embedded-responder@{VERSION}"

    def quote(self, states: Sequence[StatementState], max_tokens: int) -> Answer:
        """The lines of all statements that can be read at least in part, within the limit.

        Raises AnswerError where there are no states.
        """
        if not states:
            raise AnswerError(NOT_MEASURED)
        lines = dict.fromkeys(state.lines for state in states if state.lines and (state.support or 0) >= PARTLY)
        text = "\n".join(lines)[: int(max_tokens * CHARS_PER_TOKEN)]
        return Answer(text or ABSTENTION, self.name)
