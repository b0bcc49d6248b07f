import subprocess
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from ssh_server import write_key
from sshload_gateway.ssh.keys import read_host_key, read_private_key


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", pytest.param("rsa", marks=pytest.mark.slow)])
def test_keys_of_usual_kinds_are_read_with_their_public_half(tmp_path: Path, kind: str) -> None:
    path = write_key(tmp_path / kind, kind)
    pair = read_private_key(path.read_text())
    public = path.with_suffix(".pub").read_text().split()[:2]

    assert pair.public.split() == public
    assert read_host_key(path.with_suffix(".pub").read_text()).split() == public
    assert read_private_key(pair.private.decode()).public == pair.public


@pytest.mark.slow
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


def test_a_huge_rsa_key_is_refused_before_its_factors_are_tested() -> None:
    key = _rsa_key(2**9_689 - 1, 2**9_941 - 1)
    assert len(key) < 16_384
    began_s = time.thread_time()
    with pytest.raises(ValueError, match="more than 8192 bits"):
        read_private_key(key)

    assert time.thread_time() - began_s < 1


def test_an_rsa_key_within_the_limits_costs_no_test_of_its_factors() -> None:
    key = _rsa_key(2**3_217 - 1, 2**4_423 - 1)
    began_s = time.thread_time()
    assert read_private_key(key).public.startswith("ssh-rsa ")

    assert time.thread_time() - began_s < 1


@pytest.mark.parametrize("factors", [(2**2_203 - 1, 2**1_103 - 1), (2**2_203 - 1, 3 * (2**1_279 - 1))])
def test_an_rsa_key_whose_factors_are_no_primes_is_refused(factors: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="is not a private key"):
        read_private_key(_rsa_key(*factors))


@pytest.mark.parametrize("change", [{"d": 3}, {"dmp1": 3}, {"dmq1": 3}, {"iqmp": 3}])
def test_an_rsa_key_whose_numbers_do_not_belong_together_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="is not a private key"):
        read_private_key(_rsa_key(2**2_203 - 1, 2**2_281 - 1, **change))


def _rsa_key(p: int, q: int, **changes: int) -> str:
    """Return a key of these factors in PEM; `changes` replace its other numbers."""
    exponent = 65_537
    d = pow(exponent, -1, (p - 1) * (q - 1))
    numbers = {"p": p, "q": q, "d": d, "dmp1": d % (p - 1), "dmq1": d % (q - 1), "iqmp": pow(q, -1, p)}
    made = RSAPrivateNumbers(**{**numbers, **changes}, public_numbers=RSAPublicNumbers(exponent, p * q))
    key = made.private_key(unsafe_skip_rsa_key_validation=True)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@pytest.mark.parametrize(
    "text", ["", "canary", "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n", "\ud800", "é", "ssh-rsa"]
)
def test_what_is_no_key_is_refused_without_a_word_of_it(text: str) -> None:
    for read in (read_private_key, read_host_key):
        with pytest.raises(ValueError, match=r"is (no|damaged)") as refused:
            read(text)
        assert "canary" not in str(refused.value)


def test_a_key_whose_line_breaks_became_blanks_is_read(tmp_path: Path) -> None:
    path = write_key(tmp_path / "one")
    whole = path.read_text()
    assert read_private_key(whole.replace("\n", " ")).public == read_private_key(whole).public


def test_a_public_key_is_no_private_one_and_the_reverse(tmp_path: Path) -> None:
    path = write_key(tmp_path / "one")
    with pytest.raises(ValueError, match="not a private key"):
        read_private_key(path.with_suffix(".pub").read_text())
    with pytest.raises(ValueError, match="no host key"):
        read_host_key(path.read_text())
