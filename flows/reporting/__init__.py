"""Figures for people: tables for terminals, exports, the page of a store."""
