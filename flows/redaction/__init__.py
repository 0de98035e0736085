"""Credentials in transcripts, masked before anything is stored or sent to a model.

In what order to read: ``detector`` says where the secrets of a text are, ``rules`` what the detector does not know and
what is none, ``marks`` what stands in their place, ``redactor`` does it to a text, to JSON and to a whole session.
"""

from flows.redaction.marks import KEY_VARIABLE
from flows.redaction.redactor import Redactor

__all__ = ["KEY_VARIABLE", "Redactor"]
