"""How it ended to post something to a server that the installation names. What that server answers is not quoted."""

from dataclasses import dataclass
from enum import StrEnum, unique
from http import HTTPStatus


class SecretError(Exception):
    """The Secret with the server's credentials cannot be used. The text contains no part of it."""


@unique
class Posted(StrEnum):
    """How an attempt ended. PARTIAL: the server took it except for some points of a metric.

    All but DELIVERED and PARTIAL are followed by another attempt, until GIVEN_UP: ends of runs have a time limit.
    """

    DELIVERED = "delivered"
    PARTIAL = "partial"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    UNREADABLE = "unreadable"
    GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt ended, and why in words without the URL's path, which may be a credential."""

    end: Posted
    message: str = ""


def is_taken(status: int) -> bool:
    """Return whether the server took it. A redirect is not followed."""
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
