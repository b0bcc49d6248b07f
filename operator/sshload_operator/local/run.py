"""`sshload run`: the same test without a cluster, by processes of this machine.

It is the operator's own loop (observe, decide, execute) with processes in place of pods, so that a test ends here in
the same verdict, for the same reason, as it does in a cluster.
"""

import asyncio
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TypeVar
from uuid import uuid4

from sshload_contract.allow_list import AllowedTarget
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.run_summary import RunSummary

from sshload_operator.api.load_test import parse
from sshload_operator.api.load_test_file import Document
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.shapes.reading import read_fitting
from sshload_operator.api.spec import Baseline
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import remembered, written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.capacity.status import capacity_status
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.load_test.decide import TestSubject
from sshload_operator.decision.load_test.results import results_status
from sshload_operator.local.files import MASTER, OwnFiles, prepare
from sshload_operator.local.observe import LocalObserver, TargetCpu
from sshload_operator.local.own_folder import own_folder
from sshload_operator.local.process_tree import ProcessTree
from sshload_operator.local.sshd import LocalRunError, current_user, linked_fixtures
from sshload_operator.local.target import home_in
from sshload_operator.planning.installation import NOT_INSTALLED, Installation
from sshload_operator.planning.plan import Plan, TestIdentity, make_plan
from sshload_operator.state import Announcement, Manifest, Observed, ObservedBaseline, Phase, Reason, Role
from sshload_operator.world.execute import Status, execute
from sshload_operator.world.steady_clock import SteadyClock

_PASS_EVERY_S = 0.2
_GRACE_S = 3.0
_LAST_SUMMARY_S = 12.0
"""Longer than a master waits for the last reports of its workers."""
_NAMESPACE = "default"
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NO_CLUSTER = (
    "there is no cluster to look for the baseline in. Name a file with --baseline: what sshload run -o json printed of "
    "an earlier run"
)
_Status = TypeVar("_Status", TestStatus, ComparisonStatus)
_NOTHING_YET = Observed(pods=(), log=None, rejected_message="")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """What the command line adds to the file.

    `baseline` is the finished test that the run is compared with, whatever the spec calls it. `logs` is the folder
    in which the processes' output is kept, None to throw it away with the keys. `note` is told how the run differs from
    one in a cluster, and what its author should know before it, `progress` the status at each pass, and how many cores
    the target uses where `asks_target` is set.
    """

    own: OwnFiles
    allowed_targets: tuple[AllowedTarget, ...]
    baseline: Manifest | None
    logs: Path | None
    note: Callable[[str], None]
    progress: Callable[[TestStatus, float | None], None]
    asks_target: bool = False


@dataclass(frozen=True, slots=True)
class LocalResult:
    """How a run ended: its status as the operator would write it, and the whole summary where there is one."""

    status: TestStatus
    summary: RunSummary | None


def run_locally(document: Document, options: LocalOptions, stop: "Stop | None" = None) -> LocalResult:
    """Run the test to its end and return it. All its processes have ended then.

    SIGINT, SIGTERM and SIGHUP abort it, with what was measured until then; the second of them without. `stop` is what
    hears them where several tests are run after each other, and which of them is under way is nobody's concern.

    Raises LocalRunError or KeysError when this machine cannot take it, OSError when its files cannot be written, and
    SpecError for a test that is suspended.
    """
    if document.spec.get("suspend"):
        raise SpecError("spec.suspend", "is true, and nobody would set it to false here: leave it out")
    test = TestIdentity(namespace=document.namespace or _NAMESPACE, name=document.name, uid=str(uuid4()), generation=1)
    plan = _held_against(options.baseline, _plan(test, document, options.allowed_targets))
    with (
        _private_folder() as folder,
        _temporary_folder() as temporary,
        stop_signals() if stop is None else nullcontext(stop) as asked,
    ):
        run = _LocalRun(test, folder, temporary, options)
        try:
            return asyncio.run(run.until_finished(plan, asked))
        finally:
            run.end(asked)


