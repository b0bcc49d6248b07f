"""One iteration of the scenario: a login, its steps, and exactly one outcome, whatever happens."""

from dataclasses import dataclass
from functools import partial
from time import monotonic_ns

from gevent import GreenletExit
from sshload_contract.run_config import ScenarioStep
from sshload_contract.vocabulary import Outcome, Step

from sshload_worker.clients.ssh2 import Login, SSH2Connection
from sshload_worker.outcomes import StepFailure
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.step_clock import Due, StepClock
from sshload_worker.scenario.steps import run_step


@dataclass(frozen=True, slots=True)
class Iteration:
    """What every iteration does. TOTAL's latency counts from when it was due, the steps' from their own begin."""

    login: Login
    steps: tuple[ScenarioStep, ...]
    recorder: Recorder

    def run(self, due: Due) -> None:
        """Run once and count it. A kill of the greenlet ends the iteration as UNFINISHED, and goes on."""
        self.recorder.started(due.window, monotonic_ns() - due.at_ns)
        clock = StepClock(self.recorder, due)
        clock.record(str(Step.START_DELAY), due.at_ns, Outcome.OK)
        outcome, message = Outcome.GENERATOR_FAULT, "the worker met an error of its own: its log has the traceback"
        connection = None
        try:
            connection = SSH2Connection(self.login)
            self._scenario(connection, clock)
            outcome, message = Outcome.OK, ""
        except StepFailure as failure:
            outcome, message = failure.outcome, failure.message
        except OSError as error:
            message = f"no socket to be had: {error.strerror}"
        except GreenletExit:
            outcome, message = Outcome.UNFINISHED, "still running at the end of the drain"
            raise
        finally:
            clock.total(outcome, message)
            if connection is not None:
                connection.close()

    def _scenario(self, connection: SSH2Connection, clock: StepClock) -> None:
        clock.timed(str(Step.LOGIN), partial(_log_in, connection, clock))
        self.recorder.login(connection.negotiated())
        for step in self.steps:
            run_step(step, connection, clock)


def _log_in(connection: SSH2Connection, clock: StepClock) -> None:
    clock.timed(str(Step.CONNECT), connection.connect)
    clock.timed(str(Step.BANNER), connection.banner)
    clock.timed(str(Step.KEX), connection.kex)
    clock.timed(str(Step.AUTH), connection.auth)
