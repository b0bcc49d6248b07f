"""What every kind of target answers, every server that exists without the run, and every program in the path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from sshload_contract.client import Auth, Prompt
from sshload_contract.declared import Default, Named, Rule
from sshload_contract.names import Host, Port, SecretName
from sshload_contract.wire.run_config import TargetEndpoint

from sshload_operator.api.sshd import Sshd
from sshload_operator.api.targets.access import SSH, Access
from sshload_operator.api.users import Users
from sshload_operator.state import Role

if TYPE_CHECKING:
    from sshload_operator.api.targets.managed import ManagedTarget


@dataclass(frozen=True, slots=True)
class UserCa:
    """The authority that signs the certificates of those who log in to a server that exists.

    The workers get its private key. Take one whose certificates nothing but a test accepts.
    """

    secret: Annotated[
        SecretName,
        Named("secretRef"),
        "The Secret of this namespace with the authority's private key, under `ca`.",
    ]
    encrypted_key: Annotated[
        bool,
        Default(False),
        "Whether that key is encrypted. Its passphrase is in the same Secret, under `ca-passphrase`.",
    ]


class TargetKind:
    """A target: one that the run makes (`managed`), or a server that exists."""

    __slots__ = ()
    kind: ClassVar[str]
    spec_rules: ClassVar[tuple[Rule, ...]] = ()
    """The rules between a target of this kind and the rest of its spec."""

    @property
    def managed(self) -> "ManagedTarget | None":
        """The target itself, if the run makes it."""
        raise NotImplementedError

    @property
    def pods(self) -> tuple[Role, ...]:
        """The roles of the pods that the run makes for it, one pod of each."""
        return ()

    @property
    def access(self) -> Access:
        """How the workers use it."""
        return SSH

    @property
    def identity(self) -> str:
        """Which server it is, in words: figures of targets with the same words can be compared."""
        raise NotImplementedError

    def logging_in_by(
        self,
        auth: Auth,
        users: Users | None = None,
        user_ca: UserCa | None = None,
        prompts: tuple[Prompt, ...] = (),
    ) -> Self:
        """Return the target for workers that log in by `auth`, as these users, which its spec states elsewhere.

        With Auth.CERTIFICATE, they may sign the certificates by the key of `user_ca`. They answer `prompts`.
        """
        del auth, users, user_ca, prompts
        return self


class ProgramInPath:
    """A program between the workers, or the last jump host, and a managed target: a field of it, by a name of InPath.

    `words` are what may be short of something that sshload does not see.
    """

    __slots__ = ()
    access: ClassVar[Access] = SSH
    words: ClassVar[str]

    def cautions(self, most: float, sshd: Sshd) -> Iterator[str]:
        """Yield what its author should know, if there are at most so many iterations at once."""
        del most, sshd
        return iter(())


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """Files of a Secret that the author of a test makes. `need` says why without them nothing works.

    It is the beginning of a sentence that the option for such a file ends. `hint` is more on it, in parentheses.
    """

    secret: str
    files: tuple[str, ...]
    need: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Server(TargetKind):
    """A server that exists: a target, or a jump host before one. `credentials_field` names the Secret for it."""

    credentials_field: ClassVar[str]
    host: Annotated[Host, "Its name or address."]
    port: Annotated[Port, "Its port."]

    @property
    def managed(self) -> None:
        """None: the run does not make it."""
        return

    @property
    def secrets(self) -> tuple[SecretFiles, ...]:
        """The Secrets that its author makes, with the files that the workers need of them."""
        raise NotImplementedError

    def endpoint(self, paths: Mapping[str, str]) -> TargetEndpoint:
        """Return how the workers use it. `paths` has where they find each file of its Secrets, by its name."""
        raise NotImplementedError

    def cautions(self, field: str) -> Iterator[str]:
        """Yield what the author should know of the server that `field` names, a sentence each."""
        raise NotImplementedError
