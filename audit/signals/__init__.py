"""Signals: answers about the repository, drawn from all facts. Nothing here opens a file."""
