import asyncio
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import jwt
import plans
import pytest
from sshload_gateway.api.credentials import read_keys
from sshload_gateway.api.shapes import CredentialRequest
from sshload_gateway.identity.key_set import JwksKeys, from_file
from sshload_gateway.identity.tokens import Terms, TokenCheck
from sshload_operator.manifests import KEY_FILES, key_files
from sshload_operator.manifests.gateway import (
    AUDIENCE,
    CALLER,
    CREDENTIAL,
    GATEWAY_CREDENTIAL_FILE,
    GATEWAY_JWKS_FILE,
    GATEWAY_TOKEN_FILE,
    ISSUER,
    SIGNATURE,
)
from sshload_operator.world.gateway_secrets import make_gateway_secrets
from sshload_operator.world.keys import Keys, KeysAsked, KeysError, known_hosts_line, make_keys

THROUGH_A_GATEWAY = plans.quickstart(target={"managed": {"gateway": {"policy": "pool"}}})
SIGNING = {"auth": "certificate", "certificates": {"lifetime": "1m"}}
CERTIFIED = {"target": {"managed": {"sshd": {"hostCertificates": True}}}, "client": {"library": "asyncssh"}}
ASKED = KeysAsked("target", 2222, "load", 1800.0)


@pytest.fixture(scope="module")
def keys() -> Keys:
    return asyncio.run(make_keys(ASKED))


def test_the_files_are_those_that_the_secret_holds(keys: Keys) -> None:
    assert set(keys.files()) == set(KEY_FILES)


def test_the_caller_of_a_gateway_has_a_token_that_its_key_set_verifies(keys: Keys, tmp_path: Path) -> None:
    files = asyncio.run(make_gateway_secrets(keys, "target", 2222, "load", 1800.0))
    assert {*keys.files(), *files} == set(key_files(plans.plan(THROUGH_A_GATEWAY)))
    (tmp_path / GATEWAY_JWKS_FILE).write_text(files[GATEWAY_JWKS_FILE])
    check = TokenCheck(
        Terms(ISSUER, AUDIENCE, (SIGNATURE,), leeway_s=0), JwksKeys(from_file(tmp_path / GATEWAY_JWKS_FILE))
    )
    assert asyncio.run(check.identity(files[GATEWAY_TOKEN_FILE])).subject == CALLER
    claims = jwt.decode(files[GATEWAY_TOKEN_FILE], options={"verify_signature": False})
    assert 1800 < claims["exp"] - time.time() <= 1800 + 300
    assert "PRIVATE" not in files[GATEWAY_JWKS_FILE]
    assert '"d"' not in files[GATEWAY_JWKS_FILE]


def test_the_login_that_a_gateway_is_given_is_one_that_it_takes(keys: Keys) -> None:
    files = asyncio.run(make_gateway_secrets(keys, "target", 2222, "load", 1800.0))
    asked = CredentialRequest.model_validate_json(files[GATEWAY_CREDENTIAL_FILE])
    assert (asked.name, asked.host, asked.port, asked.user) == (CREDENTIAL, "target", 2222, "load")
    read = read_keys(asked)
    assert (read.faults, len(read.host_keys)) == ((), 2)
    assert read.login.public.split() == keys.login_public.split()[:2]


def test_the_public_key_belongs_to_the_private_one(keys: Keys, tmp_path: Path) -> None:
    assert public_part(keys.login_private, tmp_path) == keys.login_public.split()[:2]


def test_known_hosts_names_both_host_keys_for_host_and_port(keys: Keys, tmp_path: Path) -> None:
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(keys.known_hosts)
    found = subprocess.run(["ssh-keygen", "-F", "[target]:2222", "-f", known_hosts], capture_output=True, check=True)
    listed = [line.split()[1:] for line in found.stdout.decode().splitlines() if not line.startswith("#")]
    assert sorted(listed) == sorted(public_part(private, tmp_path) for private in keys.host_private.values())


def test_on_the_port_22_a_host_stands_by_itself() -> None:
    assert known_hosts_line("bastion", 22, "ssh-ed25519 AAAA comment") == "bastion ssh-ed25519 AAAA\n"


def test_the_certificate_lets_the_user_in_for_as_long_as_the_run_may_last(keys: Keys, tmp_path: Path) -> None:
    seen = certificate(keys, tmp_path)
    assert seen["Principals"] == "load"
    valid = re.fullmatch(r"from (\S+) to (\S+)", seen["Valid"])
    assert valid is not None
    begin, end = (datetime.fromisoformat(time) for time in valid.groups())
    assert (end - begin).total_seconds() == 1800 + 2 * 300


def test_the_certificate_is_of_the_login_key_and_by_the_authority_of_the_run(keys: Keys, tmp_path: Path) -> None:
    seen = certificate(keys, tmp_path)
    assert fingerprint(keys.login_public, tmp_path) in seen["Public key"]
    assert fingerprint(keys.user_ca_public, tmp_path) in seen["Signing CA"]


