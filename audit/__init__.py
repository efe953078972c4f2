"""ml-audit: can a machine-learning repository be reproduced, what changed, and why is CI red."""

__version__ = "0.1.0"
