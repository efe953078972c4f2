"""The experiment as a flat map: what code, manifest and lock say of it, and what changed between two of them."""
