"""The worker: joins its master, generates its share of the load from the start order on, and reports."""

import gc
import logging
from itertools import count
from time import monotonic, monotonic_ns
from typing import Any

import gevent
from gevent.event import Event
from locust import runners
from locust.env import Environment
from sshload_contract.codec import to_json
from sshload_contract.run_config import RunConfig

from sshload_worker.coordination import messages
from sshload_worker.coordination.dial import dial_until_accepted
from sshload_worker.locustfile.crowd import Crowd
from sshload_worker.locustfile.crowd_sessions import CrowdSessions
from sshload_worker.locustfile.load_users import load_users
from sshload_worker.locustfile.request_events import STEPS, SummedRequests
from sshload_worker.login.fault import GeneratorFaultError
from sshload_worker.login.login import Login
from sshload_worker.pacing.generator import Generator
from sshload_worker.pacing.load import Share
from sshload_worker.recording.health import HealthMonitor
from sshload_worker.recording.port_board import PortBoard
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.iteration import Iteration
from sshload_worker.scenario.log_in import LogIn
from sshload_worker.scenario.session_reuse import make_sessions
from sshload_worker.scenario.target_login import first_hop, prepare_login, resolve

REPORT_INTERVAL_S = 0.5
HEARTBEAT_TIMEOUT_S = 5.0
_WATCH_INTERVAL_S = 0.5
_PROBLEM_INTERVAL_S = 1.0
_END_TIMEOUT_S = 10.0
_LINGER_MS = 500
_NS_PER_S = 1_000_000_000

log = logging.getLogger(__name__)


