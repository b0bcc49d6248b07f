"""The sessions of a run, depending on its target: logins to an SSH server, or connections to a gateway."""

from typing import TYPE_CHECKING

from sshload_contract.wire.run_config import Scenario

from sshload_worker.login.login import Login
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connecting, Connector, Sessions, make_sessions

if TYPE_CHECKING:
    from sshload_worker.clients.gateway.access import GatewayAccess


def target_connector(login: "Login | GatewayAccess", recorder: Recorder) -> Connecting:
    """Return the maker of connections to the target."""
    if isinstance(login, Login):
        return Connector(login, recorder)
    from sshload_worker.scenario.gateway_sessions import GatewayConnector  # noqa: PLC0415 - few targets are gateways

    return GatewayConnector(login, recorder)


def target_sessions(scenario: Scenario, login: "Login | GatewayAccess", recorder: Recorder, pool_part: int) -> Sessions:
    """Return the worker's sessions. `pool_part` is how many of the pool's sessions are this worker's, at least 1."""
    if isinstance(login, Login):
        return make_sessions(scenario, login, recorder, pool_part)
    from sshload_worker.scenario.gateway_sessions import make_gateway_sessions  # noqa: PLC0415 - likewise

    return make_gateway_sessions(scenario, login, recorder, pool_part)
