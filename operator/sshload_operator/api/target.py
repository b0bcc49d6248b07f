"""The server under test and the way there: a managed target, an external one, a gateway, and jump hosts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sshload_contract.client import BY_KEY, BY_KEY_IN_CEL, Auth
from sshload_contract.declared import Absent, Default, Items, Named, Rule, Size, Text, Unwritten
from sshload_contract.names import Host, Port, SecretName
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture

from sshload_operator.api.managed_gateway import ManagedGateway
from sshload_operator.api.pods import Pods
from sshload_operator.api.proxy import Proxy, ProxyKind
from sshload_operator.api.shapes.errors import shown
from sshload_operator.api.sshd import Sshd


def _nested(outer: tuple[str, ...], inner: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Pairs of an outer path and an inner one that lies below it, or at it where they are of two kinds."""
    for place in outer:
        for other in inner:
            if other.startswith(f"{place}/") or (other == place and outer is not inner):
                yield place, other


@dataclass(frozen=True, slots=True)
class Fixtures:
    """The content of the user's home directory when the load begins."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.files) || self.files.all(f, self.files.all(g, !g.path.startsWith(f.path + '/')))",
            "a file cannot lie inside another file",
            lambda fixtures: not fixtures.in_files("files"),
            at=".files",
            explain=lambda fixtures: _cannot_be(fixtures.in_files("files"), "file"),
        ),
        Rule(
            "!has(self.repositories) || self.repositories.all(r,"
            " self.repositories.all(other, !other.path.startsWith(r.path + '/'))"
            " && (!has(self.files) || self.files.all(f, f.path != r.path && !f.path.startsWith(r.path + '/')"
            " && !r.path.startsWith(f.path + '/')))"
            " && (!has(self.directories) || self.directories.all(d, d.path != r.path"
            " && !d.path.startsWith(r.path + '/'))))",
            "a repository cannot have the path of another fixture, and nothing else can lie inside a repository",
            lambda fixtures: not fixtures.in_files("repositories") and not fixtures.in_repositories(),
            at=".repositories",
            explain=lambda fixtures: (
                _cannot_be(fixtures.in_files("repositories"), "file")
                or _cannot_be(fixtures.in_repositories(), "repository")
            ),
        ),
        Rule(
            "!has(self.files) || !has(self.directories) || self.files.all(f, self.directories.all(d,"
            " d.path != f.path && !d.path.startsWith(f.path + '/')))",
            "a directory cannot have the path of a file, or lie inside a file",
            lambda fixtures: not fixtures.in_files("directories"),
            at=".directories",
            explain=lambda fixtures: _cannot_be(fixtures.in_files("directories"), "file"),
        ),
    )
    files: Annotated[tuple[FileFixture, ...], Items(most=15, key=("path",)), Absent(()), "Files of given sizes."]
    directories: Annotated[
        tuple[DirectoryFixture, ...],
        Items(most=20, key=("path",)),
        Absent(()),
        "Directories with a number of empty files.",
    ]
    repositories: Annotated[
        tuple[RepositoryFixture, ...],
        Items(most=10, key=("path",)),
        Absent(()),
        "Bare git repositories with one branch.",
    ]
    spare_bytes: Annotated[
        int,
        Size("0", "100Gi", example="256Mi"),
        Default("256Mi"),
        "Space for what the scenario writes. At most 100Gi.",
    ]

    def _paths(self, name: str) -> tuple[str, ...]:
        return tuple(fixture.path for fixture in getattr(self, name))

    def in_files(self, name: str) -> list[tuple[str, str]]:
        """Each file with a fixture of the field `name` that lies at its path or below."""
        files = self._paths("files")
        return list(_nested(files, files if name == "files" else self._paths(name)))

    def in_repositories(self) -> list[tuple[str, str]]:
        """Each repository with another fixture that lies at its path or below."""
        repositories = self._paths("repositories")
        others = (self._paths("files"), self._paths("directories"), repositories)
        return [pair for inner in others for pair in _nested(repositories, inner)]


def _cannot_be(pairs: list[tuple[str, str]], outer: str) -> str:
    return f"{shown(pairs[0][1])} cannot be where the {outer} {shown(pairs[0][0])} is" if pairs else ""


@dataclass(frozen=True, slots=True)
class ManagedTarget(Pods):
    """An OpenSSH server that sshload deploys for the run and deletes afterwards."""

    kind: ClassVar[str] = "managed"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.proxy) || !has(self.gateway) || self.proxy.kind == 'nginx'",
            "can have no proxy but nginx, which speaks HTTP",
            lambda target: target.proxy is None or target.gateway is None or target.proxy.kind is ProxyKind.NGINX,
            at=".gateway",
        ),
    )
    sshd: Annotated[Sshd, Default({})]
    fixtures: Annotated[Fixtures, Default({})]
    proxy: Proxy | None
    gateway: ManagedGateway | None


@dataclass(frozen=True, slots=True)
class ExternalTarget:
    """An existing server. It is refused unless the installation allows it (externalTargets).

    The credentials' Secret holds what client.auth needs: `id` (a private key in OpenSSH's or PEM format) for publickey,
    certificate and agent, with `passphrase` beside it for an encryptedKey and `id-cert.pub` for certificate; `password`
    for password and keyboard-interactive. The known hosts' Secret holds `known_hosts`.
    """

    kind: ClassVar[str] = "external"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.knownHostsSecretRef) != self.?insecureIgnoreHostKey.orValue(false)",
            "set either knownHostsSecretRef or insecureIgnoreHostKey",
            lambda server: bool(server.known_hosts_secret) != server.insecure_ignore_host_key,
            at=".knownHostsSecretRef",
        ),
    )
    host: Annotated[Host, "Its name or address."]
    port: Annotated[Port, Default(22), "Its port."]
    user: Annotated[
        str,
        Text(shortest=1, longest=100, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]*", wanted="a user's name"),
        "The user who logs in.",
    ]
    credentials_secret: Annotated[
        SecretName, Named("credentialsSecretRef"), "The Secret of this namespace with the credentials."
    ]
    encrypted_key: Annotated[
        bool,
        Default(False),
        "Whether the private key is encrypted. Its passphrase is in the same Secret, under `passphrase`.",
    ]
    known_hosts_secret: Annotated[
        SecretName,
        Named("knownHostsSecretRef"),
        Absent(""),
        "The Secret of this namespace with the expected host keys.",
    ]
    insecure_ignore_host_key: Annotated[
        bool,
        Default(False),
        "Accept any host key. Whoever controls the network between the workers and the server can then read and"
        " change everything.",
    ]
    auth: Annotated[Auth, Unwritten(Auth.PUBLICKEY)]  # client.auth


@dataclass(frozen=True, slots=True)
class GatewayTarget:
    """An existing gateway: an HTTP API that runs commands over SSH. It is refused unless the installation allows it.

    The same list as for target.external allows it (externalTargets). Each request has the token as its bearer token.
    """

    kind: ClassVar[str] = "gateway"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.tls || !has(self.caSecretRef)",
            "is for tls only",
            lambda gateway: gateway.tls or not gateway.ca_secret,
            at=".caSecretRef",
        ),
    )
    host: Annotated[Host, "Its name or address."]
    port: Annotated[Port, Default(443), "Its port."]
    tls: Annotated[
        bool,
        Default(True),
        "Whether it speaks HTTPS. If not, whoever controls the network between the workers and the gateway can read"
        " the token.",
    ]
    path: Annotated[
        str,
        Text(
            longest=200,
            pattern=r"(/[A-Za-z0-9_.~-]+)*",
            wanted="a path such as /ssh, without a slash at its end",
        ),
        Absent(""),
        "The path before /sshapi/v2 in its URLs, if there is one.",
    ]
    credential: Annotated[
        str,
        Text(
            shortest=1,
            longest=63,
            pattern=r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
            wanted="a credential's name, such as login-node",
        ),
        "The credential that the gateway has stored for the token's owner.",
    ]
    token_secret: Annotated[SecretName, Named("tokenSecretRef"), "The Secret with `token`."]
    ca_secret: Annotated[
        SecretName,
        Named("caSecretRef"),
        Absent(""),
        "The Secret with `ca.crt`, the CA certificates to verify the gateway's certificate with. Without it, the"
        " public CAs.",
    ]


Target = ManagedTarget | ExternalTarget | GatewayTarget


@dataclass(frozen=True, slots=True)
class JumpHost(ExternalTarget):
    """One jump host.

    The credentials' Secret holds what auth needs, under the same keys as for target.external; the known hosts' Secret
    holds `known_hosts`.
    """

    rules: ClassVar[tuple[Rule, ...]] = (
        *ExternalTarget.rules,
        Rule(
            f"!self.?encryptedKey.orValue(false) || self.?auth.orValue('publickey') in {BY_KEY_IN_CEL}",
            "must not be true: auth uses no private key",
            lambda server: not server.encrypted_key or server.auth in BY_KEY,
            at=".encryptedKey",
            explain=lambda server: f"must not be true: {server.auth} uses no private key",
        ),
    )
    auth: Annotated[Auth, Default("publickey"), "How the workers log in to it."]
