"""Snapshots: a repository at one commit, from a work tree, a Git ref, a plain folder or a GitHub archive."""
