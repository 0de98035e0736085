"""Chats of Cursor."""
