"""What can go wrong on the way to a command, as kinds that answers, metrics and logs share."""

from enum import StrEnum


class LoginFailure(StrEnum):
    """Why there is no connection."""

    NOT_ALLOWED = "not-allowed"
    UNRESOLVED = "unresolved"
    UNREACHABLE = "unreachable"
    DROPPED = "dropped"
    TIMEOUT = "timeout"
    HOST_KEY = "host-key"
    AUTHENTICATION = "authentication"
    PROTOCOL = "protocol"
    SEAL = "seal"
    """The gateway cannot open the private key that it has stored."""


class LoginError(Exception):
    """A login that failed, with a sentence that has no secret in it."""

    def __init__(self, kind: LoginFailure, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail

    @property
    def may_pass(self) -> bool:
        """Whether the same login may succeed a moment later: the server dropped it before it looked at the user."""
        return self.kind is LoginFailure.DROPPED

    def again(self) -> "LoginError":
        """Return the same failure for another request. One that is raised twice keeps what both requests hold."""
        return LoginError(self.kind, self.detail)

    @property
    def is_refusal(self) -> bool:
        """Whether the server saw the login and refused it, or is not the server that the credential names."""
        return self.kind in (LoginFailure.AUTHENTICATION, LoginFailure.HOST_KEY)


class BusyError(Exception):
    """No session within the time that a request may wait, or too many requests wait already."""

    def __init__(self, detail: str, retry_after_s: int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_s = retry_after_s


class SupersededError(Exception):
    """The credential was replaced or deleted while the request waited for a session."""


class SessionRefusedError(Exception):
    """The server refused to open a session, and so nothing ran."""


class ServerError(Exception):
    """The server answered against the protocol, or could not do what was asked; with a sentence for the caller."""
