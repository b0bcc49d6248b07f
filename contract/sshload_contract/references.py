"""References to other objects of a test's namespace, as a spec writes them."""

from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeAlias

from sshload_contract.declared import Text, WrittenAs

OBJECT_NAME: Final = Text(
    longest=253, pattern=r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", wanted="the name of a Kubernetes object"
)
ObjectName: TypeAlias = Annotated[str, OBJECT_NAME]


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an object of this namespace. Its value is the name."""

    name: Annotated[ObjectName, "The object's name."]

    def value(self) -> str:
        """Return the name."""
        return self.name


SecretName: TypeAlias = Annotated[str, WrittenAs(Reference)]
ConfigMapName: TypeAlias = Annotated[str, WrittenAs(Reference)]
ConfigMapKey: TypeAlias = Annotated[
    str,
    Text(longest=253, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]*", wanted="a key of a ConfigMap, such as locustfile.py"),
]


class ConfigMapFile(Protocol):
    """A file that a ConfigMap of the test's namespace holds for the workers."""

    @property
    def config_map(self) -> str:
        """The ConfigMap's name."""

    @property
    def key(self) -> str:
        """The file's key in it."""
