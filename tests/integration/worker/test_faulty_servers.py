"""Every kind of faulty server against every client library, by the table of tests/support/ssh/fault_table.py."""

import gc
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gevent
import pytest
from below import descendants, state
from circles import in_pairs
from client_kinds import KINDS, Kind, every_kind_in_the_process, every_kind_with_scp
from fault_table import ANYWHERE, FAULTS, MUCH, NO_STATUS_OF_SCP, Fault, page
from guide import ROOT
from one_iteration import Counted, run_once
from run_configs import arrivals, run_config, scenario
from server_faults import BRIEF_S
from ssh_server import Keys
from sshload_contract.client import Auth, Library
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.run_config import Endpoint, RunConfig
from sshload_worker.clients.interface import Course
from sshload_worker.clients.libraries import new_connection, prepare_library
from sshload_worker.clients.openssh import transfer
from sshload_worker.outcomes import StepFailure
from sshload_worker.scenario.target_login import prepare_login, resolve_first_hop
from staged_ssh_server import Staged, staged

PATIENCE_S = 300.0
MOST_KEPT_BYTES = 100_000_000
FLOODS = [name for name in FAULTS if "for ever" in name or "without end" in name]


def config_for(server: Staged, fault: Fault, kind: Kind, keys: Keys, known_hosts: Path) -> RunConfig:
    known_hosts.write_text(server.known_hosts())
    target = Endpoint(
        host="127.0.0.1",
        port=server.port,
        user="anybody",
        auth=Auth.PUBLICKEY,
        private_key_path=str(keys.user),
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path=str(known_hosts),
    )
    client = kind.client(**{f"{limit}_s": BRIEF_S for limit in fault.brief_for(kind)})
    return replace(run_config(target, arrivals(1, 1)), client=client, scenario=scenario(fault.doing))


def left_open() -> tuple[int, int, set[int]]:
    """Return how many descriptors and threads this process has, and which processes run below it.

    One that has ended is not among them: it may be an orphan, which the kernel has handed to the process of the tests.
    """
    gc.collect()
    children = {pid for pid in descendants(os.getpid()) if state(pid) != "Z"}
    threads = [thread for thread in threading.enumerate() if not isinstance(thread, threading._DummyThread)]
    return len(list(Path("/proc/self/fd").iterdir())), len(threads), children


def more_than(before: tuple[int, int, set[int]]) -> bool:
    """Return whether more is open than there was before."""
    descriptors, threads, children = left_open()
    return descriptors > before[0] or threads > before[1] or not children <= before[2]


def await_condition(condition: Callable[[], object], problem: str) -> None:
    with gevent.Timeout(PATIENCE_S, AssertionError(problem)):
        while not condition():
            gevent.sleep(0.01)


@in_pairs(("kind", KINDS), ("name", list(FAULTS)))
def test_a_faulty_server_ends_an_iteration_once_in_its_outcome_and_leaves_nothing(
    keys: Keys, tmp_path: Path, kind: Kind, name: str
) -> None:
    fault = FAULTS[name]
    prepare_library(kind.library)
    with staged(fault.serve) as server:
        before = left_open()
        done = played(config_for(server, fault, kind, keys, tmp_path / "known_hosts"))
        outcome, part = fault.ends(kind)
        assert (done.outcome, part if part == ANYWHERE else done.failed_step) == (outcome, part), done
        assert bool(done.message) == (outcome is not Outcome.OK)
        assert "debug1" not in done.message  # ssh's log, which says what ssh does, and not what went wrong
        assert done.counts.started == done.counts.succeeded + done.counts.failed == 1
        assert done.counts.failed == (outcome is not Outcome.OK)
        await_condition(lambda: server.ended == server.begun, "the server still has the connection")
        await_condition(lambda: not more_than(before), f"left open: {before} before, {left_open()}")
        assert server.begun == 1


@every_kind_in_the_process
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("closes the channel, and disconnects at once", (Outcome.OK, 3)),
        ("closes the channel after much output, and closes at once", (Outcome.OK, len(MUCH))),
        ("disconnects in the middle of much output", (Outcome.DISCONNECTED, len(MUCH))),
    ],
)
def test_a_shared_session_delivers_what_came_before_its_end(
    keys: Keys, tmp_path: Path, kind: Kind, name: str, expected: tuple[Outcome, int]
) -> None:
    prepare_library(kind.library)
    with staged(FAULTS[name].serve) as server, gevent.Timeout(PATIENCE_S):
        config = config_for(server, FAULTS[name], kind, keys, tmp_path / "known_hosts")
        connection = new_connection(prepare_login(config, resolve_first_hop(config, pytest.fail)), shared=True)
        for step in (connection.connect, connection.banner, connection.kex, connection.auth):
            step()
        pieces: list[bytes] = []
        outcome = Outcome.OK
        try:
            connection.open_channel().run("any", pieces.append, Course())
        except StepFailure as failure:
            outcome = failure.outcome
        await_condition(connection.is_lost, "the session is taken for a live one")
        connection.close()
    assert (outcome, len(b"".join(pieces))) == expected


@every_kind_with_scp
def test_a_file_that_scp_wrote_without_an_exit_status_is_not_taken_for_written(
    keys: Keys, tmp_path: Path, kind: Kind
) -> None:
    with staged(NO_STATUS_OF_SCP.serve) as server:
        done = played(config_for(server, NO_STATUS_OF_SCP, kind, keys, tmp_path / "known_hosts"))
    assert done.outcome is Outcome.NO_EXIT_STATUS
    assert done.message == "the server closed the channel of its scp without an exit status"


def played(config: RunConfig) -> Counted:
    with gevent.Timeout(PATIENCE_S):
        return run_once(config)


@in_pairs(("kind", KINDS), ("name", FLOODS))
def test_what_a_server_sends_without_end_is_not_kept(keys: Keys, tmp_path: Path, kind: Kind, name: str) -> None:
    fault = FAULTS[name]
    with staged(fault.serve) as server:
        config = config_for(server, fault, kind, keys, tmp_path / "known_hosts")
        before_bytes = resident_bytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted again: proc_pid_clear_refs(5)
        played(config)
        assert resident_bytes("VmHWM") - before_bytes < MOST_KEPT_BYTES


@pytest.mark.parametrize("looks_every_s", [0.1, 3_600.0], ids=["at what it takes", "by the limit of its files alone"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.library is Library.OPENSSH], ids=str)
def test_a_server_does_not_fill_the_disk_by_a_file_that_openssh_fetches(
    keys: Keys, tmp_path: Path, kind: Kind, looks_every_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "OPENSSH_FILE_LIMIT_BYTES", 1_000_000)
    monkeypatch.setattr(transfer, "_DISK_CHECK_INTERVAL_S", looks_every_s)
    fault = replace(FAULTS["has a file without end"], brief="")
    with staged(fault.serve) as server:
        done = played(config_for(server, fault, kind, keys, tmp_path / "known_hosts"))
    assert done.outcome is Outcome.GENERATOR_FAULT
    assert "at most 1000000 bytes of the worker's disk" in done.message


def resident_bytes(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) * 1_024


def test_every_library_that_tells_something_else_is_one_of_them() -> None:
    libraries = {kind.library for kind in KINDS}
    for fault in FAULTS.values():
        assert set(fault.otherwise) < libraries


def test_the_page_of_the_reference_is_this_table() -> None:
    written = (ROOT / "docs/reference/faulty-servers.md").read_text(encoding="utf-8")
    assert written == page(), "write it again: .venv/bin/python tests/support/ssh/fault_table.py"
