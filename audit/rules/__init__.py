"""Rules: one module per category, one function per rule, one explicit catalogue. A rule decides and never prints."""
