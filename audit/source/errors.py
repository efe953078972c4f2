"""What keeps a target from being read, said so that a person can mend it."""


class SourceError(Exception):
    """A target could not be read. `message`: one sentence saying what happened; `advice`: one saying what to
    do.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
