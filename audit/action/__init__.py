"""The action: inputs and event to a plan, the plan to an audit, its gate to the exit code, and the result to the pull request."""
