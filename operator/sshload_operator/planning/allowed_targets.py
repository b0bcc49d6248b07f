"""Whether the installer allows an external target."""

from fnmatch import fnmatchcase
from ipaddress import ip_address, ip_network

from sshload_operator.planning.plan import AllowedTarget


def is_allowed(host: str, port: int, allowed: tuple[AllowedTarget, ...]) -> bool:
    """Tell whether one of the allowed targets names this host and port.

    A name is compared with patterns, without regard to case; an address with CIDRs, and with patterns too. A name is
    never looked up: what it resolves to may change between the look and the load.
    """
    return any((not one.ports or port in one.ports) and _names(one.host, host) for one in allowed)


def _names(pattern: str, host: str) -> bool:
    if "/" in pattern:
        return _is_inside(pattern, host)
    return fnmatchcase(_canonical(host), _canonical(pattern))


def _is_inside(cidr: str, host: str) -> bool:
    try:
        return ip_address(host) in ip_network(cidr)
    except ValueError:
        return False


def _canonical(host: str) -> str:
    """Return an address in its shortest form, and anything else in lower case."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host.lower()
