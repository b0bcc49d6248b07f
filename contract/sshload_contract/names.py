"""Names of objects, hosts and ports in a spec, and the name of the images' user."""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeAlias

from sshload_contract.declared import Rule, Text, Whole, WrittenAs

IMAGE_USER = "load"
"""The user of the images, who logs in to managed targets."""
IMAGE_USER_ID = 10_001
IMAGE_USER_HOME = f"/home/{IMAGE_USER}"

OBJECT_NAME: Final = Text(
    longest=253, pattern=r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", wanted="the name of a Kubernetes object"
)
ObjectName: TypeAlias = Annotated[str, OBJECT_NAME]
ConfigMapKey: TypeAlias = Annotated[
    str,
    Text(longest=253, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*", wanted="a key of a ConfigMap, such as locustfile.py"),
]
_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST_NAME = re.compile(rf"{_LABEL}([.]{_LABEL})*")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an object of this namespace. Its value is the name."""

    name: Annotated[ObjectName, "The object's name."]

    def value(self) -> str:
        """Return the name."""
        return self.name


SecretName: TypeAlias = Annotated[str, WrittenAs(Reference)]
ConfigMapName: TypeAlias = Annotated[str, WrittenAs(Reference)]


class ConfigMapFile(Protocol):
    """A file that a ConfigMap of the test's namespace holds for the workers."""

    @property
    def config_map(self) -> str:
        """The ConfigMap's name."""

    @property
    def key(self) -> str:
        """The file's key in it."""


Host: TypeAlias = Annotated[
    str,
    Text(shortest=1, longest=253, pattern=r"[A-Za-z0-9:]([A-Za-z0-9.:-]*[A-Za-z0-9:])?", wanted="a host"),
    Rule(f"isIP(self) || self.matches('^{_HOST_NAME.pattern}$')", "must be a DNS name or an IP address"),
]
Port: TypeAlias = Annotated[int, Whole(1, 65_535)]
