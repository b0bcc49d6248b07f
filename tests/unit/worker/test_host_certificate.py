import base64
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import time

import pytest
from ssh_server import write_key
from sshload_worker.login.certificate import certificate_refusal, read_certificate_fields
from sshload_worker.login.known_hosts import HostKeys, read_known_hosts
from sshload_worker.login.wire import wire_string

pytestmark = pytest.mark.xdist_group("generated keys")  # made once per process
HOST = "server.example.org"
CERTIFICATE = Callable[..., bytes]


def public(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def blob(line: str) -> bytes:
    return base64.b64decode(line.split()[1])


@pytest.fixture
def certificate(tmp_path: Path) -> CERTIFICATE:
    """Return a function that makes a host key's certificate in wire form, by ssh-keygen's options."""

    def make(*options: str, ca: str = "ca", ca_kind: str = "ed25519", kind: str = "ed25519") -> bytes:
        host = write_key(tmp_path / f"host_{kind}", kind)
        signer = write_key(tmp_path / ca, ca_kind)
        command = ["ssh-keygen", "-q", "-s", signer, "-I", "host", *(options or ("-h", "-n", HOST))]
        subprocess.run([*command, host.with_suffix(".pub")], check=True, capture_output=True)
        return blob(host.with_name(f"{host.name}-cert.pub").read_text())

    return make


def known(tmp_path: Path, text: str = "", host: str = HOST, port: int = 22) -> HostKeys:
    return read_known_hosts(f"@cert-authority *.example.org {public(tmp_path / 'ca')}\n{text}", host, port)


@pytest.mark.slow
@pytest.mark.parametrize("ca_kind", ["ed25519", "ecdsa", "rsa"])
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_certificate_of_a_known_authority_is_accepted(
    tmp_path: Path, certificate: CERTIFICATE, kind: str, ca_kind: str
) -> None:
    shown = certificate(kind=kind, ca_kind=ca_kind)
    keys = known(tmp_path)
    assert keys.refusal(shown) == ""
    assert keys.accepts(shown)
    assert not keys.accepts(blob(public(tmp_path / f"host_{kind}")))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("-h", "-n", f"other,{HOST}"), id="one of several principals"),
        pytest.param(("-h", "-n", "*.example.org"), id="a pattern for a principal"),
        pytest.param(("-h",), id="no principals"),
        pytest.param(("-h", "-n", HOST, "-V", "-1d:+1d"), id="valid today"),
    ],
)
def test_a_certificate_for_the_host_and_the_time_is_accepted(
    tmp_path: Path, certificate: CERTIFICATE, options: tuple[str, ...]
) -> None:
    shown = certificate(*options)
    assert known(tmp_path).refusal(shown) == ""
    assert known(tmp_path, host=HOST.upper()).refusal(shown) == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(("-h", "-n", "other.example.org"), "is not for server.example.org", id="another host"),
        pytest.param(("-h", "-n", "[server].example.org"), "is not for", id="brackets are no character class"),
        pytest.param(("-n", HOST), "is a user's", id="a user's certificate"),
        pytest.param(("-h", "-n", HOST, "-V", "-2d:-1d"), "is not valid now", id="expired"),
        pytest.param(("-h", "-n", HOST, "-V", "+1d:+2d"), "is not valid now", id="not yet valid"),
        pytest.param(("-h", "-n", HOST, "-O", "critical:odd@example.org=x"), "critical options", id="an option"),
    ],
)
def test_a_certificate_that_is_not_good_is_refused(
    tmp_path: Path, certificate: CERTIFICATE, options: tuple[str, ...], said: str
) -> None:
    shown = certificate(*options)
    assert said in known(tmp_path).refusal(shown)


def test_a_hosts_certificate_is_valid_from_its_first_second_to_before_its_last(
    tmp_path: Path, certificate: CERTIFICATE
) -> None:
    shown = certificate("-h", "-n", HOST, "-V", "20260101000000Z:20270101000000Z")
    authorities = frozenset((blob(public(tmp_path / "ca")),))
    first_unix_s, last_unix_s = 1_767_225_600, 1_798_761_600
    instants = (first_unix_s - 1, first_unix_s, last_unix_s - 1, last_unix_s)
    refusals = [certificate_refusal(shown, HOST, authorities, frozenset(), unix_s) for unix_s in instants]
    assert [refusal == "" for refusal in refusals] == [False, True, True, False]


def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path, certificate: CERTIFICATE) -> None:
    write_key(tmp_path / "ca")
    assert "an authority that known_hosts does not name" in known(tmp_path).refusal(certificate(ca="other"))


def test_an_authority_for_other_hosts_is_unknown(tmp_path: Path, certificate: CERTIFICATE) -> None:
    shown = certificate("-h")
    assert not known(tmp_path, host="server.example.com").accepts(shown)


def test_a_signature_of_sha1_is_too_weak(tmp_path: Path, certificate: CERTIFICATE) -> None:
    shown = certificate("-h", "-n", HOST, "-t", "ssh-rsa", ca_kind="rsa")
    assert "too weak" in known(tmp_path).refusal(shown)


def test_a_revoked_authority_or_key_is_refused(tmp_path: Path, certificate: CERTIFICATE) -> None:
    shown = certificate()
    for revoked in (tmp_path / "ca", tmp_path / "host_ed25519"):
        assert "revoked" in known(tmp_path, f"@revoked * {public(revoked)}\n").refusal(shown)


def test_no_byte_of_a_certificate_can_be_changed(tmp_path: Path, certificate: CERTIFICATE) -> None:
    shown = certificate()
    keys = known(tmp_path)
    assert keys.accepts(shown)
    for place in range(len(shown)):
        changed = shown[:place] + bytes([shown[place] ^ 1]) + shown[place + 1 :]
        assert not keys.accepts(changed), place


def test_a_certificate_that_is_cut_off_anywhere_is_refused(tmp_path: Path, certificate: CERTIFICATE) -> None:
    shown = certificate()
    keys = known(tmp_path)
    assert not any(keys.accepts(shown[:length]) for length in range(len(shown)))


def test_a_certificate_by_an_authority_of_an_unknown_kind_has_no_good_signature(certificate: CERTIFICATE) -> None:
    shown = certificate()
    fields = read_certificate_fields(shown)
    authority = wire_string(b"ssh-unheard-of") + bytes(32)
    signature = wire_string(b"ssh-unheard-of") + wire_string(bytes(64))
    body = shown[: -len(wire_string(fields.authority) + wire_string(fields.signature))]
    changed = body + wire_string(authority) + wire_string(signature)
    told = certificate_refusal(changed, HOST, frozenset((authority,)), frozenset(), time())
    assert told == "the server's host certificate has a bad signature"


def test_certificates_are_asked_for_only_where_an_authority_is_known(tmp_path: Path) -> None:
    write_key(tmp_path / "ca")
    text = f"* {public(tmp_path / 'ca')}\n"
    assert "ssh-ed25519-cert-v01@openssh.com" in known(tmp_path, text).algorithms_with_certificates
    assert known(tmp_path).algorithms == ()
    assert known(tmp_path, text, host="elsewhere").algorithms_with_certificates == ("ssh-ed25519",)
