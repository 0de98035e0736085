"""Requests and answers of OpenAI's two interfaces."""
