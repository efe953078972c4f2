"""What is wrong with a document that a person wrote or named, said so that the person can mend it."""


class DocumentError(Exception):
    """A configuration or baseline is not valid, or cannot serve. `message`: one sentence, with file and line where there is one;
    `advice`: one saying what to do."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
