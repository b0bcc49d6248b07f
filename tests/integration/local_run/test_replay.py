"""What came to a real sshd is recorded from its log, and played again against another one."""

import socket
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml
from generator_reruns import rerun_while_lagging
from local_cli import Ended, measured, sshload, wait_until, write_test
from own_server import OwnServer, running_server

OFFSETS = (0.0, 0.4, 0.5, 1.2, 1.3, 1.35, 2.6, 3.1, 3.2, 3.9)
STEPS: dict[str, Any] = {"scenario": {"steps": []}, "thresholds": [{"errorRate": {"below": "60%"}}]}


def replay(**changes: Any) -> dict[str, Any]:
    return {**STEPS, "warmUp": "1s", "load": {"replay": {"trace": _REF, "duration": "3s", **changes}}}


_REF = {"configMapRef": {"name": "monday"}}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "monday.txt"
    path.write_text("\n".join(map(str, OFFSETS)) + "\n# lasts: 4\n")
    return path


def test_each_recorded_arrival_begins_an_iteration_and_the_warm_up_has_the_first(tmp_path: Path, trace: Path) -> None:
    ended = measured(write_test(tmp_path, **replay()), "--trace", trace)
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    assert ended.status["results"]["iterations"] == sum(offset >= 1 for offset in OFFSETS)
    assert ended.status["results"]["warmUp"]["iterations"] == sum(offset < 1 for offset in OFFSETS)


def test_an_amplification_multiplies_the_iterations_of_a_config_map_in_the_same_file(
    tmp_path: Path, trace: Path
) -> None:
    path = write_test(tmp_path, **replay(amplification=3), workers={"replicas": 2})
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "monday"}}
    with path.open("a") as file:
        file.write("---\n" + yaml.safe_dump({**config_map, "data": {"trace.txt": trace.read_text()}}))
    ended = measured(path)
    results = ended.status["results"]
    assert results["iterations"] + results["warmUp"]["iterations"] == 3 * len(OFFSETS), ended.err


def test_a_trace_that_ends_before_the_load_is_an_error_with_both_times(tmp_path: Path, trace: Path) -> None:
    ended = sshload("run", write_test(tmp_path, **replay(speed=2)), "--trace", trace, "--output", "json")
    assert (ended.code, ended.status["verdict"]) == (4, "Error"), ended.err
    assert "lasts 4 s, which is 2 s at speed 2" in ended.status["message"]


def test_what_is_no_trace_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "no-trace.txt"
    path.write_text("0.5\nhunter2\n")
    ended = sshload("run", write_test(tmp_path, **replay()), "--trace", path, "--output", "json")
    assert (ended.code, ended.status["verdict"]) == (4, "Error"), ended.err
    assert "line 2" in ended.status["message"]
    assert "hunter2" not in ended.out + ended.err


def test_a_trace_that_no_one_gave_is_asked_for_by_its_option(tmp_path: Path) -> None:
    ended = sshload("run", write_test(tmp_path, **replay()))
    assert ended.code == 4
    assert "--trace FILE" in ended.err


@dataclass(frozen=True)
class Loaded:
    """How a load on a server of its own ended, and what the server knows of it and of three scanners."""

    ended: Ended
    log: str
    logins: int


def loaded(folder: Path) -> Loaded:
    """Load a new server: what an earlier load left in the log of another one would be in the trace."""
    folder.mkdir()
    load = {"load": {"arrivals": {"rate": 3, "duration": "3s"}}}  # few enough that sshd drops none
    with running_server(folder) as server:
        test = write_test(folder, **STEPS, **load, target=server.target())
        allowed = ("--allow-target", f"127.0.0.1:{server.port}", *server.credentials())
        ended = sshload("run", test, *allowed, "--output", "json")
        for _ in range(3):
            scan(server)
        of_scanner = "Connection closed by 127.0.0.1"
        wait_until(lambda: server.log.read_text().count(of_scanner) >= 3, "the scanners in sshd's log")
        return Loaded(ended, stamped(server.log.read_text()), server.accepted())


def scan(server: OwnServer) -> None:
    """Look who listens and go. A greeting that is not read would make a reset of the close, in other words of sshd."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection, connection.makefile("rb") as said:
        assert said.readline().startswith(b"SSH-")


def test_a_trace_of_a_servers_log_has_each_of_its_connections_once(tmp_path: Path) -> None:
    numbers = count()
    found = rerun_while_lagging(lambda: loaded(tmp_path / f"server-{next(numbers)}"), lambda done: done.ended.judgement)
    assert found.ended.code == 0, found.ended.err
    (tmp_path / "ssh.log").write_text(found.log)
    made = sshload("trace", tmp_path / "ssh.log", "--config-map", "again")
    assert made.code == 0, made.err
    text = yaml.safe_load(made.out)["data"]["trace.txt"]
    arrivals = [line for line in text.splitlines() if not line.startswith("#")]
    assert found.logins == found.ended.status["results"]["iterations"] + 1  # the worker's login before the load
    assert len(arrivals) == found.logins + 3


def stamped(log: str) -> str:
    """Return the lines of `sshd -e` with the times and the name that syslog gives them."""
    stamps = (f"2026-11-16T09:{n // 600 % 60:02}:{n // 10 % 60:02}.{n % 10}00000+00:00" for n in count())
    return "".join(f"{stamp} here sshd[1]: {line}\n" for stamp, line in zip(stamps, log.splitlines(), strict=False))
