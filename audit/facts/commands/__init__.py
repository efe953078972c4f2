"""Readers of command lines: shell, Makefiles, and what a command really runs and installs."""
