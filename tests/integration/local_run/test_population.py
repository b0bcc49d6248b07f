"""A population logs in by a real run to a real sshd with real accounts, and sshd's log agrees user by user."""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from local_cli import measured, write_test
from running_target import RunningTarget, ready_target
from sshload_contract.population import Population
from system_target import make_system_folder, population_of

pytestmark = pytest.mark.root
USERS = 12
HOME = {"exec": {"command": 'test "$(id -un) $PWD" = "{user} /home/{user}"'}}
"""A command that succeeds for the user whose name it has, alone in their home."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """A server with accounts, which is external to the runs. `known_hosts` has its host key."""

    target: RunningTarget
    known_hosts: Path

    @property
    def population(self) -> Population:
        return population_of(self.target.folder)

    def spec(self, **client: Any) -> dict[str, Any]:
        external = {"host": "127.0.0.1", "port": self.target.folder.config.sshd_port}
        return {"target": {"external": {**external, "knownHostsSecretRef": {"name": "hosts"}}}, "client": client}

    def options(self, *others: str | Path) -> list[str | Path]:
        return ["--allow-target", "127.0.0.1", "--known-hosts", self.known_hosts, *others]


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Accounts]:
    folder = make_system_folder(tmp_path_factory.mktemp("accounts"), USERS, sshd_config="MaxStartups 100:30:100\n")
    with ready_target(folder) as running:
        known_hosts = folder.path / "known_hosts"
        key = (folder.path / "keys" / "ssh_host_ed25519_key.pub").read_text()
        known_hosts.write_text(f"[127.0.0.1]:{folder.config.sshd_port} {key}")
        yield Accounts(running, known_hosts)


def key_text(population: Population, name: str) -> str:
    private = Ed25519PrivateKey.from_private_bytes(population.key_seed(name))
    return private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def logins(log: str) -> Counter[str]:
    """Return how often sshd accepted each user."""
    return Counter(line.partition(" for ")[2].split()[0] for line in log.splitlines() if line.startswith("Accepted "))


def told_by_place(users: Mapping[str, Any], what: str) -> dict[int, Any]:
    return {one["place"]: one for one in users.get(what, [])}


def test_users_of_a_file_log_in_in_turn_each_in_a_home_of_their_own(accounts: Accounts, tmp_path: Path) -> None:
    before = len(accounts.target.log())
    with (tmp_path / "users.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "key"])
        rows.writerows([name, key_text(accounts.population, name)] for name in accounts.population.names)
    load = {"arrivals": {"rate": 2 * USERS, "duration": "2s"}}
    changes = {"scenario": {"steps": [HOME]}, "load": load, "workers": {"replicas": 2}, "loginBeforeLoad": False}
    test = write_test(tmp_path, **accounts.spec(users={"secretRef": {"name": "users"}}), **changes)
    status = measured(test, *accounts.options("--users", tmp_path / "users.csv")).status
    users = status["results"]["users"]
    assert (status["verdict"], status["results"].get("failures", 0)) == ("Passed", 0), status["message"]
    found = logins(accounts.target.log()[before:])
    assert found.keys() == set(accounts.population.names)
    assert max(found.values()) - min(found.values()) <= 1, "no user twice before all others once"
    assert (users["population"], users["tookPart"]) == (USERS, USERS)
    assert (users["leastLogins"], users["mostLogins"]) == (min(found.values()), max(found.values()))
    assert "user0000" not in json.dumps(status), "names of a file are not told"
    assert {one["logins"] for one in users["slowest"]} <= set(found.values())


def test_who_fails_is_told_by_the_place_in_the_file(accounts: Accounts, tmp_path: Path) -> None:
    before = len(accounts.target.log())
    population = accounts.population
    users = [{"user": name, "password": population.password} for name in list(population.names)[:4]]
    users[2]["password"] = "wrong"
    (tmp_path / "users.yaml.gz").write_bytes(gzip.compress(yaml.safe_dump(users).encode()))
    client = {"auth": "password", "users": {"secretRef": {"name": "users"}, "key": "users.yaml.gz"}}
    load = {"arrivals": {"rate": 4, "duration": "3s"}}
    test = write_test(tmp_path, **accounts.spec(**client), scenario={"steps": [HOME]}, load=load, loginBeforeLoad=False)
    status = measured(test, *accounts.options("--users", tmp_path / "users.yaml.gz")).status
    told = status["results"]["users"]
    assert logins(accounts.target.log()[before:]) == {"user00001": 3, "user00002": 3, "user00004": 3}
    assert (told["tookPart"], told["failed"], told["leastLogins"], told["mostLogins"]) == (4, 1, 0, 3)
    assert told["mostFailures"] == [{"place": 3, "logins": 0, "failures": 3}]
    assert set(told_by_place(told, "slowest")) == {1, 2, 4}
    assert [one["outcome"] for one in status["results"]["errors"]] == ["authRejected"]


def test_a_load_ends_when_each_user_has_logged_in_once(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    spec = {
        "target": {"managed": {"system": {"users": USERS}, "sshd": {"maxStartups": "100:30:100"}}},
        "client": {"users": {"pick": "oncePerUser"}},
        "scenario": {"steps": [HOME]},
        "load": {"arrivals": {"rate": 6, "duration": "1m"}},
        "workers": {"replicas": 2},
        "loginBeforeLoad": False,
    }
    status = measured(write_test(tmp_path, **spec), "--logs", logs).status
    results = status["results"]
    assert status["verdict"] == "Passed", status["message"]
    found = logins((logs / "target.log").read_text())
    assert found == dict.fromkeys((f"user{number:05d}" for number in range(1, USERS + 1)), 1)
    assert (results["iterations"], results["users"]["leastLogins"], results["users"]["mostLogins"]) == (USERS, 1, 1)
    assert "threshold" not in results["endedEarly"]
    assert "each user had logged in once" in status["message"]
    assert results["durationSeconds"] == pytest.approx(USERS / 6, abs=0.5)
    assert {one["name"] for one in results["users"]["slowest"]} <= found.keys()


@pytest.mark.full
def test_a_user_who_is_refused_before_the_load_is_told_by_the_line_of_the_file(
    accounts: Accounts, tmp_path: Path
) -> None:
    right = accounts.population.password
    (tmp_path / "users.csv").write_text(f"user,password\nuser00001,{right}\nuser00002,wrong\n")
    spec = accounts.spec(auth="password", users={"secretRef": {"name": "users"}})
    test = write_test(tmp_path, **spec, workers={"replicas": 2})
    status = measured(test, *accounts.options("--users", tmp_path / "users.csv")).status
    assert status["reason"] == "CredentialsRejected"
    assert "the users of the target, line 3: " in status["message"]
    assert "user00002" not in status["message"]


@pytest.mark.full
@pytest.mark.parametrize("library", ["paramiko", "asyncssh", "openssh"])
def test_each_library_logs_in_as_each_user(accounts: Accounts, tmp_path: Path, library: str) -> None:
    before = len(accounts.target.log())
    rows = [f'{name},"{key_text(accounts.population, name)}"' for name in accounts.population.names]
    (tmp_path / "users.csv").write_text("\n".join(["user,key", *rows]))
    client = {"library": library, "users": {"secretRef": {"name": "users"}}}
    load = {"arrivals": {"rate": 4, "duration": f"{USERS // 2}s"}}
    test = write_test(tmp_path, **accounts.spec(**client), scenario={"steps": [HOME]}, load=load, loginBeforeLoad=False)
    status = measured(test, *accounts.options("--users", tmp_path / "users.csv")).status
    assert status["results"].get("failures", 0) == 0, status["results"]["errors"]
    assert logins(accounts.target.log()[before:]) == dict.fromkeys(accounts.population.names, 2)


_THINKING = {"min": "100ms", "max": "200ms"}
_USERS_LOAD = {"users": {"stages": [{"users": 6, "duration": "4s"}], "thinkTime": _THINKING}}


@pytest.mark.full
@pytest.mark.parametrize(
    ("scenario", "load"),
    [
        pytest.param({"sessionReuse": "user"}, _USERS_LOAD, id="a session of each user of the load"),
        pytest.param({"sessionReuse": "pool", "poolSize": 6}, _USERS_LOAD, id="a pool"),
        pytest.param(
            {},
            {"hold": {"sessions": 6, "rampUp": "2s", "duration": "3s", "probeRate": 1}},
            id="held sessions, with probes in the turns behind theirs",
        ),
    ],
)
def test_sessions_that_stay_open_are_of_different_users(
    tmp_path: Path, scenario: dict[str, Any], load: dict[str, Any]
) -> None:
    spec = {
        "target": {"managed": {"system": {"users": USERS}, "sshd": {"maxStartups": "100:30:100"}}},
        "scenario": {**scenario, "steps": [HOME]},
        "load": load,
        "warmUp": "1s",
        "workers": {"replicas": 2},
        "loginBeforeLoad": False,
    }
    status = measured(write_test(tmp_path, **spec), "--logs", tmp_path / "logs").status
    assert status["verdict"] == "Passed", status["message"]
    found = logins((tmp_path / "logs" / "target.log").read_text())
    assert {f"user{number:05d}" for number in range(1, 7)} <= found.keys()
    if scenario:
        assert found == dict.fromkeys((f"user{number:05d}" for number in range(1, 7)), 1)
    assert status["results"]["users"]["tookPart"] == len(found)


@pytest.mark.full
def test_users_with_numbers_in_their_names_share_a_password_and_come_from_addresses(
    accounts: Accounts, tmp_path: Path
) -> None:
    before = len(accounts.target.log())
    (tmp_path / "password").write_text(accounts.population.password)
    users = {"names": {"pattern": "user{n}", "from": 2, "to": 5, "digits": 5}, "pick": "random", "seed": 3}
    spec = accounts.spec(auth="password", users=users)
    spec["target"]["external"]["credentialsSecretRef"] = {"name": "password"}
    test = write_test(tmp_path, **spec, scenario={"steps": [HOME]}, loginBeforeLoad=False)
    status = measured(test, *accounts.options("--password-file", tmp_path / "password")).status
    found = logins(accounts.target.log()[before:])
    assert found.keys() <= {f"user{number:05d}" for number in range(2, 6)}
    assert {one["name"] for one in status["results"]["users"]["slowest"]} == found.keys()


@pytest.mark.full
def test_each_user_comes_from_the_address_that_the_file_has(accounts: Accounts, tmp_path: Path) -> None:
    before = len(accounts.target.log())
    password = accounts.population.password
    rows = [f"{name},{password},127.0.0.{9 + number}" for number, name in enumerate(accounts.population.names)]
    (tmp_path / "users.csv").write_text("\n".join(["user,password,sourceAddress", *rows]))
    spec = accounts.spec(auth="password", users={"secretRef": {"name": "users"}})
    load = {"arrivals": {"rate": USERS, "duration": "1s"}}
    test = write_test(tmp_path, **spec, load=load, loginBeforeLoad=False)
    status = measured(test, *accounts.options("--users", tmp_path / "users.csv")).status
    assert status["results"].get("failures", 0) == 0, status["results"]["errors"]
    log = accounts.target.log()[before:]
    for number, name in enumerate(accounts.population.names):
        assert f"Accepted password for {name} from 127.0.0.{9 + number} port" in log


@pytest.mark.full
def test_5000_users_log_in_in_one_run_as_sshd_has_it_in_its_log(tmp_path: Path) -> None:
    spec = {
        "target": {"managed": {"system": {"users": 5_000}, "sshd": {"maxStartups": "1000:30:1000"}}},
        "client": {"users": {"pick": "oncePerUser"}},
        "scenario": {"steps": []},
        "load": {"arrivals": {"rate": 15, "duration": "20m"}},
        "workers": {"replicas": 2},
        "loginBeforeLoad": False,
        "deadline": "30m",
    }
    status = measured(write_test(tmp_path, **spec), "--logs", tmp_path / "logs").status
    users = status["results"]["users"]
    found = logins((tmp_path / "logs" / "target.log").read_text())
    assert found == dict.fromkeys((f"user{number:05d}" for number in range(1, 5_001)), 1)
    assert (users["tookPart"], users["leastLogins"], users["mostLogins"]) == (5_000, 1, 1)
