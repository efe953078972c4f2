"""The verdict in the form that somebody else's schema or example document asks for."""

from audit.failure.fill.fill import CannotFillError, fill
from audit.failure.fill.shape import SchemaError

__all__ = ["CannotFillError", "SchemaError", "fill"]
