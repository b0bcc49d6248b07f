"""How a gateway's requests share SSH connections, in the words of its configuration and of specs."""

from enum import StrEnum, unique


@unique
class PolicyName(StrEnum):
    """A login per request, one connection per credential (with or without a limit of sessions), or a pool."""

    LOGIN_PER_REQUEST = "login-per-request"
    CONNECTION_PER_USER = "connection-per-user"
    CONNECTION_PER_USER_UNLIMITED = "connection-per-user-unlimited"
    POOL = "pool"

    @property
    def has_one_connection(self) -> bool:
        """Whether a credential has one connection to a server, whatever the limits say."""
        return self in {PolicyName.CONNECTION_PER_USER, PolicyName.CONNECTION_PER_USER_UNLIMITED}
