"""Why the load did not begin: in words, why a worker could not log in before it, and what to change."""

from sshload_contract.vocabulary import Outcome, Verdict
from sshload_contract.wire.report import LoginFailure

from sshload_operator.api.targets.access import Access, Meaning
from sshload_operator.decision.judgement import Conclusion
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Reason

_NO_ADDRESS = Meaning(
    Reason.TARGET_NAME_UNKNOWN,
    "the name of {server} has no address",
    "Correct {field}.host, or the name's record in the DNS",
)
_OTHER = Meaning(Reason.LOGIN_FAILED, "the login to {server} failed", "Its log may say more")
_MEANINGS = {
    Outcome.AUTH_REJECTED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused the credentials",
        "Check {field}.user, spec.client.auth and the Secret of {field}.credentialsSecretRef",
    ),
    Outcome.CERTIFICATE_EXPIRED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused a certificate that has ended",
        "Give spec.client.certificates.lifetime more time, or have a new certificate signed",
    ),
    Outcome.KEY_REVOKED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused a key that the run has revoked",
        "Set spec.loginBeforeLoad to false",
    ),
    Outcome.TOO_MANY_AUTH_FAILURES: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} takes fewer keys than were offered before the right one",
        "Set spec.client.extraKeys below its MaxAuthTries, or spec.loginBeforeLoad to false to measure how it refuses",
    ),
    Outcome.NO_TICKET: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "Kerberos has no ticket for {server}",
        "Check {field}.user, spec.client.kerberos and the keytab, or the ticket cache, in the Secret of"
        " {field}.credentialsSecretRef",
    ),
    Outcome.KDC_UNREACHABLE: Meaning(
        Reason.LOGIN_FAILED,
        "no KDC gave a ticket for {server}",
        "Check that spec.client.kerberos.realms names the KDCs, and that nothing blocks the workers' way to them",
    ),
    Outcome.HOST_KEY_MISMATCH: Meaning(
        Reason.HOST_KEY_MISMATCH,
        "the host key of {server} is not the known one",
        "Put the right key into the Secret of {field}.knownHostsSecretRef, or find out who answers in its place",
    ),
    Outcome.REFUSED: Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} refused the connection",
        "Check that an SSH server listens there, and that {field}.port is its port",
    ),
    Outcome.CONNECT_TIMEOUT: Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} did not accept the connection in time",
        "Check whether a firewall or a NetworkPolicy blocks it, or raise spec.client.timeouts.connect",
    ),
    Outcome.CONNECT_FAILED: Meaning(
        Reason.TARGET_UNREACHABLE,
        "the connection to {server} failed",
        "Check that an SSH server listens there, and that nothing blocks the connection",
    ),
    Outcome.BANNER_TIMEOUT: Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} accepted the connection and then sent nothing",
        "Check that {field}.port is the port of an SSH server, and that it is not overloaded; or raise"
        " spec.client.timeouts.banner",
    ),
    Outcome.RESET_BEFORE_BANNER: Meaning(
        Reason.TARGET_UNREACHABLE,
        "{server} closed the connection before it sent anything",
        "Its log, or the log of a proxy in front of it, may say why it rejects the workers' addresses",
    ),
    Outcome.CHANNEL_REFUSED: Meaning(
        Reason.TARGET_UNREACHABLE,
        "the jump host did not forward the connection to {server}",
        "Check that it reaches {field}.host, and that AllowTcpForwarding and PermitOpen in its sshd_config allow it",
    ),
    Outcome.NOT_SSH: Meaning(
        Reason.LOGIN_FAILED, "{server} does not speak SSH", "Check that {field}.port is the port of an SSH server"
    ),
    Outcome.KEX_FAILED: Meaning(
        Reason.LOGIN_FAILED,
        "the key exchange with {server} failed",
        "Compare the algorithms of spec.client with those that the server offers",
    ),
    Outcome.KEX_TIMEOUT: Meaning(
        Reason.LOGIN_FAILED,
        "the key exchange with {server} did not end in time",
        "Check whether it is overloaded, or raise spec.client.timeouts.kex",
    ),
    Outcome.PROMPT_UNEXPECTED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} asks for something that no answer is given for",
        "Add an entry that matches the prompt to spec.client.prompts",
    ),
    Outcome.SECOND_FACTOR_REUSED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused a code that had been used",
        "Let no other run or program log in as {field}.user meanwhile, or log in as more users",
    ),
    Outcome.PASSWORD_EXPIRED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} asks for a new password",
        "Change the password of {field}.user there, and in the Secret of {field}.credentialsSecretRef",
    ),
    Outcome.ACCOUNT_EXPIRED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused an account that has expired",
        "Renew the account of {field}.user there (chage -E)",
    ),
    Outcome.ACCOUNT_LOCKED: Meaning(
        Reason.CREDENTIALS_REJECTED,
        "{server} refused an account that is locked",
        "Unlock the account of {field}.user there (faillock --reset), and find out who failed to log in as this user",
    ),
    Outcome.NO_LOGIN: Meaning(
        Reason.LOGIN_FAILED,
        "{server} lets nobody in, or not this user",
        "Look there for /etc/nologin, and for what PAM says of {field}.user in its log",
    ),
    Outcome.AUTH_TIMEOUT: Meaning(
        Reason.LOGIN_FAILED,
        "{server} did not decide on the credentials in time",
        "Check what its authentication waits for (DNS, PAM, a directory), or raise spec.client.timeouts.auth",
    ),
}


def by_login_failure(plan: Plan, failure: LoginFailure) -> Conclusion:
    """Return the verdict on a run whose load did not begin because a worker could not log in."""
    role = f"jump host {failure.jump_host}" if failure.jump_host else "the target"
    server = f"{role} ({failure.host} port {failure.port})"
    said = f" ({failure.message})" if failure.message else ""
    is_made = not failure.jump_host and plan.spec.managed is not None
    field = f"spec.via[{failure.jump_host - 1}]" if failure.jump_host else f"spec.target.{plan.spec.target.kind}"
    access = plan.spec.target.access
    reason, words, advice = _meaning(access, failure.outcome, server, field)
    if is_made:
        advice = access.advice_on_made(failure.outcome)
    elif plan.spec.users is not None and not failure.jump_host and failure.outcome is Outcome.AUTH_REJECTED:
        advice = "Check this user of spec.client.users and the credentials there, and spec.client.auth"
    message = f"the load was not begun: {words}{said} when worker {failure.worker} logged in before the load. {advice}"
    return Verdict.ERROR, reason, message


def _meaning(access: Access, outcome: Outcome | None, server: str, field: str) -> Meaning:
    """Return what an outcome of this server means, None being a name without an address."""
    meanings = access.meanings(server, field)
    if outcome is not None and outcome in meanings:
        return meanings[outcome]
    reason, words, advice = _NO_ADDRESS if outcome is None else _MEANINGS.get(outcome, _OTHER)
    return Meaning(reason, words.format(server=server), advice.format(field=field))
