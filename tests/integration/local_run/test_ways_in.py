"""However a test logs in, and through whatever it does: the run is the same, and every login is accounted for."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generator_reruns import rerun_while_lagging
from local_cli import Ended, measured, metrics, sshload, start, wait_until, write_test
from own_server import OwnServer, running_server
from statuses import steps_of


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with running_server(tmp_path_factory.mktemp("jump-host")) as server:
        yield server


def counts(ended: Ended) -> dict[str, int]:
    """Return how often each step succeeded."""
    return {name: step.count for name, step in steps_of(ended.status).items()}


def test_two_jump_hosts_are_passed_each_with_its_own_credentials(tmp_path: Path, own_server: OwnServer) -> None:
    via = [own_server.reference(encryptedKey=True), own_server.reference("localhost", auth="agent")]
    options: list[str | Path] = [
        *("--allow-target", "127.0.0.1", "--allow-target", "localhost", "--known-hosts", own_server.known_hosts),
        *("--via-identity", f"127.0.0.1={own_server.encrypted_identity}"),
        *("--via-passphrase-file", f"127.0.0.1={own_server.passphrase_file}"),
        *("--via-identity", f"localhost={own_server.identity}"),
    ]
    ended = measured(write_test(tmp_path, via=via), *options)
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    seen = counts(ended)
    assert seen["via1.login"] == seen["via2.login"] == seen["login"] == seen["total"] > 0
    assert "loginDifference" not in ended.status["results"]["target"]
    assert "the last jump host connects to 127.0.0.1 itself" in ended.err


def test_a_jump_host_that_the_command_line_does_not_name_is_left_alone(tmp_path: Path, own_server: OwnServer) -> None:
    path = write_test(tmp_path, via=[own_server.reference()])
    options = ["--via-identity", f"127.0.0.1={own_server.identity}", "--known-hosts", own_server.known_hosts]
    ended = sshload("run", path, "--output", "json", *options)
    assert (ended.code, ended.status["reason"]) == (4, "TargetNotAllowed")
    assert "spec.via[0]" in ended.status["message"]


@pytest.mark.parametrize("auth", ["certificate", pytest.param("agent", marks=pytest.mark.full)])
def test_a_managed_target_takes_whatever_the_run_was_given(tmp_path: Path, auth: str) -> None:
    ended = measured(write_test(tmp_path, client={"auth": auth}), "--logs", tmp_path / "logs")
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    target = ended.status["results"]["target"]
    assert target["accepted"] == target["clientLogins"] == counts(ended)["total"] > 0
    accepted = [
        line for line in (tmp_path / "logs/target.log").read_text().splitlines() if "Accepted publickey" in line
    ]
    assert len(accepted) == target["accepted"] + 1  # the login before the load
    assert all(("ED25519-CERT" in line) == (auth == "certificate") for line in accepted)


@pytest.mark.parametrize(
    ("scenario", "logins"),
    [
        pytest.param({"sessionReuse": "user"}, 2, id="one for each user", marks=pytest.mark.full),
        pytest.param({"sessionReuse": "pool", "poolSize": 3}, 3, id="a pool of three"),
    ],
)
def test_kept_sessions_are_logged_in_once(tmp_path: Path, scenario: dict[str, Any], logins: int) -> None:
    steps = {"steps": [{"exec": {"command": "echo here", "expectStdout": "here"}}]}
    # So long that each session has more than one, of a slow server too.
    load = {"users": {"stages": [{"users": 2, "duration": "6s"}], "thinkTime": {"min": "100ms", "max": "200ms"}}}
    ended = measured(write_test(tmp_path, scenario={**steps, **scenario}, load=load))
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    target = ended.status["results"]["target"]
    assert (target["accepted"], target["clientLogins"]) == (logins, logins)
    assert counts(ended)["total"] > logins


def test_held_sessions_are_told_of_in_the_results(tmp_path: Path) -> None:
    load = {"hold": {"sessions": 10, "rampUp": "5s", "duration": "3s", "probeRate": 2, "keepAlive": "1s"}}
    ended = measured(write_test(tmp_path, load=load))
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    results = ended.status["results"]
    hold, target = results["hold"], results["target"]
    assert 0 < hold["heldLeast"] <= hold["heldMost"] == 10  # a slow server may let the last in after the ramp
    assert hold["freshLogin"]["p50Ms"] > 0
    assert target["processesPerSession"] in (1.0, 2.0)  # as OpenSSH is built
    assert 100_000 < target["memoryPerSessionBytes"] < 10_000_000
    assert target["memoryPerSessionUpperBound"] is True
    assert ended.status["thresholds"][0]["message"].endswith(
        f": 0 % (0 of {results['iterations'] + 10}), 99 points below"
    )


def test_held_sessions_that_the_server_ends_break_a_promise_about_errors(tmp_path: Path, own_server: OwnServer) -> None:
    hold = {"hold": {"sessions": 10, "rampUp": "1s", "duration": "12s", "probeRate": 2, "keepAlive": "0s"}}
    thresholds = [{"errorRate": {"below": "1%"}}]
    path = write_test(tmp_path, load=hold, target=own_server.target(), thresholds=thresholds)

    def hold_and_end_three() -> Ended:
        wait_until(lambda: not own_server.connections(), "the end of earlier sessions")
        started = start("run", path, "--output", "json", "--allow-target", "127.0.0.1", *own_server.credentials())
        wait_until(lambda: "Running" in started.said(), "the load")
        port = started.metrics_port()
        wait_until(lambda: re.search(r"^sshload_held_sessions\S* 10", metrics(port), re.MULTILINE), "ten sessions")
        for pid in own_server.connections()[:3]:  # probes begin after them
            os.kill(pid, signal.SIGKILL)
        return started.wait()

    ended = rerun_while_lagging(hold_and_end_three, lambda ended: ended.judgement)
    assert (ended.code, ended.status["reason"]) == (1, "ThresholdBroken"), ended.out
    results = ended.status["results"]
    assert ended.status["thresholds"][0]["message"].count(f"(3 of {results['iterations'] + 10})") == 1
    lost = {"step": "held.hold", "outcome": "disconnected", "count": 3}
    assert [{key: error[key] for key in lost} for error in results["errors"]] == [lost]
    assert results["hold"]["heldLeast"] <= 7  # fewer where a slow server lets some in after the ramp


def test_a_pod_of_two_processes_is_two_workers(tmp_path: Path) -> None:
    ended = measured(write_test(tmp_path, workers={"replicas": 1, "processesPerPod": 2}))
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    assert ended.status["results"]["generator"]["workersConnected"] == 2
    assert "loginDifference" not in ended.status["results"]["target"]
