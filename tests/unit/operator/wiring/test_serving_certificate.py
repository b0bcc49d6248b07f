"""The certificate that the metrics are served with."""

import asyncio
import ssl
from pathlib import Path

import pytest
from sshload_operator.control.metrics.certificate_end import end_of
from sshload_operator.control.metrics.self_signed import key_and_certificate
from sshload_operator.control.metrics.serving_certificate import CertificateError, ServingCertificate


def put(folder: Path) -> bytes:
    """Write a new key and its certificate as a mounted Secret has them; return the certificate."""
    made = key_and_certificate()
    begin = made.index(b"-----BEGIN CERTIFICATE")
    (folder / "tls.key").write_bytes(made[:begin])
    (folder / "tls.crt").write_bytes(made[begin:])
    return made[begin:]


def served(context: ssl.SSLContext) -> str:
    """Return the certificate that a client is shown, by a handshake in memory."""
    client_context = ssl.create_default_context()
    client_context.check_hostname, client_context.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server)
    sides, certificate = [client, server], None
    while sides:
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)
    certificate = client.getpeercert(binary_form=True)
    assert certificate is not None
    return ssl.DER_cert_to_PEM_cert(certificate)


async def follow(certificate: ServingCertificate) -> None:
    """Let the certificate be looked at, which needs some turns of the loop."""
    following = asyncio.create_task(certificate.follow())
    for _ in range(5):
        await asyncio.sleep(0)
    following.cancel()


def test_without_a_secret_it_is_one_of_its_own() -> None:
    assert served(asyncio.run(ServingCertificate(None).context())).startswith("-----BEGIN CERTIFICATE")


def test_that_of_the_secret_is_taken_and_its_renewal_too(tmp_path: Path) -> None:
    first = put(tmp_path)

    async def play() -> tuple[str, str]:
        certificate = ServingCertificate(tmp_path, look_every_s=0.0)
        context = await certificate.context()
        before = served(context)
        (tmp_path / "tls.crt").write_text("half of it")
        await follow(certificate)
        assert served(context) == before
        renewed = put(tmp_path).decode()
        await follow(certificate)
        assert served(context) == renewed
        return before, renewed

    before, renewed = asyncio.run(play())
    assert before == first.decode() != renewed


def test_a_renewed_certificate_whose_key_is_another_one_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path)
    key = (tmp_path / "tls.key").read_bytes()

    async def play() -> tuple[str, str]:
        certificate = ServingCertificate(tmp_path, look_every_s=0.0)
        context = await certificate.context()
        before = served(context)
        put(tmp_path)
        (tmp_path / "tls.key").write_bytes(key)
        await follow(certificate)
        return before, served(context)

    before, after = asyncio.run(play())
    assert after == before


def test_a_secret_without_a_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=f"{tmp_path} has no certificate and key"):
        asyncio.run(ServingCertificate(tmp_path).context())


def test_when_a_certificate_ends_is_told_once_and_again_when_it_is_renewed(tmp_path: Path) -> None:
    put(tmp_path)
    told: asyncio.Queue[float] = asyncio.Queue()

    async def play() -> None:
        certificate = ServingCertificate(tmp_path, look_every_s=0.0, tell_end=told.put_nowait)
        await certificate.context()
        await certificate.context()
        assert told.get_nowait() == end_of((tmp_path / "tls.crt").read_bytes())
        assert told.empty()
        following = asyncio.create_task(certificate.follow())
        put(tmp_path)
        assert await told.get() == end_of((tmp_path / "tls.crt").read_bytes())
        following.cancel()

    asyncio.run(play())
