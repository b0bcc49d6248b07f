"""How a worker uses its target: it logs in to an SSH server; what other kinds of target are for is in their modules."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol

from sshload_contract.wire.report import LoginFailure
from sshload_contract.wire.run_config import Endpoint, RunConfig, Scenario

from sshload_worker.login.login import Address, InTurn, Login
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.first_login import (
    OnProblem,
    better_kex,
    dial_until_banner,
    log_in_once,
    log_in_once_by_code,
)
from sshload_worker.scenario.sessions import Connecting, Connector, Sessions, make_sessions
from sshload_worker.scenario.target_login import prepare_login

_MODULES: Final = {"gateway": "sshload_worker.scenario.gateway_sessions"}
"""By the kind of an endpoint, the module whose `prepare` does what `prepare_target` does."""


class Target(Protocol):
    """What a worker asks of its target."""

    @property
    def population(self) -> InTurn | None:
        """The users who log in to it, if there are several."""

    def connector(self, recorder: Recorder) -> Connecting:
        """Return the maker of connections to it."""

    def sessions(self, scenario: Scenario, recorder: Recorder, pool: Sequence[int]) -> Sessions:
        """Return the worker's sessions. `pool` are the numbers of the pool's that are this worker's, at least one."""

    def wait_until_usable(self, opened: int, host: str, port: int, tell: OnProblem) -> bool:
        """Wait until it takes a trial after one of `opened` connections, at its first hop; False: nothing was asked."""

    def use_once(self, worker: int, tell: OnProblem) -> LoginFailure | None:
        """Do once what iterations begin with; return why this failed, or None. Problems that may pass are reported."""

    def better_kex(self) -> str | None:
        """Return what RunSummary.better_kex is."""


@dataclass(frozen=True, slots=True)
class SshServer:
    """An SSH server, the first hop to which is at `addresses`."""

    login: Login
    addresses: tuple[Address, ...]

    @property
    def population(self) -> InTurn | None:
        """The users who log in to it, if there are several."""
        return self.login.population

    def connector(self, recorder: Recorder) -> Connecting:
        """Return what logs in."""
        return Connector(self.login, recorder)

    def sessions(self, scenario: Scenario, recorder: Recorder, pool: Sequence[int]) -> Sessions:
        """Return the logins that iterations share as the scenario has it. A load begins with it."""
        self.login.begin()
        return make_sessions(scenario, self.login, recorder, pool)

    def wait_until_usable(self, opened: int, host: str, port: int, tell: OnProblem) -> bool:
        """Wait for its version: it may still have too many connections of the trial, or penalise their sources."""
        if opened:
            dial_until_banner(host, port, tell)
        return opened > 0

    def use_once(self, worker: int, tell: OnProblem) -> LoginFailure | None:
        """Log in to each server of the path."""
        log_in = log_in_once_by_code if self.login.client.answers_by_codes else log_in_once
        return log_in(worker, self.login, self.addresses, tell)

    def better_kex(self) -> str | None:
        """Return what the server lists."""
        return better_kex(self.login, self.addresses)


def prepare_target(config: RunConfig, addresses: tuple[Address, ...]) -> Target:
    """Return the configured target, the first hop to which is at `addresses`.

    Raises GeneratorFaultError if it cannot be prepared.
    """
    if isinstance(config.target, Endpoint):
        return SshServer(prepare_login(config, addresses), addresses)
    # Imported here because few targets are of these kinds.
    target: Target = import_module(_MODULES[config.target.kind]).prepare(config, addresses)
    return target
