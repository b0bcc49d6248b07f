"""Errors of the API server. Code that reports them does not need the client, which takes long to import."""


class AccessError(Exception):
    """The configuration for reaching an API server or logging in to it is missing or cannot be used."""


class ApiError(Exception):
    """The API server refused or did not answer (`status` 0). The text is the server's own, never a request's body.

    `reason` is the server's reason, such as AlreadyExists; empty if it gives none.
    """

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(f"{status or 'no answer'}: {message}")
        self.status = status
        self.reason = reason
