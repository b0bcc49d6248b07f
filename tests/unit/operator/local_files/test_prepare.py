import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from plans import EXTERNAL, INSTALLATION
from sshload_contract.vocabulary import InPath
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.program import ProgramConfig
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.target import TargetConfig
from sshload_gateway.config import read_config
from sshload_operator.api.load_test import parse
from sshload_operator.api.targets.proxy import Proxy, ProxyKind
from sshload_operator.local import process as local_process
from sshload_operator.local import proxy as local_proxy
from sshload_operator.local.credentials import Credentials
from sshload_operator.local.files import OwnFiles, prepare
from sshload_operator.local.proxy import fitting
from sshload_operator.local.sshd import LocalRunError
from sshload_operator.planning.plan import Plan, TestIdentity, make_plan

NOTHING = OwnFiles(test=Path("test.yaml"), target=Credentials(), via={}, files={})
SPEC: Mapping[str, Any] = {
    "target": {"managed": {"sshd": {"maxStartups": "30:30:100"}}},
    "scenario": {"steps": [{"exec": {"command": "uptime"}}]},
    "load": {"arrivals": {"stages": [{"rate": 20, "duration": "30s"}]}},
    "workers": {"replicas": 3},
}


LOCUSTFILE = {"locustfile": {"configMapRef": {"name": "own-users"}, "key": "users.py"}}
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: own-users}
data:
  users.py: "import sshload_worker"
