"""Gemini CLI's chats, and contents of the Gemini interface."""
