"""What keeps `requests` from an answer, told apart by what a person can do about it."""

from audit.net.errors import NetworkError


def explained(error: Exception, server: str, seconds: int) -> tuple[NetworkError, bool]:
    """The error for one that `requests` raises about `server`, and whether another try may help. `seconds`: how long an answer was waited for."""
    import requests

    if isinstance(error, requests.exceptions.SSLError):
        advice = (
            "Behind a proxy or on a server of your own, set REQUESTS_CA_BUNDLE to its certificate authority."
        )
        return NetworkError(f"The certificate of {server} is not trusted.", advice), False
    if isinstance(error, requests.exceptions.ProxyError):
        return NetworkError(
            f"The proxy for {server} cannot be used.", "Check HTTPS_PROXY and NO_PROXY."
        ), False
    if isinstance(error, requests.exceptions.Timeout):
        return NetworkError(
            f"{server} did not answer within {seconds} seconds.", "Check the connection."
        ), True
    advice = "Check the connection, and HTTPS_PROXY if one is needed."
    return NetworkError(f"{server} cannot be reached.", advice), True