"""


def plan(**changes: Any) -> Plan:
    here = replace(INSTALLATION, worker_resources={}, one_address=True)
    return make_plan(TestIdentity("default", "one", "uid", 1), parse({**SPEC, **changes}), here, 1)


def told(folder: Path) -> RunConfig:
    return from_json(RunConfig, (folder / "run.json").read_text())


def written(folder: Path, *names: str) -> dict[str, Path]:
    """Return files of these names, the extension of each field of Credentials left out."""
    for name in names:
        (folder / name).write_text(name)
    return {name: folder / name for name in names}


def test_all_processes_of_a_managed_run_are_planned_in_the_order_of_their_start(tmp_path: Path) -> None:
    local = asyncio.run(prepare(plan(), NOTHING, tmp_path))
    assert [process.name for process in local.processes] == ["target", "master", "worker-0", "worker-1", "worker-2"]


@pytest.mark.parametrize("kind", ProxyKind)
def test_a_proxy_stands_between_the_workers_and_sshd(kind: ProxyKind, tmp_path: Path) -> None:
    through = plan(target={"managed": {"proxy": {"kind": str(kind), "maxConnections": 50}}})
    local = asyncio.run(prepare(through, NOTHING, tmp_path))
    assert [process.name for process in local.processes][:3] == ["target", "proxy", "master"]
    config = from_json(ProgramConfig, (tmp_path / "proxy.json").read_text())
    entrance, sshd = (
        told(tmp_path).target.port,
        from_json(TargetConfig, (tmp_path / "target.json").read_text()).sshd_port,
    )
    assert entrance != sshd
    assert (config.port, config.server) == (entrance, "127.0.0.1")
    assert f"@SERVER@:{sshd}" in config.config
    assert config.open_files >= 2 * 50 + 18  # HAProxy's own count
    assert config.command[0] == f"/usr/sbin/{kind}"
    assert told(tmp_path).in_path == {InPath.PROXY: f"http://127.0.0.1:{config.stats_port}/stats"}
    known = (tmp_path / "keys/known_hosts").read_text()
    assert known.startswith(f"[127.0.0.1]:{entrance} ")


def test_a_gateway_runs_under_what_observes_it(tmp_path: Path) -> None:
    through = plan(target={"managed": {"gateway": {"policy": "pool"}}})
    local = asyncio.run(prepare(through, NOTHING, tmp_path))
    (gateway,) = (process for process in local.processes if process.name == "gateway")
    program = from_json(ProgramConfig, (tmp_path / "gateway.json").read_text())
    config = read_config(program.config)
    assert gateway.command[3:] == ("sshload_target.in_path", "--config", "gateway.json", "--host", "127.0.0.1")
    assert program.command == (sys.executable, "-P", "-m", "sshload_gateway", "--config")
    assert gateway.ready_port == config.management.port  # which says that the login is stored, too
    assert told(tmp_path).target.port == program.port == config.listen.port
    assert told(tmp_path).in_path == {InPath.GATEWAY: f"http://127.0.0.1:{program.stats_port}/stats"}


@pytest.mark.parametrize(
    ("kind", "packages"),
    [(ProxyKind.HAPROXY, "haproxy"), (ProxyKind.NGINX, "nginx libnginx-mod-stream")],
)
def test_a_machine_without_a_proxy_is_told_what_to_install(
    kind: ProxyKind, packages: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_proxy, "_SEARCHED", str(tmp_path))
    with pytest.raises(LocalRunError, match=f"proxy: {kind} is not installed: `apt-get install {packages}`"):
        asyncio.run(prepare(plan(target={"managed": {"proxy": {"kind": str(kind)}}}), NOTHING, tmp_path))


def test_a_proxy_takes_as_many_connections_as_the_limit_of_open_files_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = Proxy(ProxyKind.HAPROXY, 20_000)
    monkeypatch.setattr(local_proxy.resource, "getrlimit", lambda _: (1_024, 4_096))
    fitted, (note,) = fitting(asked)
    assert fitted.max_connections == 1_948
    assert "at most 1948 connections at once, and not 20000" in note
    monkeypatch.setattr(local_proxy.resource, "getrlimit", lambda _: (1_024, 40_200))
    assert fitting(asked) == (asked, ())
    monkeypatch.setattr(local_proxy.resource, "getrlimit", lambda _: (201, 201))
    with pytest.raises(LocalRunError, match="201 open files are too few"):
        fitting(asked)


def test_what_holds_keys_is_for_its_owner_only_and_no_key_is_on_a_command_line(tmp_path: Path) -> None:
    local = asyncio.run(prepare(plan(), NOTHING, tmp_path))
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


def test_a_library_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == "locust" else ModuleSpec(name, None)

    monkeypatch.setattr(local_process, "find_spec", find_spec)
    with pytest.raises(LocalRunError, match="need locust, which"):
        asyncio.run(prepare(plan(), NOTHING, tmp_path))


def test_a_password_is_asked_for_by_the_option_that_names_it(tmp_path: Path) -> None:
    asked = plan(target={"external": EXTERNAL}, client={"auth": "password"})
    with pytest.raises(LocalRunError, match=r"bastion.example.com by password .*--password-file FILE"):
        asyncio.run(prepare(asked, NOTHING, tmp_path))


def test_workers_are_told_of_the_files_that_were_named(tmp_path: Path) -> None:
    given = Credentials(**written(tmp_path, "identity", "certificate", "passphrase_file", "known_hosts"))
    external = {**EXTERNAL, "encryptedKey": True}
    asyncio.run(
        prepare(
            plan(target={"external": external}, client={"auth": "certificate"}),
            replace(NOTHING, target=given),
            tmp_path,
        )
    )
    target = told(tmp_path).target
    assert (target.auth, target.private_key_path) == ("certificate", str(tmp_path / "identity"))
    assert target.certificate_path == str(tmp_path / "certificate")
    assert target.passphrase_path == str(tmp_path / "passphrase_file")
    assert target.known_hosts_path == str(tmp_path / "known_hosts")
    assert target.password_path == ""


def test_each_jump_host_has_files_of_its_own_and_the_common_host_keys(tmp_path: Path) -> None:
    files = written(tmp_path, "identity", "known_hosts", "password_file")
    own = replace(
        NOTHING,
        target=Credentials(identity=files["identity"], known_hosts=files["known_hosts"]),
        via={"192.0.2.7": Credentials(password_file=files["password_file"])},
    )
    via = [{**EXTERNAL, "host": "192.0.2.7", "auth": "password"}]
    asyncio.run(prepare(plan(target={"external": EXTERNAL}, via=via), own, tmp_path))
    (hop,) = told(tmp_path).via
    assert (hop.host, hop.auth, hop.password_path) == ("192.0.2.7", "password", str(tmp_path / "password_file"))
    assert hop.known_hosts_path == str(tmp_path / "known_hosts")
    assert hop.private_key_path == ""


def test_the_targets_credentials_are_never_shown_to_a_jump_host(tmp_path: Path) -> None:
    files = written(tmp_path, "identity", "known_hosts")
    own = replace(NOTHING, target=Credentials(**files))
    asked = plan(target={"external": EXTERNAL}, via=[{**EXTERNAL, "host": "192.0.2.7"}])
    with pytest.raises(LocalRunError, match=r"--via-identity 192.0.2.7=FILE"):
        asyncio.run(prepare(asked, own, tmp_path))


def test_files_for_a_jump_host_that_the_test_does_not_have_are_refused(tmp_path: Path) -> None:
    own = replace(NOTHING, via={"elsewhere": Credentials()})
    with pytest.raises(LocalRunError, match=r"elsewhere, but spec.via has no jump host of that name"):
        asyncio.run(prepare(plan(), own, tmp_path))


def test_a_test_of_several_takes_the_files_of_its_own_jump_hosts_and_refuses_those_that_no_test_has() -> None:
    own = replace(NOTHING, via={host: Credentials() for host in ("mine", "another's", "nobody's")})
    assert set(own.without_jump_hosts_of_others({"mine"}, {"mine", "another's"}).via) == {"mine", "nobody's"}


def test_a_managed_target_takes_the_certificate_that_is_made_for_it(tmp_path: Path) -> None:
    asyncio.run(prepare(plan(client={"auth": "certificate"}), NOTHING, tmp_path))
    target = told(tmp_path).target
    assert Path(target.certificate_path).read_text().startswith("ssh-ed25519-cert-v01@openssh.com ")


def test_a_locustfile_is_taken_from_the_config_map_beside_the_test(tmp_path: Path) -> None:
    test_file = tmp_path / "test.yaml"
    test_file.write_text(CONFIG_MAP)
    asyncio.run(prepare(plan(scenario=LOCUSTFILE), replace(NOTHING, test=test_file), tmp_path))
    assert Path(told(tmp_path).scenario.locustfile_path).read_text() == "import sshload_worker"


def test_a_locustfile_that_is_named_is_taken_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text("")
    asyncio.run(prepare(plan(scenario=LOCUSTFILE), replace(NOTHING, files={"locustfile.py": own}), tmp_path))
    assert told(tmp_path).scenario.locustfile_path == str(own)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="no ConfigMap"),
        pytest.param(CONFIG_MAP.replace("name: own-users", "name: others"), id="another name"),
        pytest.param(CONFIG_MAP.replace("own-users}", "own-users, namespace: other}"), id="another namespace"),
        pytest.param(CONFIG_MAP.replace("users.py", "others.py"), id="another key"),
    ],
)
def test_a_locustfile_that_is_nowhere_is_asked_for(text: str, tmp_path: Path) -> None:
    test_file = tmp_path / "test.yaml"
    test_file.write_text(text)
    with pytest.raises(LocalRunError, match=r"users.py of the ConfigMap own-users: .*--locustfile FILE"):
        asyncio.run(prepare(plan(scenario=LOCUSTFILE), replace(NOTHING, test=test_file), tmp_path))


@pytest.mark.parametrize(
    ("steps", "noted"),
    [
        pytest.param([{"sftpWrite": {"path": "up", "size": "1k"}}], True, id="a write that stays"),
        pytest.param(
            [
                {"sftpWrite": {"name": "put", "path": "up", "size": "1k"}},
                {"sftpRemove": {"name": "remove", "path": "up"}},
            ],
            False,
            id="a write that is removed",
        ),
    ],
)
def test_what_stays_in_the_users_home_is_said(steps: list[Any], noted: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of pytest's
    notes = asyncio.run(prepare(plan(scenario={"steps": steps}), NOTHING, tmp_path)).notes
    assert any("stays in" in note for note in notes) is noted


def test_a_pod_is_one_process_here_too_which_starts_the_others(tmp_path: Path) -> None:
    local = asyncio.run(prepare(plan(workers={"replicas": 2, "processesPerPod": 3}), NOTHING, tmp_path))
    assert [process.name for process in local.processes if process.name.startswith("worker")] == [
        "worker-0",
        "worker-1",
    ]
    assert (told(tmp_path).workers, told(tmp_path).processes_per_pod) == (6, 3)


def test_through_a_proxy_the_gateway_is_reached_which_alone_logs_in(tmp_path: Path) -> None:
    both = {"proxy": {"kind": "nginx"}, "gateway": {"policy": "pool"}}
    local = asyncio.run(prepare(plan(target={"managed": both}), NOTHING, tmp_path))
    assert [process.name for process in local.processes][:3] == ["target", "proxy", "gateway"]
    proxy, gateway = (from_json(ProgramConfig, (tmp_path / f"{name}.json").read_text()) for name in InPath)
    sshd = from_json(TargetConfig, (tmp_path / "target.json").read_text()).sshd_port
    assert told(tmp_path).target.port == proxy.port
    assert f"@SERVER@:{gateway.port}" in proxy.config
    credential = json.loads((tmp_path / "keys/gateway_credential.json").read_text())
    assert credential["port"] == sshd
    assert (tmp_path / "keys/known_hosts").read_text().startswith(f"[127.0.0.1]:{sshd} ")


def test_the_key_that_seals_is_in_a_folder_of_its_own_for_its_owner_only(tmp_path: Path) -> None:
    asyncio.run(prepare(plan(target={"managed": {"gateway": {"policy": "pool"}}}), NOTHING, tmp_path))
    sealing = tmp_path / "keys/sealing"
    assert [path.name for path in sealing.iterdir()] == ["gateway_sealing_key"]
    assert sealing.stat().st_mode & 0o777 == 0o700
