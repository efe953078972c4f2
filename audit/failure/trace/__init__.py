"""The code trace: places of the checkout between the workflow and the failing comparison."""

from audit.failure.trace.steps import trace

__all__ = ["trace"]
