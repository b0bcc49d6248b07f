"""The worker: joins its master, generates its share of each trial's load when ordered to, and reports."""

import gc
import logging
from itertools import count
from time import monotonic, monotonic_ns
from typing import TYPE_CHECKING, Any

import gevent
from gevent.event import Event
from locust import runners
from locust.env import Environment
from sshload_contract.vocabulary import Outcome, Trait
from sshload_contract.wire.codec import to_json, to_plain
from sshload_contract.wire.report import LoginFailure, Report
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.coordination import messages
from sshload_worker.coordination.messages import flush_and_close
from sshload_worker.coordination.processes import PortBoard
from sshload_worker.coordination.trial_part import TrialPart, WorkerContext
from sshload_worker.locust_runner.request_events import SummedRequests
from sshload_worker.outcomes import GeneratorFaultError, TargetNotAllowedError
from sshload_worker.pacing.replay import read_checked_trace
from sshload_worker.pacing.share import Share, TrialOrder
from sshload_worker.recording.health import TIME_WAIT_S, has_port_room
from sshload_worker.scenario.first_login import (
    UnreachableError,
    dial_until_accepted,
    patience_s,
    unreachable_failure,
    wait_within,
)
from sshload_worker.scenario.target_login import first_hop, resolve_first_hop, wait_for_kdcs
from sshload_worker.scenario.target_sessions import Target, prepare_target

if TYPE_CHECKING:
    from sshload_worker.locustfile.locust_users import LocustUsers
    from sshload_worker.login.login import Address

Refusal = GeneratorFaultError | TargetNotAllowedError | LoginFailure
"""Why a worker cannot take part in the load."""

_WATCH_INTERVAL_S = 0.5
_PROBLEM_INTERVAL_S = 1.0
_PORTS_POLL_S = 0.5
_LINGER_MS = 500
_NS_PER_S = 1_000_000_000
_LOGIN_SPACE_S = 0.1
_ALL_LOGINS_BEGIN_WITHIN_S = 2.0
"""Workers log in one after the other, all within this time, because sshd accepts few at once (MaxStartups)."""

log = logging.getLogger(__name__)


