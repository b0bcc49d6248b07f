"""The connections of an sshd's log are found once each, at the time of the line that tells of them first."""

import json
from datetime import datetime

import pytest
from sshload_operator.cli.record import sshd_log
from sshload_operator.cli.record.command import TraceError, recorded
from sshload_operator.cli.record.sshd_log import LogArrivals, arrivals_of, entries_of

NOW = datetime.fromisoformat("2026-11-23T12:00").astimezone()
PEER = "192.0.2.7 port 50000"


def log(*messages: str, program: str = "sshd") -> list[str]:
    """Return lines a second apart, the first of the second 0."""
    return [
        f"2026-11-16T09:00:{second:02}.500000+00:00 bastion {program}[7]: {message}"
        for second, message in enumerate(messages)
    ]


def read(lines: list[str]) -> LogArrivals:
    return arrivals_of(entries_of(lines, NOW))


def seconds(found: LogArrivals) -> list[float]:
    begin = datetime.fromisoformat("2026-11-16T09:00:00+00:00").timestamp()
    return [arrival.at_s - begin for arrival in found.arrivals]


@pytest.mark.parametrize("program", ["sshd", "sshd-session", "sshd-auth"])
def test_a_verbose_log_tells_when_a_connection_came(program: str) -> None:
    found = read(
        log(
            f'Connection from {PEER} on 192.0.2.1 port 22 rdomain ""',
            f"Failed publickey for root from {PEER} ssh2: ED25519 SHA256:x",
            f"Accepted publickey for root from {PEER} ssh2: ED25519 SHA256:x",
            f"Received disconnect from {PEER}:11: disconnected by user",
            f"Disconnected from user root {PEER}",
            program=program,
        )
    )
    assert seconds(found) == [0.5]
    assert [arrival.exact for arrival in found.arrivals] == [True]


def test_without_verbose_the_first_line_of_a_login_counts() -> None:
    found = read(
        log(
            f"Invalid user admin from {PEER}",
            f"Connection closed by invalid user admin {PEER} [preauth]",
            "Accepted password for anna from 192.0.2.8 port 50001 ssh2",
            "Disconnected from user anna 192.0.2.8 port 50001",
            "Connection closed by 192.0.2.9 port 50002 [preauth]",
            "Unable to negotiate with 192.0.2.10 port 50003: no matching host key type found. [preauth]",
        )
    )
    assert seconds(found) == [0.5, 2.5, 4.5, 5.5]
    assert not any(arrival.exact for arrival in found.arrivals)


def test_a_connection_that_came_before_the_log_is_none_of_it() -> None:
    found = read(log(f"Received disconnect from {PEER}:11: bye", f"Disconnected from user root {PEER}"))
    assert seconds(found) == []


def test_a_scanner_that_leaves_before_it_names_a_user_is_a_connection() -> None:
    found = read(
        log(
            "error: kex_exchange_identification: Connection closed by remote host",
            f"Connection closed by {PEER}",
            "Connection reset by 192.0.2.8 port 50001",
            "Connection closed by user anna 192.0.2.9 port 50002",
            "Connection closed by authenticating user anna 192.0.2.10 port 50003",
        )
    )
    assert seconds(found) == [1.5, 2.5, 4.5]


def test_two_lines_about_one_end_are_one_connection() -> None:
    found = read(log(f"Received disconnect from {PEER}:11: bye [preauth]", f"Disconnected from {PEER} [preauth]"))
    assert seconds(found) == [0.5]


def test_a_port_that_is_used_again_is_another_connection() -> None:
    accepted = f"Accepted publickey for root from {PEER} ssh2: ED25519 SHA256:x"
    assert seconds(read(log(accepted, f"Disconnected from user root {PEER}", accepted, accepted))) == [0.5, 2.5, 3.5]


def test_a_user_named_like_an_address_makes_no_connection_of_its_own() -> None:
    name = "x from 198.51.100.1 port 1"
    found = read(
        log(
            f"Connection from {PEER} on 192.0.2.1 port 22",
            f"Invalid user {name} from {PEER}",
            f"Failed password for invalid user {name} from {PEER} ssh2",
            f"Connection closed by invalid user {name} {PEER} [preauth]",
        )
    )
    assert seconds(found) == [0.5]


def test_dropped_connections_came_and_those_without_a_line_are_counted() -> None:
    drop = "drop connection #{} from [192.0.2.7]:{} on [192.0.2.1]:22 past MaxStartups"
    found = read(
        log(
            "error: beginning MaxStartups throttling",
            drop.format(10, 40000),
            drop.format(11, 40001),
            "exited MaxStartups throttling after 00:00:10, 44 connections dropped",
            drop.format(10, 40002).replace("MaxStartups", "Maxstartups"),
            "Maxstartups logging rate-limited: additional 224 connections dropped",
            "Timeout before authentication for connection from 192.0.2.7 to 192.0.2.1, pid = 7",
        )
    )
    assert seconds(found) == [1.5, 2.5, 4.5]
    assert all(arrival.exact for arrival in found.arrivals)
    assert found.timeless == 42 + 224 + 1


