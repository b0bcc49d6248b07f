"""The signature is that of Standard Webhooks, and a key that cannot protect is none."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sshload_operator.api.kinds import TEST
from sshload_operator.control.channels.channel import Sender
from sshload_operator.control.channels.ends import EndEvent, Notification, WantedEnds, due
from sshload_operator.control.channels.webhook import Webhook, read_key, signed_headers
from sshload_operator.control.posting import Posted, SecretError
from webhook_receiver import PATH, key_folder, own_certificate, webhook_receiver


def test_a_signature_is_that_of_the_example_of_standard_webhooks() -> None:
    key = read_key(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
    headers = signed_headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_key_may_be_any_bytes_of_enough_length() -> None:
    assert read_key(b"\x00" * 24) == b"\x00" * 24
    assert read_key(b"0123456789abcdef01234567\r\n") == b"0123456789abcdef01234567"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n" * 30,
        b"short",
        b"whsec_c2hvcnQ=",
        b"whsec_" + b"!" * 40,
        b"whsec_MfKQ9r8GKYqr!TwjUPD8ILPZIo2LaLaSw",
        b"k" * 4097,
    ],
)
def test_a_key_that_is_short_long_or_garbled_is_refused_in_words_without_it(content: bytes) -> None:
    with pytest.raises(SecretError) as refused:
        read_key(content)
    assert content.strip().decode() not in str(refused.value) or not content.strip()


def test_of_the_url_logs_have_no_path() -> None:
    url = "https://hooks.example.com:8443/T/secret?token=1"
    assert Webhook(url=url, events=tuple(EndEvent), max_age_s=60).receiver == "https://hooks.example.com:8443"


def ended(name: str) -> Notification:
    """Return the end of a run that is due."""
    completed = datetime.now(UTC)
    status = {"phase": "Finished", "run": 1, "verdict": "Passed", "completionTime": f"{completed:%Y-%m-%dT%H:%M:%SZ}"}
    body = {"metadata": {"namespace": "ns", "name": name, "uid": name}, "status": status}
    found = due(TEST, body, "webhook", WantedEnds(events=tuple(EndEvent), max_age_s=60), completed)
    assert found is not None
    return found


def test_https_is_spoken_with_a_receiver_of_ones_own_authority_and_with_no_stranger(tmp_path: Path) -> None:
    context, certificate = own_certificate(tmp_path)
    folder = key_folder(tmp_path)
    with webhook_receiver(context) as receiver:
        sender = Sender(Webhook(url=receiver.url, events=tuple(EndEvent), max_age_s=60), folder)
        stranger = asyncio.run(sender.post(ended("one"), datetime.now(UTC)))
        (folder / "ca.crt").write_bytes(certificate)
        known = asyncio.run(sender.post(ended("two"), datetime.now(UTC)))
    assert (stranger.end, known.end) == (Posted.UNREACHABLE, Posted.DELIVERED)
    assert PATH not in stranger.message
    assert [found.event["data"]["name"] for found in receiver.received] == ["two"]
