"""Kinds of experiment: what each requires, and which of them a repository holds."""

from audit.profiles.definitions import Profile, profiles, required, resolve, severities
from audit.profiles.detect import detect

__all__ = ["Profile", "detect", "profiles", "required", "resolve", "severities"]
