"""Lines as real sshds wrote them: 9.2p1 Debian-2+deb12u10 and 10.0p2 Debian-7, INFO and VERBOSE; 9.8 by its source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_target.sshd.log_line import (
    Accepted,
    AuthFailed,
    DropEpisode,
    Dropped,
    DropReason,
    ForkRefused,
    Listening,
    LogEvent,
    OmittedDrops,
    read_log_line,
)

FAILED = AuthFailed()
DROPPED_TO_9 = Dropped(DropReason.MAX_STARTUPS, rate_limited=False)
DROPPED_FROM_10 = Dropped(DropReason.MAX_STARTUPS, rate_limited=True)
PENALISED = Dropped(DropReason.PENALTY, rate_limited=True)

COUNTED: dict[str, tuple[str, LogEvent]] = {
    "listening": ("Server listening on 0.0.0.0 port 2222.", Listening(2222)),
    "listening on IPv6": ("Server listening on :: port 2222.", Listening(2222)),
    "accepted by key": (
        "Accepted publickey for root from 127.0.0.1 port 60644 ssh2: ED25519 SHA256:Qxd4M9s4po4KvgPJr0kyWOfT5F8YasdZHl",
        Accepted("127.0.0.1", 60644),
    ),
    "accepted by password": (
        "Accepted password for load from 10.244.0.9 port 49152 ssh2",
        Accepted("10.244.0.9", 49152),
    ),
    "accepted by PAM": (
        "Accepted keyboard-interactive/pam for load from fd00::9 port 49152 ssh2",
        Accepted("fd00::9", 49152),
    ),
    "client gave up after a wrong key": (
        "Connection closed by authenticating user root 127.0.0.1 port 60660 [preauth]",
        FAILED,
    ),
    "client gave up as a user unknown here": (
        "Connection closed by invalid user nosuch 127.0.0.1 port 60668 [preauth]",
        FAILED,
    ),
    "client took its leave": (
        "Disconnected from authenticating user load 127.0.0.1 port 42022 [preauth]",
        FAILED,
    ),
    "client was reset": ("Connection reset by authenticating user load 127.0.0.1 port 42022 [preauth]", FAILED),
    "client fell silent": ("Connection from authenticating user load 127.0.0.1 port 42022 timed out [preauth]", FAILED),
    "too many attempts": (
        "Disconnecting authenticating user root 127.0.0.1 port 40748: Too many authentication failures [preauth]",
        FAILED,
    ),
    "dropped, 9.2": (
        "drop connection #2 from [127.0.0.1]:60696 on [127.0.0.1]:2301 past MaxStartups",
        DROPPED_TO_9,
    ),
    "dropped, 9.8": (
        "drop connection #2 from [127.0.0.1]:60696 on [127.0.0.1]:2301 past Maxstartups",
        DROPPED_TO_9,
    ),
    "dropped, 10.0": (
        "drop connection #2 from [127.0.0.1]:48876 on [127.0.0.1]:2303 Maxstartups",
        DROPPED_FROM_10,
    ),
    "dropped on IPv6, 10.0": ("drop connection #9 from [fd00::9]:48876 on [fd00::1]:2303 Maxstartups", DROPPED_FROM_10),
    "penalised for failed logins, 10.0": (
        "drop connection #0 from [127.0.0.1]:40780 on [127.0.0.1]:2305 penalty: failed authentication",
        PENALISED,
    ),
    "penalised for a probe, 10.0": (
        "drop connection #0 from [10.4.0.1]:4 on [10.44.0.9]:22 penalty: connections without attempting authentication",
        PENALISED,
    ),
    "penalised with everybody else, 10.0": (
        "drop connection #0 from [127.0.0.2]:57021 on [127.0.0.1]:24991 too many penalised addresses",
        PENALISED,
    ),
    "no process for a connection": ("fork: Resource temporarily unavailable", ForkRefused()),
    "no process for a login": ("fork of unprivileged child failed", ForkRefused()),
    "no process for a command": ("do_exec_no_pty: fork: Resource temporarily unavailable", ForkRefused()),
    "no process for a program that lists keys": (
        "AuthorizedKeysCommand: fork: Resource temporarily unavailable",
        ForkRefused(),
    ),
    "untold drops, 10.0": (
        "Maxstartups logging rate-limited: additional 7 connections dropped",
        OmittedDrops(DropReason.MAX_STARTUPS, 7),
    ),
    "untold penalties, 10.0": (
        "PerSourcePenalties logging rate-limited: additional 224 connections dropped",
        OmittedDrops(DropReason.PENALTY, 224),
    ),
    "end of an episode, 9.2": (
        "exited MaxStartups throttling after 00:00:01, 10 connections dropped",
        DropEpisode(10, ended=True),
    ),
    "five minutes of an episode, 9.2": (
        "in MaxStartups throttling for 00:05:01, 1010 connections dropped",
        DropEpisode(1010, ended=False),
    ),
}

PASSED_OVER = (
    'Connection from 127.0.0.1 port 32902 on 127.0.0.1 port 2302 rdomain ""',
    "Accepted key ED25519 SHA256:Qxd4M9s4po4KvgPJr0kyWOfT5F8YasdZHlW1UjRcEvM found at /home/l/.ssh/authorized_keys:1",
    "Postponed publickey for root from 127.0.0.1 port 32902 ssh2 [preauth]",
    "Partial publickey for load from 127.0.0.1 port 32902 ssh2: ED25519 SHA256:Qxd4M9s4po4KvgPJr0kyWOfT5F8YasdZHlW1UjR",
    "Failed publickey for root from 127.0.0.1 port 32910 ssh2: ED25519 SHA256:JDS6lv9DQ90AXicPbaMinCaOxuyb8TtdnqMo7jB",
    "Failed none for invalid user nosuch from 127.0.0.1 port 32910 ssh2",
    "Invalid user nosuch from 127.0.0.1 port 60668",
    "User child is on pid 2224",
    "Starting session: command for root from 127.0.0.1 port 32902 id 0",
    "Close session: user root from 127.0.0.1 port 32902 id 0",
    "Received disconnect from 127.0.0.1 port 60644:11: disconnected by user",
    "Disconnected from user root 127.0.0.1 port 60644",
    "Connection closed by 127.0.0.1 port 33034",
    "Transferred: sent 3236, received 3408 bytes",
    "Closing connection to 127.0.0.1 port 33034",
    "kex_exchange_identification: Connection closed by remote host",
    "kex_exchange_identification: read: Connection reset by peer",
    "Connection reset by 127.0.0.1 port 59784",
    "beginning MaxStartups throttling",
    "maximum authentication attempts exceeded for root from 127.0.0.1 port 40748 ssh2 [preauth]",
    "srclimit_penalise: ipv4: new 127.0.0.1/32 deferred penalty of 5 seconds for penalty: failed authentication",
    "mm_reap: preauth child terminated by signal 9",
    "error: no more sessions",
    "Received signal 15; terminating.",
    "",
)


@pytest.mark.parametrize(("line", "event"), [pytest.param(*case, id=name) for name, case in COUNTED.items()])
def test_a_line_that_counts_is_read(line: str, event: LogEvent) -> None:
    assert read_log_line(line) == event


@pytest.mark.parametrize("line", PASSED_OVER)
def test_a_line_that_tells_nothing_new_is_passed_over(line: str) -> None:
    assert read_log_line(line) is None


@pytest.mark.parametrize("line", [case[0] for case in COUNTED.values()])
@pytest.mark.parametrize(
    "wrapping",
    ["Invalid user {} from 127.0.0.1 port 60668", "Failed password for invalid user {} from 127.0.0.1 port 1 ssh2"],
)
def test_a_client_that_calls_itself_like_a_line_counts_for_nothing(line: str, wrapping: str) -> None:
    assert read_log_line(wrapping.format(line)) is None


def test_a_client_that_calls_itself_like_a_line_fails_once_and_logs_in_never() -> None:
    name = "x from 9.9.9.9 port 9 ssh2"
    assert read_log_line(f"Connection closed by invalid user {name} 127.0.0.1 port 60668 [preauth]") == FAILED
    assert read_log_line(f"Accepted password for {name} from 127.0.0.1 port 7 ssh2") == Accepted("127.0.0.1", 7)


@given(st.text())
def test_any_line_is_read_without_an_error(line: str) -> None:
    read_log_line(line)


@pytest.mark.parametrize(
    "line",
    [
        "Accepted password for load from 10.0.0.9 port {} ssh2",
        "Server listening on 0.0.0.0 port {}.",
        "Maxstartups logging rate-limited: additional {} connections dropped",
        "exited MaxStartups throttling after 00:00:10, {} connections dropped",
    ],
)
def test_a_number_with_more_digits_than_python_reads_says_nothing(line: str) -> None:
    assert read_log_line(line.format("9" * 5_000)) is None
