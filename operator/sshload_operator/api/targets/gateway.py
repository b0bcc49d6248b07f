"""`target.gateway`: a gateway that exists. What its callers do is also what those of a run's own gateway do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from sshload_contract.allow_list import is_loopback
from sshload_contract.declared import Absent, Default, Named, Rule, Text
from sshload_contract.names import Port, SecretName
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import GatewayEndpoint

from sshload_operator.api.targets.access import MADE_BY_THE_RUN, Access, Meaning
from sshload_operator.api.targets.kind import SecretFiles, Server
from sshload_operator.state import Reason

_TOKEN: Final = "token"  # noqa: S105 - the name of a file
_CA: Final = "ca.crt"


class _GatewayAccess(Access):
    """By requests to a gateway, which logs in: its logins are not measured, and are not those of the workers."""

    speaks_ssh: ClassVar[bool] = False
    does: ClassVar[str] = "send requests"
    takes: ClassVar[str] = "requests"

    def meanings(self, server: str, field: str) -> Mapping[Outcome, Meaning]:
        """Return what outcomes mean that a gateway has, or that mean something else there."""
        return {
            Outcome.AUTH_REJECTED: Meaning(
                Reason.CREDENTIALS_REJECTED,
                f"{server} refused the token",
                f"Check the Secret of {field}.tokenSecretRef: the token may have expired",
            ),
            Outcome.REQUEST_REFUSED: Meaning(
                Reason.LOGIN_FAILED,
                f"{server} does not serve the caller",
                f"Check {field}.credential and {field}.path, and whose token the Secret of {field}.tokenSecretRef has",
            ),
            Outcome.REFUSED: Meaning(
                Reason.TARGET_UNREACHABLE,
                f"{server} refused the connection",
                f"Check that a gateway listens there, and that {field}.port is its port",
            ),
            Outcome.CONNECT_FAILED: Meaning(
                Reason.TARGET_UNREACHABLE,
                f"the connection to {server} failed",
                "Check that a gateway listens there, and that nothing blocks the connection",
            ),
            Outcome.TLS_FAILED: Meaning(
                Reason.LOGIN_FAILED,
                f"no trusted TLS connection to {server} was possible",
                f"Compare {field}.tls and {field}.host with its certificate, and {field}.caSecretRef with the CA that"
                " signed it",
            ),
            Outcome.TLS_TIMEOUT: Meaning(
                Reason.TARGET_UNREACHABLE,
                f"{server} did not end the TLS handshake in time",
                f"Check that it speaks TLS at {field}.port, or raise spec.client.timeouts.kex",
            ),
            Outcome.BAD_ANSWER: Meaning(
                Reason.LOGIN_FAILED,
                f"{server} does not answer like a gateway",
                f"Check that {field}.port, {field}.path and {field}.tls are those of a gateway",
            ),
        }

    def advice_on_made(self, outcome: Outcome | None) -> str:
        """Return where to look."""
        del outcome
        return "The run made this gateway: the log of its pod may say more"

    def all_refused(self, count: int, said: str, fields: Sequence[str]) -> str:
        """Return that every token was refused."""
        whose = f"the Secret of {' or '.join(fields)}" if fields else MADE_BY_THE_RUN
        return (
            f"the gateway refused the token of every one of the {count} requests{said}. Check {whose}: the"
            f" token may have expired"
        )


GATEWAY: Final = _GatewayAccess()


@dataclass(frozen=True, slots=True)
class GatewayTarget(Server):
    """An existing gateway: an HTTP API that runs commands over SSH. It is refused unless the installation allows it.

    The same list as for target.external allows it (externalTargets). Each request has the token as its bearer token.
    """

    kind: ClassVar[str] = "gateway"
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.tls || !has(self.caSecretRef)",
            "is for tls only",
            at=".caSecretRef",
        ),
    )
    credentials_field: ClassVar[str] = "tokenSecretRef"
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

    @property
    def access(self) -> Access:
        """By requests."""
        return GATEWAY

    @property
    def identity(self) -> str:
        """Where requests go, and as whom the gateway logs in."""
        return f"gateway {self.host} port {self.port}{self.path}, credential {self.credential}"

    @property
    def secrets(self) -> tuple[SecretFiles, ...]:
        """The token, and the CA certificates if it has not those of a public CA."""
        token = SecretFiles(self.token_secret, (_TOKEN,), f"requests to {self.host} need a token: give it")
        authorities = SecretFiles(
            self.ca_secret,
            (_CA,),
            f"the certificate of {self.host} is verified with your own CA certificates: give them",
        )
        return (token, authorities) if self.ca_secret else (token,)

    def endpoint(self, paths: Mapping[str, str]) -> GatewayEndpoint:
        """Return how the workers call it. An empty `ca_path` stands for the public authorities."""
        return GatewayEndpoint(
            tls=self.tls,
            host=self.host,
            port=self.port,
            path=self.path,
            credential=self.credential,
            token_path=paths[_TOKEN],
            ca_path=paths[_CA] if self.ca_secret else "",
        )

    def cautions(self, field: str) -> Iterator[str]:
        """Speak of a token that anybody on the way can read."""
        if not self.tls and not is_loopback(self.host):
            yield (
                f"{field}.tls is false: whoever stands between the workers and the gateway can read its token,"
                " and run commands with it"
            )
