"""What goes wrong between this program and a server, said so that a person can mend it."""


class NetworkError(Exception):
    """A server could not be asked. `message`: one sentence saying what happened; `advice`: one saying what to
    do.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class NotFoundError(NetworkError):
    """What was asked for is not there, or may not be seen."""


class EmptyRepositoryError(NetworkError):
    """The repository has no commit yet."""
