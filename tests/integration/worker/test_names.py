"""Names of the target in a mount namespace of the run's own, whose /etc/hosts says what they mean."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from run_configs import arrivals, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome, RunEnd
from sshload_contract.wire.run_config import RunConfig
from sshload_worker.scenario.target_login import resolve
from whole_run import whole_run

NAME = "farm.example.org"


def launcher(folder: Path, *addresses: str) -> list[str]:
    hosts = folder / "hosts"
    hosts.write_text("".join(f"{address} {NAME}\n" for address in addresses))
    return ["unshare", "--mount", "sh", "-ec", f'mount --bind {hosts} /etc/hosts; exec "$@"', "sh"]


def config_of(server: SshServer, workers: int = 1) -> RunConfig:
    target = replace(endpoint(server), host=NAME, known_hosts_path="")
    return run_config(target, arrivals(10, 2.0), workers=workers)


@pytest.fixture
def farm(start_sshd: Callable[[str], SshServer]) -> SshServer:
    """A server at nine addresses."""
    return start_sshd("".join(f"ListenAddress 127.0.0.{last}\n" for last in range(1, 10)) + "LogLevel VERBOSE")


@pytest.mark.root
def test_connections_take_the_ten_addresses_of_a_name_in_turn_and_one_where_nobody_listens_counts_as_refusing(
    farm: SshServer, tmp_path: Path
) -> None:
    nobodys, *addresses = ["127.0.0.99", *(f"127.0.0.{last}" for last in range(1, 10))]
    with whole_run(tmp_path, config_of(farm), launcher=launcher(tmp_path, *addresses, nobodys)) as run:
        summary = run.summary()
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert (summary.trial.load.succeeded, summary.trial.load.failed) == (18, 2), summary.trial.errors
    assert farm.logins_by_address() == dict.fromkeys(addresses, 2)
    (error,) = summary.trial.errors
    assert error.outcome is Outcome.REFUSED


@pytest.mark.root
def test_each_worker_begins_with_another_address(farm: SshServer, tmp_path: Path) -> None:
    config = replace(config_of(farm, workers=2), load=arrivals(2, 1.0))
    with whole_run(tmp_path, config, launcher=launcher(tmp_path, "127.0.0.1", "127.0.0.2")) as run:
        summary = run.summary()
    assert summary.trial.load.succeeded == 2, summary.trial.errors
    assert farm.logins_by_address() == {"127.0.0.1": 1, "127.0.0.2": 1}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("no-such-host.invalid", id="unknown"),
        pytest.param("a" * 64 + ".example.org", id="a label that is too long"),
        pytest.param(".example.org", id="an empty label"),
        pytest.param("two words", id="two words"),
    ],
)
def test_a_name_that_does_not_resolve_is_told_and_asked_for_again(sshd: SshServer, name: str) -> None:
    problems: list[str] = []

    class EnoughError(Exception):
        pass

    def tell(problem: str) -> None:
        problems.append(problem)
        if len(problems) > 1:
            raise EnoughError

    with pytest.raises(EnoughError):
        resolve(replace(endpoint(sshd), host=name), tell)
    assert all(problem.startswith(f"{name}: ") for problem in problems)


def test_an_ipv6_target_is_reached(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    server = start_sshd("ListenAddress ::1")
    config = replace(config_of(server), target=replace(endpoint(server), host="::1", known_hosts_path=""))
    with whole_run(tmp_path, config) as run:
        summary = run.summary()
    assert summary.trial.load.succeeded == 20, summary.trial.errors
