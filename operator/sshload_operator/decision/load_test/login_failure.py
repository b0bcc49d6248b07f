"""Why the load did not begin: in words, why a worker could not log in before it, and what to change."""

from collections.abc import Mapping
from dataclasses import dataclass

from sshload_contract.vocabulary import Outcome, Verdict
from sshload_contract.wire.report import LoginFailure

from sshload_operator.api.gateway_rules import calls_gateway
from sshload_operator.api.target import ManagedTarget
from sshload_operator.decision.judgement import Conclusion
from sshload_operator.planning.plan import Plan, gateway_of
from sshload_operator.state import Reason

_MANAGED_ADVICE = "The run made this server: check whether spec.target.managed keeps its user from logging in"
_MANAGED_KEX_ADVICE = (
    "Give spec.target.managed.sshd an algorithm that the client has, or set another spec.client.library"
)
_GATEWAY_ADVICE = "The run made this gateway: the log of its pod may say more"


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What an outcome means. `{server}` and `{field}`, the server's path in the spec, are placeholders."""

    reason: Reason
    words: str
    advice: str


_NO_ADDRESS = _Meaning(
    Reason.TARGET_NAME_UNKNOWN,
    "the name of {server} has no address",
    "Correct {field}.host, or the name's record in the DNS",
)
_OTHER = _Meaning(Reason.LOGIN_FAILED, "the login to {server} failed", "Its log may say more")
_MEANINGS = {
    Outcome.AUTH_REJECTED: _Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused the credentials",
        "Check {field}.user, spec.client.auth and the Secret of {field}.credentialsSecretRef",
    ),
    Outcome.HOST_KEY_MISMATCH: _Meaning(
        Reason.HOST_KEY_MISMATCH,
        "the host key of {server} is not the known one",
        "Put the right key into the Secret of {field}.knownHostsSecretRef, or find out who answers in its place",
    ),
    Outcome.REFUSED: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} refused the connection",
        "Check that an SSH server listens there, and that {field}.port is its port",
    ),
    Outcome.CONNECT_TIMEOUT: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} did not accept the connection in time",
        "Check whether a firewall or a NetworkPolicy blocks it, or raise spec.client.timeouts.connect",
    ),
    Outcome.CONNECT_FAILED: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "the connection to {server} failed",
        "Check that an SSH server listens there, and that nothing blocks the connection",
    ),
    Outcome.BANNER_TIMEOUT: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} accepted the connection and then sent nothing",
        "Check that {field}.port is the port of an SSH server, and that it is not overloaded; or raise"
        " spec.client.timeouts.banner",
    ),
    Outcome.RESET_BEFORE_BANNER: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} closed the connection before it sent anything",
        "Its log, or the log of a proxy in front of it, may say why it rejects the workers' addresses",
    ),
    Outcome.CHANNEL_REFUSED: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "the jump host did not forward the connection to {server}",
        "Check that it reaches {field}.host, and that AllowTcpForwarding and PermitOpen in its sshd_config allow it",
    ),
    Outcome.NOT_SSH: _Meaning(
        Reason.LOGIN_FAILED, "{server} does not speak SSH", "Check that {field}.port is the port of an SSH server"
    ),
    Outcome.KEX_FAILED: _Meaning(
        Reason.LOGIN_FAILED,
        "the key exchange with {server} failed",
        "Compare the algorithms of spec.client with those that the server offers",
    ),
    Outcome.KEX_TIMEOUT: _Meaning(
        Reason.LOGIN_FAILED,
        "the key exchange with {server} did not end in time",
        "Check whether it is overloaded, or raise spec.client.timeouts.kex",
    ),
    Outcome.AUTH_TIMEOUT: _Meaning(
        Reason.LOGIN_FAILED,
        "{server} did not decide on the credentials in time",
        "Check what its authentication waits for (DNS, PAM, a directory), or raise spec.client.timeouts.auth",
    ),
}


_OF_GATEWAY = {
    Outcome.AUTH_REJECTED: _Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused the token",
        "Check the Secret of {field}.tokenSecretRef: the token may have expired",
    ),
    Outcome.REQUEST_REFUSED: _Meaning(
        Reason.LOGIN_FAILED,
        "{server} does not serve the caller",
        "Check {field}.credential and {field}.path, and whose token the Secret of {field}.tokenSecretRef has",
    ),
    Outcome.REFUSED: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} refused the connection",
        "Check that a gateway listens there, and that {field}.port is its port",
    ),
    Outcome.CONNECT_FAILED: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "the connection to {server} failed",
        "Check that a gateway listens there, and that nothing blocks the connection",
    ),
    Outcome.TLS_FAILED: _Meaning(
        Reason.LOGIN_FAILED,
        "no trusted TLS connection to {server} was possible",
        "Compare {field}.tls and {field}.host with its certificate, and {field}.caSecretRef with the CA that signed it",
    ),
    Outcome.TLS_TIMEOUT: _Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} did not end the TLS handshake in time",
        "Check that it speaks TLS at {field}.port, or raise spec.client.timeouts.kex",
    ),
    Outcome.BAD_ANSWER: _Meaning(
        Reason.LOGIN_FAILED,
        "{server} does not answer like a gateway",
        "Check that {field}.port, {field}.path and {field}.tls are those of a gateway",
    ),
}
"""What outcomes mean if the target is a gateway."""


def by_login_failure(plan: Plan, failure: LoginFailure) -> Conclusion:
    """Return the verdict on a run whose load did not begin because a worker could not log in."""
    meaning = _NO_ADDRESS if failure.outcome is None else _meanings(plan).get(failure.outcome, _OTHER)
    role = f"jump host {failure.jump_host}" if failure.jump_host else "the target"
    server = f"{role} ({failure.host} port {failure.port})"
    said = f" ({failure.message})" if failure.message else ""
    is_made = not failure.jump_host and isinstance(plan.spec.target, ManagedTarget)
    field = f"spec.via[{failure.jump_host - 1}]" if failure.jump_host else f"spec.target.{plan.spec.target.kind}"
    advice = _advice_on_made(plan, failure) if is_made else meaning.advice.format(field=field)
    words = meaning.words.format(server=server)
    message = f"the load was not begun: {words}{said} when worker {failure.worker} logged in before the load. {advice}"
    return Verdict.ERROR, meaning.reason, message


def _advice_on_made(plan: Plan, failure: LoginFailure) -> str:
    if gateway_of(plan.spec) is not None:
        return _GATEWAY_ADVICE
    return _MANAGED_KEX_ADVICE if failure.outcome is Outcome.KEX_FAILED else _MANAGED_ADVICE


def _meanings(plan: Plan) -> Mapping[Outcome, _Meaning]:
    return {**_MEANINGS, **_OF_GATEWAY} if calls_gateway(plan.spec) else _MEANINGS
