"""From the scenario's session reuse to the Sessions that do it."""

from sshload_contract.run_config import Scenario, SessionReuse

from sshload_worker.login.login import Login
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.log_in import LogIn
from sshload_worker.scenario.session_pool import SessionPool
from sshload_worker.scenario.sessions import SessionPerIteration, Sessions
from sshload_worker.scenario.user_sessions import SessionPerUser


def make_sessions(scenario: Scenario, login: Login, recorder: Recorder, pool_part: int) -> Sessions:
    """Return the worker's sessions. `pool_part` is how many of the pool's sessions are this worker's, 1 at least."""
    match scenario.session_reuse:
        case SessionReuse.NONE:
            return SessionPerIteration(LogIn(login, recorder))
        case SessionReuse.USER:
            return SessionPerUser(LogIn(login, recorder))
        case SessionReuse.POOL:
            return SessionPool(LogIn(login, recorder, shared=True), pool_part)