class Worker:
    """One worker process of one run. `index` is its number among all, `ports` the board of its pod's processes."""

    def __init__(self, config: RunConfig, index: int, ports: PortBoard) -> None:
        self._config = config
        self._index = index
        self._ports = ports
        self._environment: Any = Environment()
        self._listener = SummedRequests(self._environment)
        self._addresses: tuple[Address, ...] = ()
        self._part: TrialPart | None = None
        self._order: dict[str, Any] = {}
        self._ordered_to_log_in = Event()
        self._ordered_to_start = Event()
        self._another_trial = Event()
        self._ordered_to_end = Event()
        self._leave_reason = ""
        self._problem_s = 0.0
        self._heartbeat_s = monotonic()
        self._runner: Any = None

    def run(self, master_host: str, master_port: int) -> int:
        """Join the master and follow its orders; return the process's exit code, 0 after an ordered end."""
        joining = gevent.spawn(self._join, master_host, master_port)
        self._wait_for(joining, self._config.workers_timeout_s)
        if not joining.ready() and not self._leave_reason:
            self._leave_reason = f"no master within {self._config.workers_timeout_s:g} s"
        if self._leave_reason:
            joining.kill()
            log.error("%s", self._leave_reason)
            return 1
        joining.get()
        self._run_trials()
        if self._leave_reason:
            log.error("%s", self._leave_reason)
        self._runner.greenlet.kill()
        flush_and_close(self._runner.client, _LINGER_MS)
        return 1 if self._leave_reason else 0

    def leave(self, reason: str) -> None:
        """Stop the load, tell the master why this worker leaves, and end `run` with an exit code other than 0."""
        self._leave_reason = reason
        if self._runner is not None:
            # Sent before the final report, which would otherwise look like that of a worker that has done all its work.
            self._send(messages.LEAVE, worker=self._index, message=reason)
        self._ordered_to_end.set()
        self._stop()

    def _join(self, master_host: str, master_port: int) -> None:
        dial_until_accepted(master_host, master_port, lambda problem: log.debug("no master yet: %s", problem))
        runners.WORKER_LOG_REPORT_INTERVAL = -1  # do not send the logs to the master: they are the pod's logs
        self._environment.events.heartbeat_received.add_listener(self._on_heartbeat)
        self._runner = self._environment.create_worker_runner(master_host, master_port)
        self._runner.register_message(messages.LOG_IN, self._on_log_in)
        self._runner.register_message(messages.START, self._on_start)
        self._runner.register_message(messages.FINISH, self._on_finish)
        self._runner.register_message(messages.STOP, self._on_stop)
        self._runner.register_message(messages.AGAIN, self._on_again)
        self._runner.register_message(messages.END, self._on_end)
        self._heartbeat_s = monotonic()
        gevent.spawn(self._watch_master)

    def _run_trials(self) -> None:
        """Prepare and generate one trial after the other, until the end is ordered."""
        self._send(messages.HELLO, run_id=self._config.run_id, worker=self._index)
        preparation = gevent.spawn(self._prepare)
        if not self._wait_unless_ended(preparation):
            preparation.kill()
            return
        equipment = preparation.get()
        if not isinstance(equipment, WorkerContext):
            self._report_refusal(equipment)
            return
        if not self._prepare_trial(equipment.target, 0) or not self._log_in_first(equipment.target):
            return
        while self._wait_unless_ended(self._ordered_to_start):
            self._another_trial.clear()
            opened = self._generate(equipment)
            if not (self._wait_unless_ended(self._another_trial) and self._prepare_trial(equipment.target, opened)):
                return

    def _report_refusal(self, why: Refusal) -> None:
        """Tell the master why this worker cannot take part. A failed login is not a fault of the worker."""
        if isinstance(why, LoginFailure) and why.outcome is not Outcome.GENERATOR_FAULT:
            self._send(messages.LOGIN_FAILED, **to_plain(why))
            self._ordered_to_end.wait()
            return
        self._leave_reason = why.message if isinstance(why, LoginFailure) else str(why)
        kind = messages.NOT_ALLOWED if isinstance(why, TargetNotAllowedError) else messages.FAULT
        self._send(kind, worker=self._index, message=self._leave_reason)

    def _wait_unless_ended(self, awaited: "gevent.Greenlet[..., Any] | Event") -> bool:
        """Wait for `awaited`; return False if this worker's end was ordered."""
        self._wait_for(awaited)
        return not self._ordered_to_end.is_set()

    def _wait_for(self, awaited: Any, timeout_s: float | None = None) -> None:
        """Wait for `awaited`, or for the order to end."""
        gevent.wait([awaited, self._ordered_to_end], timeout=timeout_s, count=1)

    def _prepare(self) -> WorkerContext | Refusal:
        """Resolve the first hop, and read what logins need.

        A failure is returned, because gevent would print the traceback of an exception.
        """
        try:
            trace = read_checked_trace(self._config)
            self._addresses = self._resolve()
            wait_for_kdcs(self._config, self._report_problem)
            target = prepare_target(self._config, self._addresses)
            if target.population is not None:
                target.population.prepare(range(self._index, len(target.population), self._config.workers))
            return WorkerContext(
                run=self._config,
                target=target,
                locust_users=self._load_locust_users(),
                listener=self._listener,
                numbers=count(),
                ports=self._ports,
                trace=trace,
            )
        except UnreachableError as problem:
            return self._not_reached(str(problem), None)
        except (GeneratorFaultError, TargetNotAllowedError) as fault:
            return fault
        except Exception as error:  # the master must know of any error at once
            log.exception("internal error of the worker")
            return GeneratorFaultError(f"internal error of the worker: {type(error).__name__}: {error}")

    def _resolve(self) -> "tuple[Address, ...]":
        """Resolve a managed target's name without a limit, as the master limits it, any other for `patience_s`."""
        if first_hop(self._config) is self._config.target and self._config.is_managed:
            return resolve_first_hop(self._config, self._report_problem, self._index)
        patient_s = patience_s(self._config.client.timeouts)
        return wait_within(
            patient_s, lambda tell: resolve_first_hop(self._config, tell, self._index), self._report_problem
        )

    def _not_reached(self, why: str, outcome: Outcome | None) -> LoginFailure:
        behind = bool(self._config.via)
        return unreachable_failure(self._index, first_hop(self._config), behind=behind, outcome=outcome, why=why)

    def _load_locust_users(self) -> "LocustUsers | None":
        path = self._config.scenario.locustfile_path
        if not path:
            return None
        from sshload_worker.locustfile.locust_users import LocustUsers, load_users  # noqa: PLC0415 - imports all Locust

        seed = f"{self._config.run_id}/{self._index}"
        return LocustUsers(path, load_users(path), self._environment, seed)

    def _prepare_trial(self, target: Target, opened: int) -> bool:
        """Prepare for a trial like the last one, which took `opened` connections; return False if none follows."""
        room = gevent.spawn(self._await_ports_and_target, target, opened)
        if not self._wait_unless_ended(room):
            room.kill()
            return False
        failure = room.get()
        if failure is not None:
            self._report_refusal(failure)
            return False
        gc.collect()
        gc.freeze()  # what is left need not be walked again, which would stop the loop for tens of ms
        self._ordered_to_start.clear()
        self._send(messages.READY, worker=self._index)
        return True

    def _await_ports_and_target(self, target: Target, opened: int) -> LoginFailure | None:
        """Wait for ports for as many connections as before, as long as closed ones keep them, and for the target.

        Before the first trial, one worker checks that an external target accepts connections, unless all workers log in
        before the load. (The master checks a managed target.) After a trial, each worker waits until the target takes
        another.
        """
        host, port = str(self._addresses[0][1][0]), first_hop(self._config).port
        deadline_s = monotonic() + TIME_WAIT_S
        while monotonic() < deadline_s and not has_port_room(opened * self._config.processes_per_pod, port):
            gevent.sleep(_PORTS_POLL_S)
        if target.wait_until_usable(opened, host, port, self._report_problem):
            return None
        if self._index == 0 and not self._config.is_managed and not self._config.log_in_first:
            patient_s = patience_s(self._config.client.timeouts)
            try:
                wait_within(patient_s, lambda tell: dial_until_accepted(host, port, tell), self._report_problem)
            except UnreachableError as problem:
                return self._not_reached(str(problem), Outcome.CONNECT_FAILED)
        return None

    def _log_in_first(self, target: Target) -> bool:
        """Log in once when the master orders it, if the run is configured so; return False if no trial follows."""
        if not self._config.log_in_first:
            return True
        logging_in = gevent.spawn(self._log_in_when_ordered, target)
        if not self._wait_unless_ended(logging_in):
            logging_in.kill()
            return False
        failure = logging_in.get()
        if failure is not None and failure.outcome not in Outcome.having(Trait.OVERLOAD):
            self._report_refusal(failure)
            return False
        is_first = self._index == 0 and failure is None
        better = target.better_kex() if is_first else None
        self._send(messages.LOGGED_IN, worker=self._index, accepted=failure is None, better_kex=better)
        return True

    def _log_in_when_ordered(self, target: Target) -> LoginFailure | None:
        self._ordered_to_log_in.wait()
        gevent.sleep(self._index * min(_LOGIN_SPACE_S, _ALL_LOGINS_BEGIN_WITHIN_S / self._config.workers))
        return target.use_once(self._index, self._report_problem)

    def _generate(self, equipment: WorkerContext) -> int:
        """Generate this worker's share of the ordered trial; return how many connections it took."""
        order = self._order
        trial = TrialOrder(number=order["trial"], amount=order["amount"])
        share = Share(index=self._index, of=order["of"])
        start_ns = order["received_ns"] + int(order["lead_s"] * _NS_PER_S)
        self._part = TrialPart(equipment, trial, share, start_ns, self._report)
        self._part.tell_of_used_up_users(
            lambda after_s: self._send(messages.FINISHED, worker=self._index, after_s=after_s)
        )
        self._part.run()
        return self._part.opened

    def _report(self, report: Report) -> None:
        self._send(messages.REPORT, report=to_json(report))

    def _report_problem(self, problem: str) -> None:
        """Tell the master why the target cannot be reached yet, at most once a second."""
        if monotonic() - self._problem_s >= _PROBLEM_INTERVAL_S:
            self._problem_s = monotonic()
            self._send(messages.TARGET_PROBLEM, worker=self._index, message=problem)

    def _send(self, kind: str, **fields: object) -> None:
        self._runner.send_message(kind, fields)

    def _finish(self, part: TrialPart) -> None:
        self._send(messages.FINISHED, worker=self._index, after_s=part.finish())

    def _finish_and_stop(self, part: TrialPart) -> None:
        self._finish(part)  # to end what is in progress takes time, which is no part of the load
        part.stop()

    def _stop(self) -> None:
        if self._part is not None:
            gevent.spawn(self._part.stop)

    def _on_log_in(self, **_: object) -> None:
        self._ordered_to_log_in.set()

    def _on_start(self, msg: Any, **_: object) -> None:
        self._order = {**msg.data, "received_ns": monotonic_ns()}
        self._ordered_to_start.set()

    def _on_finish(self, **_: object) -> None:
        if self._part is not None:
            gevent.spawn(self._finish, self._part)

    def _on_stop(self, **_: object) -> None:
        if self._part is not None:
            gevent.spawn(self._finish_and_stop, self._part)

    def _on_again(self, **_: object) -> None:
        self._another_trial.set()

    def _on_end(self, **_: object) -> None:
        self._ordered_to_end.set()
        self._stop()

    def _on_heartbeat(self, **_: object) -> None:
        self._heartbeat_s = monotonic()

    def _watch_master(self) -> None:
        """Leave when the master is silent for too long. Time in which this process did not run does not count."""
        while True:
            before_s = monotonic()
            gevent.sleep(_WATCH_INTERVAL_S)
            self._heartbeat_s += max(monotonic() - before_s - 2 * _WATCH_INTERVAL_S, 0)
            if monotonic() - self._heartbeat_s > messages.LOST_AFTER_S:
                self.leave(f"the master was silent for {messages.LOST_AFTER_S:g} s")
                return
