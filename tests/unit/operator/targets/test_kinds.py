"""What each kind of target answers: who it is, what its Secrets hold, how it is used, and what to be warned of."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from plans import EXTERNAL, quickstart
from specs.gateway import GATEWAY
from sshload_contract.client import BY_KEY, Auth
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint, GatewayEndpoint
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.targets import ManagedTarget, UserCa
from sshload_operator.api.targets.access import MADE_BY_THE_RUN, SSH
from sshload_operator.api.targets.external import ExternalTarget, JumpHost
from sshload_operator.api.targets.gateway import GATEWAY as BY_REQUESTS
from sshload_operator.api.targets.gateway import GatewayTarget
from sshload_operator.state import Reason, Role

PATHS = {
    name: f"/files/{name}"
    for name in (
        *("id", "id-cert.pub", "passphrase", "password", "keytab", "ccache", "known_hosts", "token", "ca.crt"),
    )
}


def external(**changes: Any) -> ExternalTarget:
    found = parse(quickstart(target={"external": {**EXTERNAL, "port": 2222}})).target
    assert isinstance(found, ExternalTarget)
    return replace(found, **changes)


def gateway(**changes: Any) -> GatewayTarget:
    found = parse(GATEWAY).target
    assert isinstance(found, GatewayTarget)
    return replace(found, **changes)


def managed(**fields: Any) -> ManagedTarget:
    found = parse(quickstart(target={"managed": fields})).target
    assert isinstance(found, ManagedTarget)
    return found


def problem(spec: dict[str, Any]) -> tuple[str, str]:
    """Return where a spec is wrong, and how."""
    with pytest.raises(SpecError) as caught:
        parse(spec)
    return caught.value.path, caught.value.problem


def test_only_what_the_run_makes_is_managed_and_has_pods() -> None:
    assert (external().managed, gateway().managed) == (None, None)
    assert (external().pods, gateway().pods) == ((), ())
    target = managed()
    assert target.managed is target


@pytest.mark.parametrize(
    ("fields", "pods", "access", "before_it"),
    [
        ({}, (Role.TARGET,), SSH, ""),
        ({"proxy": {"kind": "haproxy"}}, (Role.TARGET, Role.PROXY), SSH, "the proxy before it, "),
        (
            {"gateway": {"policy": "pool"}},
            (Role.TARGET, Role.GATEWAY),
            BY_REQUESTS,
            "the gateway before it (its policy, its limits, its one process), ",
        ),
        (
            {"gateway": {"policy": "pool"}, "proxy": {"kind": "nginx"}},
            (Role.TARGET, Role.PROXY, Role.GATEWAY),
            BY_REQUESTS,
            "the gateway before it (its policy, its limits, its one process), ",
        ),
    ],
)
def test_a_managed_target_has_a_pod_for_each_part_and_is_used_through_the_gateway_if_there_is_one(
    fields: dict[str, Any], pods: tuple[Role, ...], access: object, before_it: str
) -> None:
    target = managed(**fields)
    assert (target.pods, target.access, target.before_it) == (pods, access, before_it)


def test_a_gateway_takes_no_proxy_but_one_that_speaks_its_protocol() -> None:
    both = {"gateway": {"policy": "pool"}, "proxy": {"kind": "haproxy"}}
    assert problem(quickstart(target={"managed": both}))[1] == "can have no proxy but nginx, which speaks HTTP"


def test_all_managed_targets_are_one_and_others_are_told_apart_by_who_logs_in_where() -> None:
    assert managed().identity == managed(proxy={"kind": "haproxy"}).identity == "managed"
    assert external().identity == "probe@bastion.example.com port 2222"
    assert gateway(host="gw", port=8443, path="/a", credential="c").identity == "gateway gw port 8443/a, credential c"


@pytest.mark.parametrize("auth", Auth)
def test_a_login_takes_the_files_that_it_needs_and_no_others(auth: Auth) -> None:
    target = external().logging_in_by(auth)
    credentials, known_hosts = target.secrets
    others = {Auth.CERTIFICATE: ("id", "id-cert.pub"), Auth.GSSAPI: ("keytab",)}
    wanted = others.get(auth, ("id",) if auth in BY_KEY else ("password",))
    assert (credentials.secret, credentials.files) == ("credentials", wanted)
    assert (known_hosts.secret, known_hosts.files) == ("hosts", ("known_hosts",))
    assert credentials.need == (
        f"the test logs in to bastion.example.com by {auth} (spec.client.auth): give what it needs"
    )
    assert known_hosts.hint == "`ssh-keyscan -p 2222 bastion.example.com` prints the server's key; compare it first"
    taken = {name: f"/files/{name}" for name in (*wanted, "known_hosts")}
    assert target.endpoint(PATHS) == Endpoint(
        host="bastion.example.com",
        port=2222,
        user="probe",
        auth=auth,
        private_key_path=taken.get("id", ""),
        certificate_path=taken.get("id-cert.pub", ""),
        passphrase_path="",
        password_path=taken.get("password", ""),
        known_hosts_path="/files/known_hosts",
        keytab_path=taken.get("keytab", ""),
    )


def test_a_ready_ticket_cache_takes_the_keytabs_place() -> None:
    target = external(ticket_cache=True).logging_in_by(Auth.GSSAPI)
    assert target.secrets[0].files == ("ccache",)
    endpoint = target.endpoint(PATHS)
    assert isinstance(endpoint, Endpoint)
    assert (endpoint.keytab_path, endpoint.ticket_cache_path) == ("", "/files/ccache")


@pytest.mark.parametrize("auth", sorted(BY_KEY))
def test_an_encrypted_key_has_its_passphrase_beside_it(auth: Auth) -> None:
    target = external(encrypted_key=True).logging_in_by(auth)
    assert target.secrets[0].files[-1] == "passphrase"
    assert target.endpoint(PATHS).passphrase_path == "/files/passphrase"


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_key_of_an_authority_takes_the_place_of_a_certificate(*, encrypted: bool) -> None:
    target = external().logging_in_by(Auth.CERTIFICATE, user_ca=UserCa("authority", encrypted_key=encrypted))
    credentials, authority, _ = target.secrets
    assert credentials.files == ("id",)
    assert authority.secret == "authority"
    assert authority.files == ("ca", "ca-passphrase") if encrypted else ("ca",)
    files = {**PATHS, "ca": "/files/ca", "ca-passphrase": "/files/ca-passphrase"}
    endpoint = target.endpoint(files)
    assert isinstance(endpoint, Endpoint)
    assert (endpoint.user_ca_path, endpoint.certificate_path) == ("/files/ca", "")
    assert endpoint.user_ca_passphrase_path == ("/files/ca-passphrase" if encrypted else "")


def test_an_encrypted_key_is_refused_where_no_key_is_used() -> None:
    encrypted = {**EXTERNAL, "encryptedKey": True}
    spec = quickstart(target={"external": encrypted}, client={"auth": "password"})
    assert problem(spec) == ("spec.target.external.encryptedKey", "must not be true: password uses no private key")
    assert parse({**spec, "client": {"auth": "agent"}}).auth is Auth.AGENT
    jump = quickstart(target={"external": EXTERNAL}, via=[{**encrypted, "auth": "keyboard-interactive"}])
    assert problem(jump) == ("spec.via[0].encryptedKey", "must not be true: keyboard-interactive uses no private key")
    jump["via"] = [{**encrypted, "auth": "certificate"}]
    (host,) = parse(jump).via
    assert isinstance(host, JumpHost)
    assert host.secrets[0].files == ("id", "id-cert.pub", "passphrase")
    assert "(spec.via[].auth)" in host.secrets[0].need


@pytest.mark.parametrize(("known_hosts", "ignore"), list(product([True, False], repeat=2)))
def test_either_the_host_key_is_known_or_the_author_says_that_any_will_do(known_hosts: bool, ignore: bool) -> None:  # noqa: FBT001
    fields = {**EXTERNAL, "insecureIgnoreHostKey": ignore}
    if not known_hosts:
        del fields["knownHostsSecretRef"]
    spec = quickstart(target={"external": fields})
    if known_hosts is ignore:
        assert problem(spec) == (
            "spec.target.external.knownHostsSecretRef",
            "set either knownHostsSecretRef or insecureIgnoreHostKey",
        )
        return
    target = parse(spec).target
    assert isinstance(target, ExternalTarget)
    assert len(target.secrets) == (1 if ignore else 2)
    assert target.endpoint(PATHS).known_hosts_path == ("" if ignore else "/files/known_hosts")
    cautions = list(target.cautions("spec.target.external"))
    assert len(cautions) == int(ignore)
    assert all(said.startswith("spec.target.external.insecureIgnoreHostKey is true: ") for said in cautions)


def test_a_managed_target_takes_no_password() -> None:
    with pytest.raises(SpecError) as caught:
        parse(quickstart(client={"auth": "password"}))
    assert [(one.path, one.text) for one in caught.value.problems] == [
        (
            "spec.client.auth",
            "a managed target accepts publickey, certificate and agent only, unless it has target.managed.system",
        )
    ]


@pytest.mark.parametrize("authorities", ["", "our-ca"])
def test_a_gateway_is_called_with_a_token_and_with_authorities_only_if_it_has_its_own(authorities: str) -> None:
    target = gateway(host="gw", port=8443, path="/a", ca_secret=authorities, tls=True)
    assert [(one.secret, one.files) for one in target.secrets] == [
        ("token", ("token",)),
        *([("our-ca", ("ca.crt",))] if authorities else []),
    ]
    assert target.secrets[0].need == "requests to gw need a token: give it"
    assert target.endpoint(PATHS) == GatewayEndpoint(
        tls=True,
        host="gw",
        port=8443,
        path="/a",
        credential=target.credential,
        token_path="/files/token",
        ca_path="/files/ca.crt" if authorities else "",
    )


def test_authorities_are_for_tls_only() -> None:
    fields = {**GATEWAY["target"]["gateway"], "tls": False, "caSecretRef": {"name": "ca"}}
    where, why = problem({**GATEWAY, "target": {"gateway": fields}})
    assert (where, why) == ("spec.target.gateway.caSecretRef", "is for tls only")


@pytest.mark.parametrize(
    ("host", "tls", "is_warned"),
    [("gw", False, True), ("gw", True, False), ("127.0.0.1", False, False), ("::1", False, False)],
)
def test_a_token_that_others_can_read_on_the_way_is_warned_of(host: str, *, tls: bool, is_warned: bool) -> None:
    said = list(gateway(host=host, tls=tls).cautions("spec.target.gateway"))
    assert len(said) == int(is_warned)
    assert all(one.startswith("spec.target.gateway.tls is false: ") for one in said)


@pytest.mark.parametrize(
    ("fields", "whose"), [((), ""), (("spec.a",), "spec.a"), (("spec.a", "spec.b"), "spec.a or spec.b")]
)
def test_who_has_to_look_after_refused_credentials_is_named(fields: tuple[str, ...], whose: str) -> None:
    by_login = SSH.all_refused(7, " (no)", fields)
    assert by_login == (
        "every one of the 7 logins was refused for its credentials (no). "
        f"Check the user and the Secret of {whose or MADE_BY_THE_RUN}"
    )
    by_request = BY_REQUESTS.all_refused(7, " (no)", fields)
    assert by_request == (
        "the gateway refused the token of every one of the 7 requests (no). "
        f"Check {f'the Secret of {whose}' if whose else MADE_BY_THE_RUN}: the token may have expired"
    )


def test_only_a_login_is_by_ssh() -> None:
    assert [(one.speaks_ssh, one.does, one.takes) for one in (SSH, BY_REQUESTS)] == [
        (True, "log in", "logins"),
        (False, "send requests", "requests"),
    ]
    assert (external().access, gateway().access) == (SSH, BY_REQUESTS)


def test_an_outcome_at_a_gateway_means_what_it_does_there() -> None:
    found = BY_REQUESTS.meanings("the gateway", "spec.target.gateway")
    assert {outcome: meaning.reason for outcome, meaning in found.items()} == {
        Outcome.AUTH_REJECTED: Reason.CREDENTIALS_REJECTED,
        Outcome.REQUEST_REFUSED: Reason.LOGIN_FAILED,
        Outcome.REFUSED: Reason.TARGET_UNREACHABLE,
        Outcome.CONNECT_FAILED: Reason.TARGET_UNREACHABLE,
        Outcome.TLS_FAILED: Reason.LOGIN_FAILED,
        Outcome.TLS_TIMEOUT: Reason.TARGET_UNREACHABLE,
        Outcome.BAD_ANSWER: Reason.LOGIN_FAILED,
    }
    assert all("the gateway" in one.words for one in found.values())
    assert SSH.meanings("a", "b") == {}


def test_what_the_run_made_has_advice_of_its_own() -> None:
    assert BY_REQUESTS.advice_on_made(Outcome.REFUSED) == "The run made this gateway: the log of its pod may say more"
    assert "algorithm" in SSH.advice_on_made(Outcome.KEX_FAILED)
    for other in (None, Outcome.AUTH_REJECTED):
        assert SSH.advice_on_made(other).startswith("The run made this server: ")
