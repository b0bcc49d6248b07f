import subprocess
from pathlib import Path

import pytest
from generated_keys import write_key
from sshload_gateway.ssh.keys import read_host_key, read_private_key


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_keys_of_usual_kinds_are_read_with_their_public_half(tmp_path: Path, kind: str) -> None:
    path = write_key(tmp_path / kind, kind)
    pair = read_private_key(path.read_text())
    public = path.with_suffix(".pub").read_text().split()[:2]

    assert pair.public.split() == public
    assert read_host_key(path.with_suffix(".pub").read_text()).split() == public
    assert read_private_key(pair.private.decode()).public == pair.public


def test_a_key_in_pem_is_read(tmp_path: Path) -> None:
    path = write_key(tmp_path / "pem", "rsa", "-m", "PEM")

    assert path.read_text().startswith("-----BEGIN RSA PRIVATE KEY")
    assert read_private_key(path.read_text()).private.startswith(b"-----BEGIN OPENSSH")


def test_a_key_with_a_passphrase_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "canary-phrase", "-f", path], check=True)
    with pytest.raises(ValueError, match="has a passphrase"):
        read_private_key(path.read_text())


def test_a_short_rsa_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "short"
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "1024", "-N", "", "-f", path], check=True)
    with pytest.raises(ValueError, match="2048"):
        read_private_key(path.read_text())


@pytest.mark.parametrize(
    "text", ["", "canary", "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n", "\ud800", "é", "ssh-rsa"]
)
def test_what_is_no_key_is_refused_without_a_word_of_it(text: str) -> None:
    for read in (read_private_key, read_host_key):
        with pytest.raises(ValueError, match="is no") as refused:
            read(text)
        assert "canary" not in str(refused.value)


def test_a_public_key_is_no_private_one_and_the_reverse(tmp_path: Path) -> None:
    path = write_key(tmp_path / "one")
    with pytest.raises(ValueError, match="no private key"):
        read_private_key(path.with_suffix(".pub").read_text())
    with pytest.raises(ValueError, match="no host key"):
        read_host_key(path.read_text())
