"""Reads facts off messages without a model.

Start with ``message_facts``: what one message says. The other modules read one kind of fact each.
"""
