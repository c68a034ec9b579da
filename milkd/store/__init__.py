"""Durable state: milk's JSON files, read and written without losing a key.  Blocking; no trio."""
