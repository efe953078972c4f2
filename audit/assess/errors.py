"""What is wrong with a document; it is raised on lower floors, too."""

from audit.documents.errors import DocumentError

__all__ = ["DocumentError"]
