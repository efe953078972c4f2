"""The lock: every identity that a manifest names, resolved as far as it can be, with how sure that is."""
