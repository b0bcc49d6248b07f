"""A gateway that exists, before a real sshd: what a run counts is what both of them served."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from account_server import account_server, readable_place
from canary import Canary, Search, searched
from gateway_process import Caller, GatewayProcess, gateway_process
from generator_reruns import lagged_comparison, rerun_while_lagging
from guide import ROOT, blocks_of, commands, yaml_file
from local_cli import sshload, write_test
from ssh_server import SshServer
from statuses import steps_of

CREDENTIAL = "bastion"
PAGE = ROOT / "docs/how-to/load-a-gateway.md"
FILE = "direct-or-gateway.yaml"


@pytest.fixture(scope="module")
def sshd() -> Iterator[SshServer]:
    """The server, which logs each command."""
    with readable_place() as place, account_server(place, "serving") as server:
        yield server


@pytest.fixture(scope="module")
def gateway(sshd: SshServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A gateway to the server."""
    with gateway_process(tmp_path_factory.mktemp("gateway"), [sshd.port]) as running:
        yield running


@pytest.fixture
def caller(gateway: GatewayProcess, sshd: SshServer, tmp_path: Path) -> Caller:
    """Somebody with a credential for the server, whose token is in the file `token`."""
    caller = gateway.caller()
    caller.store(CREDENTIAL, sshd).raise_for_status()
    (tmp_path / "token").write_text(caller.token)
    return caller


def target(gateway: GatewayProcess) -> dict[str, Any]:
    """Return what a spec says of the gateway."""
    port = int(gateway.url.rpartition(":")[2])
    where = {"host": "127.0.0.1", "port": port, "tls": False}
    return {**where, "credential": CREDENTIAL, "tokenSecretRef": {"name": "token"}}


def served(gateway: GatewayProcess, sshd: SshServer) -> tuple[int, int]:
    """Return how many commands the gateway has seen end, and how many the server has started."""
    return int(gateway.metric("sshload_gateway_commands_total", outcome="exited")), sum(sshd.commands_by_connection())


def test_a_run_passes_with_the_counts_of_gateway_and_server_and_its_token_is_seen_nowhere(
    gateway: GatewayProcess, sshd: SshServer, caller: Caller, tmp_path: Path, temporary: Path
) -> None:
    signature = caller.token.rpartition(".")[2]
    canary = Canary({"token": caller.token.encode(), "token's signature": signature.encode()})
    test = write_test(tmp_path, target={"gateway": target(gateway)})

    def run() -> tuple[dict[str, Any], tuple[int, int]]:
        before = served(gateway, sshd)
        options = ("--token-file", tmp_path / "token")
        status = searched(Search(canary, temporary), test, tmp_path / "logs", *options)
        exited, started = served(gateway, sshd)
        return status, (exited - before[0], started - before[1])

    status, counts = rerun_while_lagging(run, lambda done: done[0])
    assert status["verdict"] == "Passed", status["message"]
    iterations = status["results"]["iterations"]
    assert iterations > 0
    assert status["results"]["failures"] == 0
    assert {name: step.count for name, step in steps_of(status).items() if not step.is_part} == {
        "command": iterations,
        "total": iterations,
    }
    assert counts == (iterations, iterations)
    assert canary.found_in("the gateway's log", gateway.log) == []


def test_the_comparison_of_the_guide_measures_the_server_directly_and_through_the_gateway(
    gateway: GatewayProcess, sshd: SshServer, caller: Caller, tmp_path: Path
) -> None:
    assert caller.token
    shown = yaml_file(PAGE, FILE)
    assert shown is not None
    (tmp_path / FILE).write_text(yaml.safe_dump(on_loopback(shown.document, gateway, sshd)))
    ((_, *words),) = (words for block in blocks_of(PAGE, "sh") for words in commands(block) if FILE in words)
    files = {
        FILE: tmp_path / FILE,
        "token": tmp_path / "token",
        "load_key": sshd.keys.user,
        "known_hosts": sshd.known_hosts,
        "bastion.example.com:22": f"127.0.0.1:{sshd.port}",
        "api.example.com:443": f"127.0.0.1:{target(gateway)['port']}",
    }
    arguments = [files.get(word, word) for word in words]
    ended = rerun_while_lagging(
        lambda: sshload(*arguments, "--output", "json"), lambda done: lagged_comparison(done.status)
    )
    variants = {one["name"]: one for one in ended.status["results"]["variants"]}
    assert {name: one["measured"] for name, one in variants.items()} == {"direct": 1, "gateway": 1}, ended.err
    direct, through = (figures(variants[name]) for name in ("direct", "gateway"))
    assert direct["errorPercent"]["value"] == through["errorPercent"]["value"] == 0
    assert "exec.p50Ms" in direct
    assert "exec.p50Ms" not in through
    assert "differenceMs" not in through["gatewayWait.p50Ms"]
    assert through["command.p50Ms"]["value"] >= through["gatewayCommand.p50Ms"]["value"]
    added = through["command.p50Ms"]["differenceMs"]
    assert added == pytest.approx(through["command.p50Ms"]["value"] - direct["command.p50Ms"]["value"], abs=0.01)


def on_loopback(document: dict[str, Any], gateway: GatewayProcess, sshd: SshServer) -> dict[str, Any]:
    """Return the comparison with servers of this machine, one round of it, and a short load.

    Its command takes so long that a generator's delay has to be long to spoil the figures.
    """
    spec = document["spec"]
    spec["base"]["target"]["external"] |= {"host": "127.0.0.1", "port": sshd.port, "user": sshd.user}
    spec["base"] |= {"load": {"arrivals": {"rate": 4, "duration": "4s"}}, "warmUp": "0s"}
    spec["base"]["scenario"]["steps"] = [{"exec": {"command": "sleep 1"}}]
    spec["variants"][1]["patch"]["target"]["gateway"] |= target(gateway)
    return {**document, "spec": {**spec, "repeats": 1}}


def figures(variant: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the figures of a variant by their names, those of steps as `command.p50Ms`."""
    return {".".join(filter(None, (one.get("step"), one["figure"]))): one for one in variant["figures"]}
