"""Readers for what runs leave behind: metric histories, test reports, run records. None needs the library that wrote them."""
