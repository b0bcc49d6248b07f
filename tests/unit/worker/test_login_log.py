from sshload_contract.vocabulary import Timing
from sshload_worker.clients.openssh.log import LoginLog

LOG = b"""\
debug1: Connecting to 127.0.0.1 [127.0.0.1] port 22.
debug1: Connection established.
debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1 Debian-2+deb12u10
debug1: kex: algorithm: sntrup761x25519-sha512
debug1: kex: host key algorithm: ssh-ed25519
debug1: kex: server->client cipher: aes128-ctr MAC: hmac-sha1 compression: none
debug1: kex: client->server cipher: chacha20-poly1305@openssh.com MAC: <implicit> compression: none
debug1: SSH2_MSG_NEWKEYS received
Authenticated to 127.0.0.1 ([127.0.0.1]:22) using "publickey".
debug1: Entering interactive session.
"""


def test_each_milestone_is_reached_by_its_line_however_the_log_comes_in_pieces() -> None:
    log = LoginLog()
    for number in range(len(LOG)):
        log.take(LOG[number : number + 1])
    assert log.reached == {Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH}
    assert all(milestone.is_set() for milestone in log.milestones.values())


def test_a_log_that_ends_early_wakes_all_and_tells_how_far_it_came() -> None:
    log = LoginLog()
    log.take(LOG.partition(b"debug1: kex")[0] + b"Connection closed by 127.0.0.1")
    log.end()
    assert log.reached == {Timing.CONNECT, Timing.BANNER}
    assert all(milestone.is_set() for milestone in log.milestones.values())
    assert log.lines[-1] == "Connection closed by 127.0.0.1"


def test_what_was_agreed_on_is_that_of_the_clients_direction() -> None:
    log = LoginLog()
    log.take(LOG)
    agreed = log.negotiated()
    assert (agreed.kex, agreed.host_key) == ("sntrup761x25519-sha512", "ssh-ed25519")
    assert (agreed.cipher, agreed.mac) == ("chacha20-poly1305@openssh.com", "implicit")
    assert agreed.server_version == "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u10"


def test_a_command_that_a_signal_ended_is_claimed_once() -> None:
    log = LoginLog()
    log.take(b"debug1: client_input_channel_req: channel 2 rtype exit-signal reply 0\n")
    assert [log.claim_killed(), log.claim_killed()] == [True, False]


def test_a_channel_that_the_server_refused_is_claimed_once_with_its_reason() -> None:
    log = LoginLog()
    log.take(b"channel 2: open failed: administratively prohibited: open failed\r\n")
    assert [log.claim_refusal(), log.claim_refusal()] == ["administratively prohibited: open failed", None]


def test_what_the_server_says_within_a_line_of_the_log_is_none_of_its_words() -> None:
    log = LoginLog()
    for words in (
        b"debug1: Connection established",
        b"debug1: Remote protocol version 2.0",
        b"channel 2: open failed: x",
    ):
        log.take(b"debug1: kex_exchange_identification: banner line 0: " + words + b"\n")
    assert log.reached == set()
    assert log.claim_refusal() is None


NO_TICKET = b"""\
debug1: Next authentication method: gssapi-with-mic
debug1: Unspecified GSS failure.  Minor code may provide more information
Server host/bastion@EXAMPLE.COM not found in Kerberos database

"""


def test_what_kerberos_says_is_the_line_after_what_gssapi_makes_of_it() -> None:
    log = LoginLog()
    log.take(b"debug1: Next authentication method: gssapi-with-mic\nServer host/a@B not found in Kerberos database\n")
    assert log.kerberos_words == ""
    log.take(NO_TICKET)
    assert log.kerberos_words == "Server host/bastion@EXAMPLE.COM not found in Kerberos database"


def test_a_kdc_is_waited_for_until_it_answers() -> None:
    log = LoginLog()
    log.take(b"[30] 1795896715.357190: Sending request (990 bytes) to EXAMPLE.COM\n")
    assert log.waits_for_kdc
    log.take(b"[30] 1795896715.357194: Received answer (975 bytes) from stream 192.0.2.9:88\n")
    assert not log.waits_for_kdc
