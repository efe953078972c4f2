"""Facts of Python source: imports, scopes, calls, assignments, strings that look like identities."""
