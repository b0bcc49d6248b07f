"""A gateway that the run starts before this machine's sshd, which serves the whole load and is gone afterwards."""

import json
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest
from canary import Canary, secrets_of_key
from local_cli import interrupt, measured, start, wait_until, write_test

_STEPS = {"steps": [{"exec": {"command": "true"}}]}
_THINKING = {"thinkTime": {"min": "50ms", "max": "100ms"}}
"""Of users, who would else take all of the machine's CPU for as long as the load lasts."""


def before(policy: str, **more: int) -> dict[str, Any]:
    """Return the part of a test that puts a gateway of this policy before its managed target."""
    return {"target": {"managed": {"gateway": {"policy": policy, **more}}}, "scenario": _STEPS}


@pytest.mark.parametrize(
    "policy",
    ["pool", *(pytest.param(one, marks=pytest.mark.full) for one in ("login-per-request", "connection-per-user"))],
)
def test_each_policy_serves_all_requests_with_the_logins_that_it_promises(tmp_path: Path, policy: str) -> None:
    load = {"users": {"stages": [{"users": 3, "duration": "3s"}], **_THINKING}}
    ended = measured(write_test(tmp_path, load=load, **before(policy)), "--logs", tmp_path / "logs")
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.out + ended.err
    results = ended.status["results"]
    accepted, served = results["target"]["accepted"], _answered(tmp_path / "logs/gateway.log")
    assert served >= results["iterations"] > 0
    assert results["failures"] == 0
    assert accepted == {"login-per-request": served, "connection-per-user": 1}.get(policy, min(accepted, 4))
    assert "clientLogins" not in results["target"]
    assert "cpuPerLoginMs" not in results["target"]
    assert results["target"]["cpuPerIterationMs"] > 0
    used = results["gateway"]
    assert used["cpuPerIterationMs"] == pytest.approx(used["cpuSeconds"] * 1_000 / results["iterations"], rel=0.01)
    assert used["cpuPerIterationMs"] > 0.1  # HTTP, a token and SSH in Python: what idles costs less
    assert 20_000_000 < used["memoryPeakBytes"] < 400_000_000
    assert "proxy" not in results


def test_nginx_before_a_gateway_passes_on_all_requests_and_its_cpu_is_told_by_iteration(tmp_path: Path) -> None:
    load = {"users": {"stages": [{"users": 3, "duration": "3s"}], **_THINKING}}
    asked = before("pool")
    asked["target"]["managed"]["proxy"] = {"kind": "nginx"}
    ended = measured(write_test(tmp_path, load=load, **asked), "--logs", tmp_path / "logs")
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    results = ended.status["results"]
    assert results["failures"] == 0
    assert _answered(tmp_path / "logs/gateway.log") >= results["iterations"] > 0
    assert results["proxy"]["cpuPerIterationMs"] > 0
    assert "cpuPerLoginMs" not in results["proxy"]
    assert results["gateway"]["cpuSeconds"] > results["proxy"]["cpuSeconds"]


def test_requests_beyond_the_limit_of_nginx_are_told_from_those_that_the_gateway_refuses(tmp_path: Path) -> None:
    asked = before("pool")
    asked["target"]["managed"]["proxy"] = {"kind": "nginx", "maxConnections": 1}
    asked["scenario"] = {"steps": [{"exec": {"command": "sleep 0.2"}}]}
    ended = measured(write_test(tmp_path, **asked))
    results = ended.status["results"]
    assert results["iterations"] > results["failures"] > 0, ended.err
    assert {one["outcome"] for one in results["errors"]} == {"proxyError"}


def _answered(log: Path) -> int:
    """Return how many commands the gateway has answered well."""
    said = (json.loads(line) for line in log.read_text().splitlines() if line.startswith("{"))
    return sum(one.get("route") == "/sshapi/v2/{credential}" and one["status"] == 200 for one in said)


def test_an_aborted_run_leaves_no_gateway_and_its_secrets_were_in_private_files_only(tmp_path: Path) -> None:
    load = {"users": {"stages": [{"users": 2, "duration": "5m"}], "thinkTime": {"min": "100ms", "max": "200ms"}}}
    logs = tmp_path / "logs"
    started = start("run", write_test(tmp_path, load=load, **before("pool")), "--output", "json", "--logs", logs)
    wait_until(lambda: "Running" in started.said(), "the load")
    folder = started.folder()
    secrets = {name: folder / "keys" / name for name in ("gateway_token", "gateway_credential.json")}
    secrets["sealing key"] = folder / "keys/sealing/gateway_sealing_key"
    assert {S_IMODE(path.stat().st_mode) for path in secrets.values()} == {0o600}
    login = json.loads(secrets.pop("gateway_credential.json").read_text())["privateKey"]
    canary = Canary({**{name: path.read_bytes() for name, path in secrets.items()}, **secrets_of_key(login.encode())})
    (gateway,) = started.process_ids("sshload_gateway")
    seen = {place: Path(f"/proc/{gateway}/{place}").read_bytes() for place in ("cmdline", "environ")}
    interrupt(started)
    ended = started.wait()
    assert ended.status["verdict"] == "Aborted", ended.err
    seen |= {"output": ended.out.encode(), "notes": ended.err.encode()}
    seen |= {path.name: path.read_bytes() for path in logs.iterdir()}
    assert [found for place, content in seen.items() for found in canary.found_in(place, content)] == []
    assert "gateway.log" in seen
    assert (started.left_behind(), folder.exists()) == ([], False)
