"""The same locustfile under plain Locust: `locust -f FILE --host ssh://user@host:port`.

The private key's path is in $SSHLOAD_PRIVATE_KEY, that of the known hosts in $SSHLOAD_KNOWN_HOSTS. Without the latter
any host key is accepted. Each user logs in once, and again after a failure. There are only Locust's own statistics: no
agreed start, no scheduled times, and no check whether the numbers can be trusted.
"""

import logging
import os
from functools import cache
from itertools import count
from time import monotonic_ns
from typing import Any
from urllib.parse import urlsplit

from sshload_contract.client import Auth, Client, Library, Timeouts
from sshload_contract.steps import WHOLE_STEPS, ScenarioStep
from sshload_contract.vocabulary import Window
from sshload_contract.wire.run_config import Endpoint

from sshload_worker.locust_runner.request_events import RequestPerSample
from sshload_worker.login.login import Login
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.sessions import Connector
from sshload_worker.scenario.step_clock import Due, StepClock
from sshload_worker.scenario.steps.channel import unrestricted
from sshload_worker.scenario.steps.dispatch import run_step
from sshload_worker.scenario.steps.step_run import StepRun
from sshload_worker.scenario.target_login import prepare_login_at, resolve

PRIVATE_KEY_VARIABLE = "SSHLOAD_PRIVATE_KEY"
KNOWN_HOSTS_VARIABLE = "SSHLOAD_KNOWN_HOSTS"
_SSH_PORT = 22
_TIMEOUTS = Timeouts(connect_s=10, banner_s=10, kex_s=10, auth_s=10, channel_s=10, step_s=60)
_CLIENT = Client(
    library=Library.SSH2_PYTHON,
    control_master=False,
    kex_algorithms=(),
    ciphers=(),
    macs=(),
    host_key_algorithms=(),
    compression=False,
    rekey_bytes=None,
    window_bytes=None,
    packet_bytes=None,
    read_buffer_bytes=None,
    sftp_read_bytes=None,
    sftp_write_bytes=None,
    quick_ack=True,
    network_delay_s=0.0,
    timeouts=_TIMEOUTS,
)
_NUMBERS = count()

log = logging.getLogger(__name__)


class PlainSession:
    """The session of one user that Locust itself runs. `environment` and `host` are Locust's."""

    def __init__(self, environment: Any, host: str) -> None:
        self._recorder = Recorder("", 0, RequestPerSample(environment), WHOLE_STEPS)
        self._connector = Connector(_login(host), self._recorder)
        self._step_run: StepRun | None = None

    def run(self, step: ScenarioStep) -> None:
        """Run a step, after a login if there is no session; raises StepFailure if either fails."""
        try:
            if self._step_run is None:
                clock = StepClock(self._recorder, Due(monotonic_ns(), Window.MEASURED))
                connection = self._connector.connect(clock)
                self._step_run = StepRun(connection, clock, _TIMEOUTS, str(next(_NUMBERS)), unrestricted)
            run_step(step, self._step_run)
        except BaseException:  # also if the greenlet is killed
            self.close()
            raise

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._step_run is not None:
            self._connector.disconnect(self._step_run.connection)
            self._step_run = None


@cache
def _login(host: str) -> Login:
    """Return the Login for `host`; raises GeneratorFaultError if it cannot be prepared."""
    place = urlsplit(host)
    if place.scheme != "ssh" or not place.hostname or not place.username:
        raise GeneratorFaultError(f"--host is {host!r}: expected ssh://user@host or ssh://user@host:port")
    if PRIVATE_KEY_VARIABLE not in os.environ:
        raise GeneratorFaultError(f"${PRIVATE_KEY_VARIABLE} must hold the path of the private key")
    target = Endpoint(
        host=place.hostname,
        port=place.port or _SSH_PORT,
        user=place.username,
        auth=Auth.PUBLICKEY,
        private_key_path=os.environ[PRIVATE_KEY_VARIABLE],
        certificate_path="",
        passphrase_path="",
        password_path="",
        known_hosts_path=os.environ.get(KNOWN_HOSTS_VARIABLE, ""),
    )
    return prepare_login_at(target, (), _CLIENT, resolve(target, log.warning))