class _LocalRun:
    """One run: its processes, as the world in which its decisions are carried out."""

    def __init__(self, test: TestIdentity, folder: Path, temporary: Path, options: LocalOptions) -> None:
        self._test = test
        self._folder = folder
        self._options = options
        self._tree = ProcessTree(folder, temporary)
        self._observer: LocalObserver | None = None
        self._target_cpu: TargetCpu | None = None
        self._links = ExitStack()
        self._past = remembered(TestStatus, None)

    async def until_finished(self, plan: Plan | SpecError, stop: "Stop") -> LocalResult:
        """Pass by pass, observe, decide and apply until the phase is Finished."""
        clock = SteadyClock()
        while True:
            summary = await self._last_summary(stop) if stop.wanted else None
            observed = self._observe()
            wanted = _aborted(plan) if stop.wanted else plan
            decision = decide(TestSubject(self._test, wanted, self._past, observed, clock.now()))
            await execute(decision, wanted, self)
            if self._past.status.phase is Phase.FINISHED:
                if self._past.status.verdict is Verdict.ABORTED:
                    return LocalResult(_as_far_as_it_came(self._past.status, plan, summary), summary)
                return LocalResult(self._past.status, observed.log.summary if observed.log else None)
            await asyncio.sleep(_PASS_EVERY_S)

    async def _last_summary(self, stop: "Stop") -> RunSummary | None:
        """Ask the master to end the load, and return what it found out; None if it does not tell in time."""
        if self._observer is None:
            return None
        self._options.note("ending the load, to tell what was measured; Ctrl-C again ends at once")
        self._tree.terminate(MASTER)
        give_up_at_s = time.monotonic() + _LAST_SUMMARY_S
        while time.monotonic() < give_up_at_s and not stop.hurried:
            log = self._observer.observe().log
            if log is not None and log.summary is not None:
                return log.summary
            if self._tree.exit_code(MASTER) is not None:
                return None
            await asyncio.sleep(_PASS_EVERY_S)
        return None

    def _observe(self) -> Observed:
        given = self._options.baseline
        baseline = ObservedBaseline((), _NO_CLUSTER) if given is None else ObservedBaseline((given,), "")
        return replace(self._observer.observe() if self._observer else _NOTHING_YET, baseline=baseline)

    def end(self, stop: "Stop") -> None:
        """End every process, and keep what they said where that was asked for.

        Once the run is finished they have nothing more to tell, and are given no time to say so unless it is kept.
        """
        is_told = self._past.status.results is not None and self._options.logs is None
        self._tree.end(_GRACE_S, lambda: stop.hurried or is_told)
        self._links.close()
        if self._options.logs is not None:
            self._keep_output(self._options.logs)

    def _keep_output(self, logs: Path) -> None:
        """Keep what the processes said, or say why not: the run has its result."""
        for name in self._tree.names():
            try:
                shutil.copy(self._tree.log_path(name), logs)
            except OSError as error:
                self._options.note(f"the output of {name} is not kept in {logs}: {error.strerror or error}")

    async def start(self, plan: Plan) -> None:
        """Start the run's processes, once."""
        if self._observer is not None:
            return
        local = await prepare(plan, self._options.own, self._folder)
        for note in local.notes:
            self._options.note(note)
        if plan.spec.managed is not None and plan.spec.managed.system is None:
            home, fixtures = Path(current_user().pw_dir), plan.spec.managed.fixtures
            self._links.enter_context(linked_fixtures(fixtures.paths, home_in(self._folder), home))
        for process in local.processes:
            self._tree.start(process.name, process.command)
        if self._options.asks_target:
            ports = (
                one.ready_port for one in local.processes if one.role is Role.TARGET and one.ready_port is not None
            )
            self._target_cpu = next(map(TargetCpu, ports), None)
        self._observer = LocalObserver(plan.run_id, local.processes, self._tree, self._folder)

    async def store(self, results: Manifest, status: Status) -> Status:
        """Return the status without the ConfigMap of the results, which no cluster is there to keep."""
        del results
        return written(replace(read_fitting(TestStatus, status), results_config_map=""))

    async def write_status(self, status: Status) -> bool:
        """Remember the status, and show it."""
        self._past = remembered(TestStatus, status)
        self._options.progress(self._past.status, None if self._target_cpu is None else self._target_cpu.cores())
        return True

    async def discard_results(self, run_ids: Sequence[str]) -> None:
        """Do nothing: no results are stored."""

    async def sweep(self, run_ids: Sequence[str]) -> None:
        """Do nothing: the processes end with the command."""

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Note the cautions; the progress says the rest."""
        for announcement in announcements:
            if announcement.reason is Reason.CAUTION:
                self._options.note(f"caution: {announcement.message}")

    async def delete_test(self) -> None:
        """Do nothing: the test is a file of the user's."""


