"""Kerberos: the realms whose tickets log in (RFC 4120), and the names of principals in them."""

from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from sshload_contract.declared import Absent, Default, Items, Text
from sshload_contract.names import Host, Port

MANAGED_REALM: Final = "SSHLOAD.TEST"
"""The realm of a managed target."""
_Domain: TypeAlias = Annotated[
    str,
    Text(longest=253, pattern=r"[.]?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", wanted="a host's name, or .domain"),
    "A host, or with a dot before it a domain.",
]


@dataclass(frozen=True, slots=True)
class Kdc:
    """A KDC, which is asked over TCP."""

    host: Annotated[Host, "Its name or address."]
    port: Annotated[Port, Default(88), "Its port."]


@dataclass(frozen=True, slots=True)
class Realm:
    """A realm."""

    name: Annotated[
        str,
        Text(shortest=1, longest=100, pattern=r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", wanted="a realm's name"),
        "Its name, such as EXAMPLE.ORG.",
    ]
    kdcs: Annotated[
        tuple[Kdc, ...],
        Items(least=1, most=5, key=("host",)),
        "Its KDCs, in their order. The installation must allow them (externalTargets).",
    ]
    domains: Annotated[
        tuple[_Domain, ...],
        Items(most=10, distinct=True),
        Absent(()),
        "Hosts of this realm; the others are of the first one.",
    ]


@dataclass(frozen=True, slots=True)
class Kerberos:
    """The tickets of logins by gssapi.

    No ticket is delegated, and no name is made canonical by the DNS. The principal of a user is the user's name in the
    first realm, and that of a server is host/NAME, where NAME is the server's name as the test states it.
    """

    realms: Annotated[
        tuple[Realm, ...],
        Items(least=1, most=5, key=("name",)),
        Absent(()),
        "The realms, the users' own first. For servers that exist only.",
    ]
    fresh_tickets: Annotated[
        bool,
        Default(False),
        "Whether each login asks the KDC for the server's ticket, as a user's first login to a host does. Without it,"
        " the workers have that ticket before the load.",
    ]
