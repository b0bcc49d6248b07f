"""The log of an sshd, which a pipe stands for here, read by a thread that may be late."""

import os
import threading

from sshload_target.sshd.log import LogCounts, SshdLog

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


def test_a_log_that_nobody_reads_yet_has_counted_nothing() -> None:
    assert SshdLog(2222).counts == LogCounts()
