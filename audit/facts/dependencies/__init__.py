"""Readers of the files that declare dependencies: one module per kind of manifest, each with `extract`."""
