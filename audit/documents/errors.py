"""What is wrong with a document that a person wrote or named, said so that the person can mend it."""


class DocumentError(Exception):
    """A document (configuration, manifest, profile, lock, baseline) is not valid, or cannot serve. `message`: what is wrong, with file and line where
    there is one, a line for each mistake; `advice`: one sentence saying what to do."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
