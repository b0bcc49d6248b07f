from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from sshload_operator.api.parse import parse
from sshload_operator.local import files as local_files
from sshload_operator.local.files import Credentials, prepare
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.planning.plan import Installation, Plan, TestIdentity, make_plan

NOTHING = Credentials(identity=None, password_file=None, known_hosts=None)
SPEC = {
    "target": {"managed": {"sshd": {"maxStartups": "30:30:100"}}},
    "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
    "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}]}},
    "workers": {"replicas": 3},
}


def plan() -> Plan:
    nowhere = Installation("", "", "", (), ())
    return make_plan(TestIdentity("default", "one", "uid", 1), parse(SPEC), nowhere, 1)


def test_all_processes_of_a_managed_run_are_planned_in_the_order_of_their_start(tmp_path: Path) -> None:
    local = prepare(plan(), NOTHING, tmp_path)
    assert [process.name for process in local.processes] == ["target", "master", "worker-0", "worker-1", "worker-2"]


def test_what_holds_keys_is_for_its_owner_only_and_no_key_is_on_a_command_line(tmp_path: Path) -> None:
    local = prepare(plan(), NOTHING, tmp_path)
    keys = sorted((tmp_path / "keys").iterdir())
    assert [path.name for path in keys if "known" not in path.name and path.suffix != ".pub"] == [
        "id_ed25519",
        "ssh_host_ecdsa_key",
        "ssh_host_ed25519_key",
    ]
    assert {path.stat().st_mode & 0o777 for path in keys} == {0o600}
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    words = [word for process in local.processes for word in process.command]
    assert not any("PRIVATE" in word for word in words)


def test_ports_differ_and_are_none_that_an_outgoing_connection_may_take() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    ports = local_files._free_ports(50)
    assert len(set(ports)) == 50
    assert not any(first <= port <= last for port in ports)


def test_a_library_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == "locust" else ModuleSpec(name, None)

    monkeypatch.setattr(local_files, "find_spec", find_spec)
    with pytest.raises(LocalRunError, match="need locust, which"):
        prepare(plan(), NOTHING, tmp_path)