def test_a_login_that_timed_out_is_a_connection_at_each_level_and_release() -> None:
    of_9_7 = read(log(f"fatal: Timeout before authentication for {PEER}"))
    assert (seconds(of_9_7), of_9_7.timeless) == ([0.5], 0)
    timed_out = "Timeout before authentication for connection from 192.0.2.7 to 192.0.2.1, pid = {}"
    of_9_9 = read(log(f"Connection from {PEER} on 192.0.2.1 port 22", timed_out.format(7), timed_out.format(8)))
    assert (seconds(of_9_9), of_9_9.timeless) == ([0.5], 1)


def test_drops_are_counted_while_the_throttling_goes_on_at_the_end_of_the_log() -> None:
    found = read(log("error: in MaxStartups throttling for 00:05:00, 40 connections dropped"))
    assert found.timeless == 40


def test_a_fatal_error_ends_a_connection_so_that_its_port_is_another_one() -> None:
    fatal = f"ssh_dispatch_run_fatal: Connection from authenticating user root {PEER}: Broken pipe [preauth]"
    assert seconds(read(log(fatal))) == [0.5]
    failed = f"Failed password for root from {PEER} ssh2"
    found = read(log(failed, f"fatal: {fatal}", failed))
    assert seconds(found) == [0.5, 2.5]


def test_connections_are_told_in_the_order_of_time_whatever_the_order_of_the_lines() -> None:
    lines = log(*(f"Connection from 192.0.2.7 port {port} on 192.0.2.1 port 22" for port in range(3)))
    found = read(lines[::-1])
    assert seconds(found) == [0.5, 1.5, 2.5]
    assert found.first_s is not None
    assert found.last_s == found.first_s + 2


def test_a_client_that_fell_silent_after_its_login_came_before_the_log() -> None:
    assert seconds(read(log(f"Timeout, client not responding from user root {PEER}"))) == []


def test_an_episode_of_throttling_takes_nothing_from_the_next_one() -> None:
    over = "exited MaxStartups throttling after 00:00:10, 5 connections dropped"
    assert read(log(over, over, "in MaxStartups throttling for 00:05:00, 7 connections dropped")).timeless == 17