class Stop:
    """How often somebody asked for the end of the run: once to abort it, twice to wait for nothing."""

    def __init__(self) -> None:
        self._asked = 0

    @property
    def wanted(self) -> bool:
        """Whether the run is to be aborted."""
        return self._asked > 0

    @property
    def hurried(self) -> bool:
        """Whether nothing is to be waited for."""
        return self._asked > 1

    def ask(self, _signal: int, _frame: FrameType | None) -> None:
        """Take a signal."""
        self._asked += 1


def local_installation(allowed: tuple[AllowedTarget, ...]) -> Installation:
    """Return what stands for an operator's installation; images play no part, and all workers share one address.

    What the command line allows is only held against the text of the spec, so that nobody loads a server by mistake.
    The workers are given no allow-list: whatever this machine reaches, its user may reach without them.
    """
    return replace(NOT_INSTALLED, external_targets=allowed, one_address=True)


def _plan(test: TestIdentity, document: Document, allowed: tuple[AllowedTarget, ...]) -> Plan | SpecError:
    """Return the plan of run 1."""
    try:
        return make_plan(test, parse(document.spec), local_installation(allowed), 1)
    except SpecError as error:
        return error


def _held_against(baseline: Manifest | None, plan: Plan | SpecError) -> Plan | SpecError:
    """Return the plan with the baseline that was given in place of the one that its spec names."""
    if baseline is None or isinstance(plan, SpecError):
        return plan
    if plan.spec.baseline is None:
        raise LocalRunError(
            "--baseline is given, and the test does not use it: it needs spec.baseline, and thresholds with within"
        )
    return replace(plan, spec=replace(plan.spec, baseline=Baseline(baseline["metadata"]["name"], None)))


def _as_far_as_it_came(status: TestStatus, plan: Plan | SpecError, summary: RunSummary | None) -> TestStatus:
    """Return the status of an aborted run with what was measured until then. No threshold is judged by it."""
    if isinstance(plan, SpecError) or summary is None or not (summary.trial.load.duration_s or summary.search):
        return with_message(status, "it was ended before anything was measured")
    measured_s = f"{summary.trial.load.duration_s:.1f} s of it were measured"
    return replace(
        with_message(status, f"it was ended early. {measured_s}, and no threshold is judged by that"),
        results=results_status(plan, summary, Verdict.ABORTED),
        capacity=capacity_status(plan, summary),
    )


def with_message(status: _Status, message: str) -> _Status:
    """Return the status of what somebody at this machine ended: a cluster's words speak of spec.abort."""
    conditions = tuple(
        replace(one, message=message) if one.message == status.message else one for one in status.conditions
    )
    return replace(status, message=message, conditions=conditions)


def _aborted(plan: Plan | SpecError) -> Plan | SpecError:
    return replace(plan, spec=replace(plan.spec, abort=True)) if isinstance(plan, Plan) else plan


@contextmanager
def _private_folder() -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it with its keys.

    Under the user's home, because sshd distrusts keys below folders that others may write to, as /tmp is.
    """
    above = Path(current_user().pw_dir) / ".cache"
    above.mkdir(mode=0o700, exist_ok=True)
    with own_folder(above) as folder:
        yield folder


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Make a folder for what processes keep in temporary files, keys among it, and remove it with what they left.

    A process that is killed removes nothing. Not in the private folder, because the paths of sockets may not be long.
    """
    with own_folder(Path(tempfile.gettempdir())) as folder:
        yield folder


@contextmanager
def stop_signals() -> Iterator[Stop]:
    """Hear SIGINT, SIGTERM and SIGHUP, which then end nothing by themselves. Under nohup(1) SIGHUP stays ignored."""
    stop = Stop()
    under_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    heard = (number for number in _STOP_SIGNALS if not (under_nohup and number is signal.SIGHUP))
    before = {number: signal.signal(number, stop.ask) for number in heard}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
