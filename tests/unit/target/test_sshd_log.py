"""The log of an sshd, which a pipe stands for here, read by a thread that may be late."""

import os
import socket
import threading
from pathlib import Path
from time import sleep

import pytest
from sshload_target.sshd import log as module
from sshload_target.sshd.log import LogCounts, SshdLog
from sshload_target.sshd.network import Peer

LISTENING = b"Server listening on 127.0.0.1 port 2222.\r\n"
LOGINS = 1_000
ACCEPTED = b"Accepted publickey for load from 127.0.0.1 port 40000 ssh2: ED25519 SHA256:x\r\n"


def test_counts_are_of_all_that_sshd_has_written_though_the_thread_has_read_nothing_of_it() -> None:
    """As where the target's CPU is throttled: the thread waits for its turn, and somebody asks."""
    log, (log_fd, sshd) = SshdLog(2222), os.pipe()
    os.write(sshd, LISTENING)
    reader = threading.Thread(target=log.read_from, args=(log_fd,))
    reader.start()
    while not log.listening:
        pass
    for number in range(LOGINS):
        os.write(sshd, ACCEPTED)
        assert log.counts.accepted == number + 1
    os.write(sshd, ACCEPTED[:-2])
    os.close(sshd)
    reader.join()
    assert log.counts.accepted == LOGINS + 1
    assert log.tail.splitlines()[-1] == ACCEPTED.decode().rstrip()


@pytest.mark.slow
def test_sessions_are_of_all_that_sshd_has_written_though_the_thread_has_read_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "open_peers", lambda _: {Peer("127.0.0.1", port) for port in range(1, LOGINS + 1)})
    log, (log_fd, sshd) = SshdLog(2222), os.pipe()
    os.write(sshd, LISTENING)
    reader = threading.Thread(target=log.read_from, args=(log_fd,))
    reader.start()
    while not log.listening:
        pass
    for number in range(1, LOGINS + 1):
        os.write(sshd, accepted_from(number))
        assert log.sessions() == number
    os.close(sshd)
    reader.join()


def test_a_log_that_nobody_reads_yet_has_counted_nothing() -> None:
    assert SshdLog(2222).counts == LogCounts()


def accepted_from(peer_port: int) -> bytes:
    return ACCEPTED.replace(b"40000", b"%d" % peer_port)


def logged(written: bytes, tmp_path: Path, port: int = 2222) -> SshdLog:
    """Return the log of an sshd that has ended, read to its end."""
    (tmp_path / "log").write_bytes(written)
    log = SshdLog(port)
    log.read_from(os.open(tmp_path / "log", os.O_RDONLY))
    return log


def test_sessions_are_the_logins_whose_connections_are_open(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as first, socket.create_connection(("127.0.0.1", port)):
            both = [listening.accept()[0] for _ in range(2)]
            log = logged(accepted_from(first.getsockname()[1]) + accepted_from(1), tmp_path, port)
            assert log.sessions() == 1, "the second has not logged in, and another login's connection is gone"
        for one in both:
            one.close()
        assert log.sessions() == 0


@pytest.mark.parametrize("are_open", [True, False], ids=["open", "gone"])
def test_nothing_is_kept_of_logins_that_are_gone_and_the_kernel_is_asked_for_them_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, are_open: bool
) -> None:
    peers = {Peer("127.0.0.1", number) for number in range(1, 5_001)}
    asked = []

    def open_peers(port: int) -> set[Peer]:
        asked.append(port)
        return peers if are_open else set()

    monkeypatch.setattr(module, "open_peers", open_peers)
    monkeypatch.setattr(module, "_CHUNK_BYTES", len(ACCEPTED))  # a look may follow each login
    log = logged(b"".join(accepted_from(peer.port) for peer in peers), tmp_path)
    assert log.counts.accepted == len(peers)
    assert len(log._logged_in) == len(peers) if are_open else len(log._logged_in) < module._FIRST_PRUNE_AT
    assert asked == [2222] * (3 if are_open else 4)  # at 1,024, 2,048 and 4,096; or at each 1,024


def test_an_end_within_a_letter_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    assert logged(b"caf\xc3", tmp_path).tail == "caf\N{REPLACEMENT CHARACTER}"


def test_a_line_that_is_no_text_hides_none_of_those_after_it(tmp_path: Path) -> None:
    log = logged(b"caf\xe9 au lait\n" + ACCEPTED, tmp_path)
    assert log.counts.accepted == 1
    assert log.tail.splitlines()[0] == "caf\N{REPLACEMENT CHARACTER} au lait"


def test_the_log_is_passed_on_to_the_containers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logged(LISTENING, tmp_path)
    assert capfd.readouterr().out == LISTENING.decode().replace("\r", "")


def test_while_sshd_writes_nothing_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    reads, read = [], os.read

    def counted(place: int, size: int) -> bytes:
        reads.append(place)
        return read(place, size)

    log, (log_fd, sshd) = SshdLog(2222), os.pipe()
    os.write(sshd, LISTENING)
    monkeypatch.setattr(os, "read", counted)
    reader = threading.Thread(target=log.read_from, args=(log_fd,))
    reader.start()
    while not log.listening:
        pass
    sleep(0.05)
    os.close(sshd)
    reader.join()
    assert reads.count(log_fd) <= 4


def test_only_its_own_port_makes_an_sshd_listen(tmp_path: Path) -> None:
    assert not logged(LISTENING.replace(b"2222", b"22"), tmp_path).listening
    assert logged(LISTENING, tmp_path).listening


def test_the_tail_has_the_last_five_lines_whole(tmp_path: Path) -> None:
    log = logged(b"".join(b"line %d\r\n" % number for number in range(9)) + b"the last", tmp_path)
    assert log.tail == "line 5\nline 6\nline 7\nline 8\nthe last"


def test_a_line_without_end_takes_no_memory_and_hides_none_of_the_lines_after_it(tmp_path: Path) -> None:
    assert len(logged(bytes(1_000_000), tmp_path)._rest) == module._LINE_LIMIT_BYTES
    assert logged(bytes(1_000_000) + b"\n" + ACCEPTED, tmp_path).counts.accepted == 1


def test_all_of_the_log_is_passed_on_and_where_nobody_takes_it_the_counts_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, stdout = os.pipe()
    monkeypatch.setattr(module, "_STDOUT", stdout)
    logged(LISTENING + b"rest", tmp_path)
    assert os.read(taken, 1_000) == LISTENING.replace(b"\r", b"") + b"rest"
    os.close(taken)
    assert logged(ACCEPTED, tmp_path).counts.accepted == 1
    os.close(stdout)


def test_a_log_that_has_ended_is_closed() -> None:
    log, (log_fd, sshd) = SshdLog(2222), os.pipe()
    os.close(sshd)
    log.read_from(log_fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(log_fd)
    assert log.counts == LogCounts()