def test_of_many_connections_the_latest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is forgotten counts once more: that is at most one of very many."""
    monkeypatch.setattr(sshd_log, "_MOST_CONNECTIONS", 3)

    def failed(port: int) -> str:
        return f"Failed password for root from 192.0.2.7 port {port} ssh2"

    assert seconds(read(log(*map(failed, (1, 2, 3, 1, 2, 3))))) == [0.5, 1.5, 2.5]
    assert seconds(read(log(*map(failed, (1, 2, 1, 3, 4, 1))))) == [0.5, 1.5, 3.5, 4.5]
    assert seconds(read(log(*map(failed, (1, 2, 3, 4, 1))))) == [0.5, 1.5, 2.5, 3.5, 4.5]


def test_of_many_processes_the_latest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sshd_log, "_MOST_CONNECTIONS", 3)
    begun = [
        f"2026-11-16T09:00:00.500000+00:00 bastion sshd[{pid}]: Failed none for root from {PEER} ssh2"
        for pid in (10, 11, 12, 13)
    ]
    timed_out = log(
        *(f"Timeout before authentication for connection from 192.0.2.7 to 1.1.1.1, pid = {pid}" for pid in (13, 11))
    )
    assert read(begun + timed_out).timeless == 0
    assert read([*begun, timed_out[0].replace("= 13", "= 10")]).timeless == 1


def test_a_line_is_read_up_to_a_length_that_no_sshd_writes() -> None:
    (line,) = log(f'Connection from {PEER} on 192.0.2.1 port 22 rdomain ""')
    assert len(read([line.ljust(10_000)]).arrivals) == 1
    assert read([line.ljust(10_001)]).arrivals == []


@pytest.mark.parametrize(
    "stamp",
    [
        pytest.param("2026-13-01T00:00:00", id="no month"),
        pytest.param("0000-01-01T00:00:00", id="no year"),
        pytest.param("Feb 30 10:00:00", id="no day"),
        pytest.param("Jan  1 99:00:00", id="no hour"),
        pytest.param("0001-01-01T00:00:00", id="the first instant"),
    ],
)
def test_a_line_of_a_time_that_there_is_not_is_passed_over(stamp: str) -> None:
    assert read([f"{stamp} bastion sshd[7]: Connection from {PEER} on 192.0.2.1 port 22"]) == LogArrivals()


def test_lines_of_other_programs_and_of_nobody_are_passed_over() -> None:
    lines = log(f"Accepted publickey for root from {PEER} ssh2", program="sudo")
    assert seconds(read([*lines, "", "no log line", "{", "[1]", '{"MESSAGE": 5}', "x" * 20_000])) == []


def test_the_journal_is_read_as_json() -> None:
    entry = {
        "__REALTIME_TIMESTAMP": "1794819600250000",
        "SYSLOG_IDENTIFIER": "sshd-session",
        "MESSAGE": f"Connection from {PEER} on 192.0.2.1 port 22",
    }
    (arrival,) = read([json.dumps(entry)]).arrivals
    assert (arrival.at_s, arrival.exact, arrival.whole_second) == (1794819600.25, True, False)


@pytest.mark.parametrize(
    ("stamp", "iso"),
    [
        pytest.param("Nov 16 09:00:00", "2026-11-16T09:00:00", id="this year"),
        pytest.param("Dec  6 09:00:00", "2025-12-06T09:00:00", id="last year"),
        pytest.param("Feb 29 09:00:00", "2024-02-29T09:00:00", id="the last leap day"),
        pytest.param("Nov 16 09:00:00.250000", "2026-11-16T09:00:00.25", id="with a fraction"),
        pytest.param("1794819600.5", "2026-11-16T09:00:00.5+00:00", id="since the epoch"),
        pytest.param("2026-11-16T09:00:00.123456+0100", "2026-11-16T09:00:00.123456+01:00", id="ISO"),
        pytest.param("2026-11-16 09:00:00", "2026-11-16T09:00:00", id="ISO without a zone"),
    ],
)
def test_each_kind_of_time_is_read(stamp: str, iso: str) -> None:
    (arrival,) = read([f"{stamp} bastion sshd[7]: Connection from {PEER} on 192.0.2.1 port 22"]).arrivals
    assert arrival.at_s == pytest.approx(datetime.fromisoformat(iso).timestamp(), abs=1e-5)


def test_connections_of_a_log_without_fractions_are_spread_over_their_second() -> None:
    lines = [
        f"Nov 16 09:00:0{second} bastion sshd[7]: Connection from 192.0.2.7 port {port} on 192.0.2.1 port 22"
        for port, second in enumerate((0, 1, 1, 1, 1, 3))
    ]
    found = recorded(read(lines), None, None)
    assert list(found.trace.offsets) == pytest.approx([0.5, 1.125, 1.375, 1.625, 1.875, 3.5])
    assert any("spread evenly" in note for note in found.notes)


def test_a_part_of_the_log_is_chosen_by_its_times() -> None:
    lines = [
        f"2026-11-16T09:0{minute}:00.000000+00:00 bastion sshd[7]: Connection from 192.0.2.7 port {port} on x port 22"
        for port, minute in enumerate((0, 1, 2, 3, 4))
    ]
    begin = datetime.fromisoformat("2026-11-16T09:00:30+00:00").timestamp()
    found = recorded(read(lines), begin, begin + 120)
    assert list(found.trace.offsets) == [30.0, 90.0]
    assert found.trace.lasts_s == 120.0
    with pytest.raises(TraceError, match="no connection came between"):
        recorded(read(lines), begin, begin + 10)


def test_a_trace_is_no_longer_than_its_log_whatever_was_asked_for() -> None:
    lines = [
        f"2026-11-16T09:0{minute}:00.000000+00:00 bastion sshd[7]: Connection from 192.0.2.7 port {minute} on x port 22"
        for minute in (1, 2, 4)
    ]
    nine = datetime.fromisoformat("2026-11-16T09:00:00+00:00").timestamp()
    found = recorded(read(lines), nine, nine + 3_600)
    assert (list(found.trace.offsets), found.trace.lasts_s) == ([0.0, 60.0, 180.0], 180.0)
    assert found.notes[0].startswith("the log begins at")
    assert found.notes[1].startswith("the log ends at")


def test_a_log_of_weeks_is_refused_as_one_trace() -> None:
    lines = [
        f"2026-11-{day:02}T09:00:00.000000+00:00 bastion sshd[7]: Connection from 192.0.2.7 port {day} on x port 22"
        for day in (1, 16)
    ]
    with pytest.raises(TraceError, match="narrow --since"):
        recorded(read(lines), None, None)


def test_a_file_that_is_no_log_is_refused_with_what_to_give() -> None:
    with pytest.raises(TraceError, match="journalctl"):
        recorded(read(["what", "is", "this"]), None, None)