def test_the_authoritys_private_key_is_kept_nowhere(keys: Keys, tmp_path: Path) -> None:
    private = [text for text in keys.files().values() if "PRIVATE KEY" in text]
    assert len(private) == 3
    public = [public_part(text, tmp_path) for text in private]
    assert keys.user_ca_public.split()[:2] not in public


def test_the_authoritys_private_key_is_kept_where_workers_sign_certificates(tmp_path: Path) -> None:
    signing = asyncio.run(make_keys(replace(ASKED, keeps_user_ca=True)))
    assert public_part(signing.files()["user_ca"], tmp_path) == signing.user_ca_public.split()[:2]
    assert repr(signing) == "Keys()"
    assert set(signing.files()) == set(key_files(plans.plan(plans.quickstart(client=SIGNING))))


def test_host_keys_have_certificates_of_an_authority_whose_private_key_is_kept_nowhere(tmp_path: Path) -> None:
    certified = asyncio.run(make_keys(replace(ASKED, host_certificates=True)))
    assert set(certified.files()) == set(key_files(plans.plan(plans.quickstart(**CERTIFIED))))
    marker, host, *authority = certified.known_hosts.split()
    assert (marker, host) == ("@cert-authority", "[target]:2222")
    for name, private in certified.host_private.items():
        seen = certificate_of(certified.files()[f"{name}-cert.pub"], tmp_path)
        assert seen["Type"].endswith("host certificate")
        assert seen["Principals"] == "target"
        assert fingerprint(" ".join(public_part(private, tmp_path)), tmp_path) in seen["Public key"]
        assert fingerprint(" ".join(authority), tmp_path) in seen["Signing CA"]
    private_keys = [text for text in certified.files().values() if "PRIVATE KEY" in text]
    assert authority not in [public_part(text, tmp_path) for text in private_keys]


def test_no_key_shows_where_keys_are_printed(keys: Keys) -> None:
    assert repr(keys) == "Keys()"


def test_every_run_gets_other_keys(keys: Keys) -> None:
    assert asyncio.run(make_keys(ASKED)).login_private != keys.login_private


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    asyncio.run(make_keys(ASKED))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_ssh_keygen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(KeysError, match="openssh-client"):
        asyncio.run(make_keys(ASKED))


def test_what_ssh_keygen_said_when_it_failed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = tmp_path / "ssh-keygen"
    failing.write_text("#!/bin/sh\necho no entropy >&2\nexit 3\n")
    failing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(KeysError) as raised:
        asyncio.run(make_keys(ASKED))
    assert str(raised.value) == "ssh-keygen -t failed: no entropy"


def test_a_part_of_a_second_makes_the_certificate_valid_for_all_of_it(tmp_path: Path) -> None:
    valid = certificate(asyncio.run(make_keys(KeysAsked("target", 22, "load", 60.2))), tmp_path)["Valid"]
    begin, end = (datetime.fromisoformat(time) for time in valid.removeprefix("from ").split(" to "))
    assert (end - begin).total_seconds() == 61 + 2 * 300


def test_the_host_keys_are_of_two_types(keys: Keys) -> None:
    assert [line.split()[1] for line in keys.known_hosts.splitlines()] == ["ssh-ed25519", "ecdsa-sha2-nistp256"]
    assert keys.login_public.split()[0] == "ssh-ed25519"


def certificate(keys: Keys, folder: Path) -> dict[str, str]:
    return certificate_of(keys.certificate, folder)


def certificate_of(text: str, folder: Path) -> dict[str, str]:
    """Return what `ssh-keygen -L` says of a certificate, by its headings."""
    path = folder / "id-cert.pub"
    path.write_text(text)
    # In local time, an hour may be missing between two times that it shows.
    shown = subprocess.run(
        ["ssh-keygen", "-L", "-f", path], capture_output=True, check=True, env={**os.environ, "TZ": "UTC"}
    ).stdout.decode()
    flat = re.sub(r"\n {16}\s*", " ", shown)
    headings = (line.strip().partition(":") for line in flat.splitlines()[1:])
    return {heading: value.strip() for heading, _, value in headings}


def fingerprint(public: str, folder: Path) -> str:
    path = folder / "public.pub"
    path.write_text(public)
    return subprocess.run(["ssh-keygen", "-l", "-f", path], capture_output=True, check=True).stdout.decode().split()[1]


def public_part(private: str, folder: Path) -> list[str]:
    path = folder / "key"
    path.touch(mode=0o600)
    path.write_text(private)
    shown = subprocess.run(["ssh-keygen", "-y", "-f", path], capture_output=True, check=True)
    return shown.stdout.decode().split()[:2]


def test_an_interrupt_of_the_run_does_not_reach_ssh_keygen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which("ssh-keygen")
    session = tmp_path / "session"
    wrapper = tmp_path / "ssh-keygen"
    wrapper.write_text(f'#!/bin/sh\ncut -d" " -f6 /proc/$$/stat >> {session}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    asyncio.run(make_keys(KeysAsked(host="host", port=22, user="load", valid_s=60)))
    sessions = session.read_text().split()
    assert sessions
    assert str(os.getsid(0)) not in sessions
