"""A run through this machine's own proxies: every connection goes through them, and nothing else reaches sshd."""

import os
import signal
from pathlib import Path

import pytest
from local_cli import measured, start, wait_until, write_test
from statuses import steps_of

THROUGH_HAPROXY = {"managed": {"proxy": {"kind": "haproxy"}}}


@pytest.mark.parametrize(
    ("kind", "name"), [("haproxy", "HAProxy"), pytest.param("nginx", "nginx", marks=pytest.mark.full)]
)
def test_all_logins_go_through_the_proxy_which_makes_no_connection_of_its_own(
    kind: str, name: str, tmp_path: Path
) -> None:
    through = {"managed": {"proxy": {"kind": kind}}}
    ended = measured(write_test(tmp_path, target=through), "--logs", tmp_path / "logs")
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    target, total = ended.status["results"]["target"], steps_of(ended.status)["total"]
    assert target["accepted"] == target["clientLogins"] == total.count > 0
    log = (tmp_path / "logs/target.log").read_text()
    assert log.count("Accepted publickey") == target["accepted"] + 1  # the login before the load
    assert log.count("[preauth]") == 1  # the worker's, which asks for the server's key exchanges
    assert f"the proxy is this machine's {name}" in ended.err
    used = ended.status["results"]["proxy"]
    of_rounding = 0.001 + 0.5 / target["accepted"]  # the seconds and the milliseconds have three decimals
    assert used["cpuPerLoginMs"] == pytest.approx(used["cpuSeconds"] * 1_000 / target["accepted"], abs=of_rounding)
    assert 0 < used["cpuSeconds"] < target["cpuSeconds"]  # sshd's cryptography costs more than passing it on
    assert 1_000_000 < used["memoryPeakBytes"] < 200_000_000


def test_a_proxy_that_passes_on_one_connection_holds_up_the_second_until_the_first_ends(tmp_path: Path) -> None:
    narrow = {"managed": {"proxy": {"kind": "haproxy", "maxConnections": 1}}}
    load = {"burst": {"connections": 2, "repeat": 1}}
    scenario = {"steps": [{"exec": {"command": "sleep 1"}}]}
    ended = measured(write_test(tmp_path, target=narrow, load=load, scenario=scenario))
    login, start = (steps_of(ended.status)[step] for step in ("login", "startDelay"))
    assert (login.count, ended.status["verdict"]) == (2, "Passed"), ended.err
    assert login.max_ms is not None
    assert start.mean_ms is not None
    assert login.max_ms + start.count * start.mean_ms > 990  # a login that begins late is held up for so much less


def test_a_proxy_that_is_lost_ends_the_run_and_is_named(tmp_path: Path) -> None:
    load = {"users": {"stages": [{"users": 2, "duration": "5m"}], "thinkTime": {"min": "100ms", "max": "200ms"}}}
    started = start("run", write_test(tmp_path, target=THROUGH_HAPROXY, load=load), "--output", "json")
    wait_until(lambda: "Running" in started.said(), "the load")
    (haproxy,) = started.process_ids("haproxy -db")
    os.kill(haproxy, signal.SIGKILL)
    ended = started.wait()
    assert (ended.code, ended.status["reason"]) == (4, "TargetLost"), ended.err
    assert "the proxy in the path was lost while the load ran" in ended.status["message"]
    assert started.left_behind() == []