class Worker:
    """One worker process of one run. `index` is its own among all, `ports` the board of its pod's processes."""

    def __init__(self, config: RunConfig, index: int, ports: PortBoard) -> None:
        self._config = config
        self._index = index
        self._ports = ports
        self._environment: Any = Environment()
        self._recorder = Recorder(config.run_id, index, SummedRequests(self._environment), STEPS)
        self._health = HealthMonitor()
        self._crowd: Crowd | None = None
        self._generator: Generator | None = None
        self._start_order: dict[str, Any] | None = None
        self._woken = Event()
        self._ordered_to_end = Event()
        self._leave_reason = ""
        self._heartbeat_s = monotonic()
        self._runner: Any = None

    def run(self, master_host: str, master_port: int) -> int:
        """Join the master and do as it says; return the process's exit code, 0 after an end that it ordered."""
        joining = gevent.spawn(self._join, master_host, master_port)
        joining.link(lambda _: self._woken.set())
        if not self._woken.wait(self._config.workers_timeout_s):
            self._leave_reason = f"no master within {self._config.workers_timeout_s:g} s"
        if self._leave_reason:
            joining.kill()
            log.error("%s", self._leave_reason)
            return 1
        joining.get()
        self._woken.clear()
        self._take_part()
        if self._leave_reason:
            log.error("%s", self._leave_reason)
        self._runner.greenlet.kill()
        self._runner.client.close(linger=_LINGER_MS)
        return 1 if self._leave_reason else 0

    def leave(self, reason: str) -> None:
        """Stop what runs, tell the master why this worker goes, and end `run` with an exit code other than 0."""
        self._leave_reason = reason
        if self._runner is not None:
            # Before the final report, which would else pass for that of a worker that has done all its work.
            self._send(messages.LEAVE, worker=self._index, message=reason)
        self._ordered_to_end.set()
        self._stop()

    def _join(self, master_host: str, master_port: int) -> None:
        dial_until_accepted(master_host, master_port, lambda problem: log.debug("no master yet: %s", problem))
        runners.WORKER_LOG_REPORT_INTERVAL = -1  # our logs are the pod's
        self._environment.events.heartbeat_received.add_listener(self._on_heartbeat)
        self._runner = self._environment.create_worker_runner(master_host, master_port)
        self._runner.register_message(messages.START, self._on_start)
        self._runner.register_message(messages.STOP, self._on_stop)
        self._runner.register_message(messages.END, self._on_end)
        self._heartbeat_s = monotonic()
        gevent.spawn(self._watch_master)

    def _take_part(self) -> None:
        self._send(messages.HELLO, run_id=self._config.run_id, worker=self._index)
        preparation = gevent.spawn(self._prepare)
        preparation.link(lambda _: self._woken.set())
        self._woken.wait()
        if self._ordered_to_end.is_set():
            preparation.kill()
            return
        login = preparation.get()
        if isinstance(login, GeneratorFaultError):
            self._leave_reason = str(login)
            self._send(messages.FAULT, worker=self._index, message=self._leave_reason)
            return
        self._woken.clear()
        gc.collect()
        gc.freeze()  # what the imports left need never be walked again: that would stop the loop for tens of ms
        self._send(messages.READY, worker=self._index)
        self._woken.wait()
        if self._start_order is not None and not self._ordered_to_end.is_set():
            self._generate(login, self._start_order)

    def _prepare(self) -> Login | GeneratorFaultError:
        """Resolve the first hop, and wait for an external one to take connections (the master asks a managed one).

        A fault is returned, because gevent would print the traceback of one that is raised.
        """
        hop = first_hop(self._config)
        problem_s = 0.0

        def tell(problem: str) -> None:
            nonlocal problem_s
            if monotonic() - problem_s >= _PROBLEM_INTERVAL_S:
                problem_s = monotonic()
                self._send(messages.TARGET_PROBLEM, worker=self._index, message=problem)

        addresses = resolve(hop, tell, self._index)
        try:
            login = prepare_login(self._config, addresses)
            self._crowd = self._load_crowd()
        except GeneratorFaultError as fault:
            return fault
        except Exception as error:  # whatever it is, the master is to know at once
            log.exception("the worker met an error of its own")
            return GeneratorFaultError(f"the worker met an error of its own: {type(error).__name__}: {error}")
        if self._index == 0 and not self._config.stats_url:
            dial_until_accepted(str(addresses[0][1][0]), hop.port, tell)
        return login

    def _load_crowd(self) -> Crowd | None:
        path = self._config.scenario.locustfile_path
        seed = f"{self._config.run_id}/{self._index}"
        return Crowd(path, load_users(path), self._environment, seed) if path else None

    def _generate(self, login: Login, order: dict[str, Any]) -> None:
        start_ns = order["received_ns"] + int(order["lead_s"] * _NS_PER_S)
        share = Share(index=self._index, of=order["of"])
        scenario, timeouts = self._config.scenario, self._config.client.timeouts
        pool_part = max(share.part(scenario.pool_sessions), 1)
        held = HeldSessions(LogIn(login, self._recorder), timeouts, self._recorder)
        sessions = make_sessions(scenario, login, self._recorder, pool_part)
        iteration = Iteration(
            worker=self._index,
            sessions=sessions if self._crowd is None else CrowdSessions(sessions, self._crowd),
            steps=scenario.steps,
            timeouts=timeouts,
            recorder=self._recorder,
            numbers=count(),
            task=None if self._crowd is None else self._crowd.run_task,
        )
        self._generator = Generator(self._config, share, iteration, held, start_ns)
        self._health.start()
        reporter = gevent.spawn(self._report_regularly)
        self._generator.run()
        reporter.kill()
        self._report(final=True)
        if not self._ordered_to_end.wait(_END_TIMEOUT_S):
            self._leave_reason = f"the master did not order the end within {_END_TIMEOUT_S:g} s of the final report"

    def _report_regularly(self) -> None:
        while True:
            gevent.sleep(REPORT_INTERVAL_S)
            self._report(final=False)

    def _report(self, *, final: bool) -> None:
        recorder = self._recorder
        health = self._health.health(connections=self._ports.total(recorder.connections), overflows=recorder.overflows)
        self._send(messages.REPORT, report=to_json(recorder.take_report(health, final=final)))

    def _send(self, kind: str, **fields: object) -> None:
        self._runner.send_message(kind, fields)

    def _stop(self) -> None:
        self._woken.set()
        if self._generator is not None:
            gevent.spawn(self._generator.stop)

    def _on_start(self, msg: Any, **_: object) -> None:
        self._start_order = {**msg.data, "received_ns": monotonic_ns()}
        self._woken.set()

    def _on_stop(self, **_: object) -> None:
        self._stop()

    def _on_end(self, **_: object) -> None:
        self._ordered_to_end.set()
        self._stop()

    def _on_heartbeat(self, **_: object) -> None:
        self._heartbeat_s = monotonic()

    def _watch_master(self) -> None:
        """Leave when the master is silent for too long; a time in which this process itself stood still counts not."""
        while True:
            before_s = monotonic()
            gevent.sleep(_WATCH_INTERVAL_S)
            self._heartbeat_s += max(monotonic() - before_s - 2 * _WATCH_INTERVAL_S, 0)
            if monotonic() - self._heartbeat_s > HEARTBEAT_TIMEOUT_S:
                self.leave(f"the master was silent for {HEARTBEAT_TIMEOUT_S:g} s")
                return
