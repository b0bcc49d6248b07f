"""What a login before the load says of a server that lets nobody in: the same for every client library."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from circles import in_pairs
from client_kinds import KINDS, SSH2_PYTHON, Kind, every_kind
from password_server import PASSWORD, USER, password_server
from run_configs import arrivals, endpoint, run_config
from ssh_server import Keys, SshServer
from sshload_contract.client import Auth
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import Endpoint
from sshload_worker.scenario.first_login import log_in_once
from sshload_worker.scenario.target_login import prepare_login, resolve


def failure_at(target: Endpoint, kind: Kind, **settings: tuple[str, ...]) -> LoginFailure:
    """Return why the login before the load fails."""
    config = run_config(target, arrivals(1, 1))
    config = replace(config, client=replace(kind.client(), **settings))
    addresses = resolve(target, pytest.fail)
    failure = log_in_once(0, prepare_login(config, addresses), addresses, lambda _: None)
    assert failure is not None
    return failure


@pytest.fixture(scope="module")
def kbdint_port(keys: Keys) -> Iterator[int]:
    """Run a server that takes keyboard-interactive only."""
    with password_server(keys.host, "keyboard-interactive") as port:
        yield port


@every_kind
def test_a_server_that_asks_for_a_second_method_is_told_with_the_method(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd("AuthenticationMethods publickey,password\nPasswordAuthentication yes")
    failure = failure_at(endpoint(server), kind)
    assert failure.outcome is Outcome.AUTH_REJECTED
    assert failure.message == (
        "the server accepted publickey and asks for a second method, password, but a login here has only one"
    )


@every_kind
def test_a_server_that_asks_for_prompts_besides_is_told_with_the_setting_that_answers_them(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd("AuthenticationMethods publickey,keyboard-interactive\nKbdInteractiveAuthentication yes")
    failure = failure_at(endpoint(server), kind)
    assert failure.outcome is Outcome.AUTH_REJECTED
    assert failure.message == (
        "the server accepted publickey and asks for a second method, keyboard-interactive: client.prompts answers"
        " keyboard-interactive"
    )


@every_kind
def test_a_method_that_the_server_does_not_offer_is_told_with_those_that_it_does(
    kbdint_port: int, tmp_path: Path, kind: Kind
) -> None:
    path = tmp_path / "password"
    path.write_text(PASSWORD)
    target = Endpoint(
        host="127.0.0.1",
        port=kbdint_port,
        user=USER,
        auth=Auth.PASSWORD,
        private_key_path="",
        certificate_path="",
        passphrase_path="",
        password_path=str(path),
        known_hosts_path="",
    )
    failure = failure_at(target, kind)
    assert failure.outcome is Outcome.AUTH_REJECTED
    assert failure.message == (
        "the server does not let this user in by password alone: it asks for keyboard-interactive"
    )


@every_kind
def test_rejected_credentials_are_told_with_the_methods_that_the_server_offers(
    start_sshd: Callable[[str], SshServer], kind: Kind
) -> None:
    server = start_sshd("PasswordAuthentication yes\nKbdInteractiveAuthentication no")
    failure = failure_at(replace(endpoint(server), private_key_path=str(server.keys.stranger)), kind)
    assert failure.outcome is Outcome.AUTH_REJECTED
    assert failure.message == ("the server refused publickey with these credentials; it offers publickey, password")


@every_kind
def test_a_wrong_host_key_is_told_with_both_fingerprints(sshd: SshServer, tmp_path: Path, kind: Kind) -> None:
    known_hosts = tmp_path / "known_hosts"
    other = sshd.keys.stranger.with_suffix(".pub").read_text()
    known_hosts.write_text(f"[127.0.0.1]:{sshd.port} {other}")
    failure = failure_at(replace(endpoint(sshd), known_hosts_path=str(known_hosts)), kind)
    assert failure.outcome is Outcome.HOST_KEY_MISMATCH
    assert failure.message == (
        f"the server's host key is ssh-ed25519 {fingerprint(sshd.keys.host)}, and known_hosts has ssh-ed25519"
        f" {fingerprint(sshd.keys.stranger)}"
    )


def fingerprint(key: Path) -> str:
    shown = subprocess.run(["ssh-keygen", "-lf", key], check=True, capture_output=True, text=True)
    return shown.stdout.split()[1]


@in_pairs(
    ("kind", KINDS),
    (
        "directive, settings, said",
        [
            pytest.param(
                "KexAlgorithms ecdh-sha2-nistp384",
                {"kex_algorithms": ("ecdh-sha2-nistp256",)},
                "there is no key exchange in common: the server offers only ecdh-sha2-nistp384; spec.client asks for"
                " ecdh-sha2-nistp256",
                id="key exchange",
            ),
            pytest.param(
                "Ciphers aes128-ctr",
                {"ciphers": ("aes256-ctr",)},
                "there is no cipher in common: the server offers only aes128-ctr; spec.client asks for aes256-ctr",
                id="cipher",
            ),
            pytest.param(
                "Ciphers aes256-ctr\nMACs hmac-sha2-256",
                {"macs": ("hmac-sha2-512",)},
                "there is no MAC in common: the server offers only hmac-sha2-256; spec.client asks for hmac-sha2-512",
                id="MAC",
            ),
        ],
    ),
)
def test_what_is_not_in_common_is_told_with_both_lists(
    start_sshd: Callable[[str], SshServer], kind: Kind, directive: str, settings: dict[str, tuple[str, ...]], said: str
) -> None:
    failure = failure_at(endpoint(start_sshd(directive)), kind, **settings)
    assert failure.outcome is Outcome.KEX_FAILED
    assert failure.message == said


def test_a_key_exchange_that_the_library_lacks_is_told_with_what_it_has(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("KexAlgorithms sntrup761x25519-sha512@openssh.com")
    failure = failure_at(endpoint(server), SSH2_PYTHON)
    assert failure.message.startswith(
        "there is no key exchange in common: the server offers only sntrup761x25519-sha512@openssh.com; the client"
        " library ssh2-python has mlkem768x25519-sha256, curve25519-sha256, "
    )


@every_kind
def test_a_host_key_that_known_hosts_does_not_know_by_its_type_is_told(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, kind: Kind
) -> None:
    server = start_sshd("")
    key = tmp_path / "ecdsa"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", key], check=True)
    known_hosts = tmp_path / "known"
    known_hosts.write_text(f"[127.0.0.1]:{server.port} {key.with_suffix('.pub').read_text()}")
    failure = failure_at(replace(endpoint(server), known_hosts_path=str(known_hosts)), kind)
    assert failure.message == (
        "there is no host key algorithm in common: the server offers only ssh-ed25519; the keys in known_hosts are for"
        " ecdsa-sha2-nistp256"
    )
