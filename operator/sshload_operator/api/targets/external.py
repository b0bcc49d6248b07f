"""`target.external`: a server that exists, and jump hosts, which do too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Self

from sshload_contract.client import BY_KEY, BY_KEY_IN_CEL, Answer, Auth, Prompt, needs_password
from sshload_contract.declared import Absent, Default, Named, Rule, Text, Unwritten
from sshload_contract.names import Port, SecretName
from sshload_contract.users import USER_CHARACTERS, USER_PATTERN
from sshload_contract.wire.run_config import Endpoint

from sshload_operator.api.targets.kind import SecretFiles, Server, UserCa
from sshload_operator.api.users import Users

# The keys of a Secret that an author makes for an external target or a jump host.
_PRIVATE_KEY: Final = "id"
_CERTIFICATE: Final = "id-cert.pub"
_PASSPHRASE: Final = "passphrase"  # noqa: S105 - the name of a file
_PASSWORD: Final = "password"  # noqa: S105 - the name of a file
_TOTP: Final = "totp"
_KNOWN_HOSTS: Final = "known_hosts"
_USER: Final = Text(shortest=1, longest=USER_CHARACTERS, pattern=USER_PATTERN, wanted="a user's name")
_KEYTAB: Final = "keytab"
_TICKET_CACHE: Final = "ccache"
_USER_CA: Final = "ca"
_USER_CA_PASSPHRASE: Final = "ca-passphrase"  # noqa: S105 - the name of a file


def _files_of(ca: UserCa) -> SecretFiles:
    passphrase = (_USER_CA_PASSPHRASE,) if ca.encrypted_key else ()
    need = "the workers sign their users' certificates (spec.client.certificates.ca): give the authority's key"
    return SecretFiles(ca.secret, (_USER_CA, *passphrase), need)


@dataclass(frozen=True, slots=True)
class ExternalTarget(Server):
    """An existing server. It is refused unless the installation allows it (externalTargets).

    The credentials' Secret holds what client.auth needs: `id` (a private key in OpenSSH's or PEM format) for publickey,
    certificate and agent, with `passphrase` beside it for an encryptedKey and `id-cert.pub` for certificate, unless
    client.certificates has the workers sign certificates; `password` for password and keyboard-interactive; `totp`
    (base32) for client.prompts; `keytab` for gssapi, or `ccache` with ticketCache. The known hosts' Secret holds
    `known_hosts`.
    """

    kind: ClassVar[str] = "external"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.knownHostsSecretRef) != self.?insecureIgnoreHostKey.orValue(false)",
            "set either knownHostsSecretRef or insecureIgnoreHostKey",
            at=".knownHostsSecretRef",
        ),
    )
    spec_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"!has(self.target.external) || !self.target.external.encryptedKey || self.client.auth in {BY_KEY_IN_CEL}",
            "must not be true: client.auth uses no private key",
            at=".target.external.encryptedKey",
            explain=lambda spec: f"must not be true: {spec.auth} uses no private key",
        ),
        Rule(
            "!has(self.target.external)"
            " || has(self.target.external.user) != (has(self.client) && has(self.client.users))",
            "set either target.external.user or client.users",
            at=".target.external.user",
        ),
        Rule(
            "!has(self.target.external) || !has(self.client) || !has(self.client.users)"
            " || has(self.client.users.secretRef) != has(self.client.users.names)",
            "exactly one of secretRef and names must be set for target.external",
            at=".client.users",
        ),
        Rule(
            "!has(self.target.external) || has(self.target.external.credentialsSecretRef)"
            " || has(self.client) && has(self.client.users) && has(self.client.users.secretRef)",
            "is required, unless client.users.secretRef has the credentials of all users",
            at=".target.external.credentialsSecretRef",
        ),
        Rule(
            f"!has(self.target.external) || !self.target.external.ticketCache || self.client.auth == '{Auth.GSSAPI}'",
            "must not be true: client.auth uses no tickets",
            at=".target.external.ticketCache",
        ),
        Rule(
            f"!has(self.target.external) || self.client.auth != '{Auth.GSSAPI}'"
            " || has(self.client.kerberos) && has(self.client.kerberos.realms)",
            "must have the realm and its KDCs in realms, because client.auth is gssapi",
            at=".client.kerberos",
        ),
        Rule(
            "!has(self.target.external) || !has(self.client) || !has(self.client.certificates)"
            " || has(self.client.certificates.ca)",
            "is required: only a managed target has an authority that is made for the run",
            at=".client.certificates.ca",
        ),
    )
    credentials_field: ClassVar[str] = "credentialsSecretRef"
    auth_field: ClassVar[str] = "client.auth"
    port: Annotated[Port, Default(22), "Its port."]
    user: Annotated[
        str,
        _USER,
        Absent(""),
        "The user who logs in. Required without client.users.",
    ]
    credentials_secret: Annotated[
        SecretName,
        Named("credentialsSecretRef"),
        Absent(""),
        "The Secret of this namespace with the credentials. Required unless client.users.secretRef has all of them.",
    ]
    encrypted_key: Annotated[
        bool,
        Default(False),
        "Whether the private key is encrypted. Its passphrase is in the same Secret, under `passphrase`.",
    ]
    ticket_cache: Annotated[
        bool,
        Default(False),
        "Whether the Secret has a ticket cache that you keep fresh (`ccache`) in place of a keytab.",
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
    users: Annotated[Users | None, Unwritten(None)]  # client.users
    user_ca: Annotated[UserCa | None, Unwritten(None)]  # client.certificates.ca
    prompts: Annotated[tuple[Prompt, ...], Unwritten(())] = ()  # client.prompts

    @property
    def identity(self) -> str:
        """Who logs in where."""
        return f"{self.user or 'a population'}@{self.host} port {self.port}"

    def logging_in_by(
        self,
        auth: Auth,
        users: Users | None = None,
        user_ca: UserCa | None = None,
        prompts: tuple[Prompt, ...] = (),
    ) -> Self:
        """Return the target with what client states."""
        return replace(self, auth=auth, users=users, user_ca=user_ca, prompts=prompts)

    @property
    def secrets(self) -> tuple[SecretFiles, ...]:
        """What a login by `auth` needs, and no other keys of the Secret; and the host keys, unless any is accepted."""
        return tuple(self._secrets())

    def _secrets(self) -> Iterator[SecretFiles]:
        if self.users is not None and self.users.secret:
            yield SecretFiles(
                self.users.secret,
                (self.users.file,),
                f"the test logs in to {self.host} as the users of a file (spec.client.users): give it",
            )
        credentials = SecretFiles(
            self.credentials_secret,
            self._credential_files,
            f"the test logs in to {self.host} by {self.auth} (spec.{self.auth_field}): give what it needs",
        )
        known_hosts = SecretFiles(
            self.known_hosts_secret,
            (_KNOWN_HOSTS,),
            f"the host key of {self.host} is checked: give the right key",
            f"`ssh-keyscan -p {self.port} {self.host}` prints the server's key; compare it first",
        )
        if self.credentials_secret:
            yield credentials
        if self.user_ca is not None:
            yield _files_of(self.user_ca)
        if not self.insecure_ignore_host_key:
            yield known_hosts

    @property
    def _credential_files(self) -> tuple[str, ...]:
        return (*self._files_by_auth, *self._files_by_prompts)

    @property
    def _files_by_auth(self) -> tuple[str, ...]:
        if self.auth is Auth.GSSAPI:
            return (_TICKET_CACHE if self.ticket_cache else _KEYTAB,)
        if self.auth not in BY_KEY:
            return (_PASSWORD,) if needs_password(self.auth, self.prompts) else ()
        certificate = (_CERTIFICATE,) if self.auth is Auth.CERTIFICATE and self.user_ca is None else ()
        passphrase = (_PASSPHRASE,) if self.encrypted_key else ()
        return (_PRIVATE_KEY, *certificate, *passphrase)

    @property
    def _files_by_prompts(self) -> tuple[str, ...]:
        """What answers prompts, unless the file of the users has it."""
        if self.users is not None and self.users.secret:
            return ()
        answers = {prompt.answer for prompt in self.prompts}
        password = (_PASSWORD,) if Answer.PASSWORD in answers and _PASSWORD not in self._files_by_auth else ()
        return (*password, _TOTP) if Answer.TOTP in answers else password

    def endpoint(self, paths: Mapping[str, str]) -> Endpoint:
        """Return how the workers log in, with the files that the login needs."""
        taken = {file: paths[file] for secret in self.secrets for file in secret.files}
        return Endpoint(
            host=self.host,
            port=self.port,
            user=self.user,
            auth=self.auth,
            private_key_path=taken.get(_PRIVATE_KEY, ""),
            certificate_path=taken.get(_CERTIFICATE, ""),
            passphrase_path=taken.get(_PASSPHRASE, ""),
            password_path=taken.get(_PASSWORD, ""),
            known_hosts_path=taken.get(_KNOWN_HOSTS, ""),
            users=None if self.users is None else self.users.of_author(taken),
            keytab_path=taken.get(_KEYTAB, ""),
            ticket_cache_path=taken.get(_TICKET_CACHE, ""),
            user_ca_path=taken.get(_USER_CA, ""),
            user_ca_passphrase_path=taken.get(_USER_CA_PASSPHRASE, ""),
            totp_path=taken.get(_TOTP, ""),
        )

    def cautions(self, field: str) -> Iterator[str]:
        """Speak of a host key that nobody checks."""
        if self.insecure_ignore_host_key:
            yield (
                f"{field}.insecureIgnoreHostKey is true: whoever stands between the workers and the server can read and"
                " change everything, the password too"
            )


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
            at=".encryptedKey",
            explain=lambda server: f"must not be true: {server.auth} uses no private key",
        ),
    )
    auth_field: ClassVar[str] = "via[].auth"
    user: Annotated[str, _USER, "The user who logs in."]
    credentials_secret: Annotated[
        SecretName, Named("credentialsSecretRef"), "The Secret of this namespace with the credentials."
    ]
    auth: Annotated[Auth, Default("publickey"), "How the workers log in to it."]
