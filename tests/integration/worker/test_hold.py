import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, monotonic_ns
from types import MappingProxyType
from typing import Any

import gevent
import pytest
from master_here import counted, failures, latencies, one_load
from one_iteration import unexpected
from run_configs import EXEC_TRUE, arrivals, client, endpoint, run_config, scenario
from ssh_server import Keys, SshServer, ssh_server
from sshload_contract.client import Library
from sshload_contract.judgement.figures import find_step
from sshload_contract.load import HoldLoad
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.report import Health
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.recording.recorder import Recorder
from sshload_worker.scenario.held_sessions import HeldSessions
from sshload_worker.scenario.sessions import Connector
from sshload_worker.scenario.step_clock import Due
from sshload_worker.scenario.target_login import prepare_login, resolve_first_hop
from sshload_worker.summary.totals import Totals
from whole_run import whole_run

WELL = (Window.MEASURED, Outcome.OK)
HOLD = HoldLoad(sessions=12, ramp_up_s=0.5, duration_s=6.0, keep_alive_s=0.5, probe_rate=5.0)
_US_PER_S = 1_000_000
of_one_load = pytest.mark.xdist_group("one load of held sessions")
of_one_run = pytest.mark.xdist_group("one run of held sessions")


def holding(server: SshServer, load: HoldLoad = HOLD) -> RunConfig:
    return run_config(endpoint(server), load)


@dataclass(frozen=True)
class Held:
    """A whole load of held sessions and probes: what was counted, by the client and by the server."""

    totals: Totals
    accepted: int
    all_held_s: float
    left: tuple[int, int]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Held:
    """Hold sessions from the ramp to the end. `all_held_s` is for how long all of them were held at least."""
    with ssh_server(tmp_path_factory.mktemp("sshd"), keys) as server:
        end_s = monotonic() + HOLD.ramp_up_s + HOLD.duration_s
        with one_load(holding(server)) as load:
            load.wait_until(lambda recorder: recorder.held == 12)
            all_held_s = end_s - monotonic()
            totals = load.finish()
        return Held(totals, server.accepted(), all_held_s, (load.recorder.held, load.recorder.connections))


@of_one_load
def test_sessions_are_held_from_the_ramp_to_the_end_and_only_probes_count_in_total(held: Held) -> None:
    totals = held.totals
    assert counted(totals, "held.login") == counted(totals, "held.kex") == counted(totals, "held.hold") == {WELL: 12}
    assert counted(totals, "total") == counted(totals, "login") == {WELL: 30}
    assert held.accepted == sum(totals.negotiated.values()) == 42
    assert (latencies(totals, "held.hold").min_us() or 0) > held.all_held_s * _US_PER_S
    assert failures(totals) == set()
    assert held.left == (0, 0)


@of_one_load
def test_every_held_session_sends_keep_alive_requests_and_gets_replies(held: Held) -> None:
    (kept,) = counted(held.totals, "held.keepAlive").items()
    assert kept[0] == WELL
    assert 12 * 2 <= kept[1] <= 12 * 13


def test_without_an_interval_no_keep_alive_request_is_sent(sshd: SshServer) -> None:
    with one_load(holding(sshd, replace(HOLD, keep_alive_s=0.0, duration_s=0.5))) as load:
        totals = load.finish()
    assert counted(totals, "held.keepAlive") == {}


def test_few_keep_alive_requests_are_sent_before_replies_are_read_however_many_are_due(
    sshd: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: Counter[int] = Counter()
    monkeypatch.setattr(HeldSessions, "keep_alive", lambda _, __: sent.update([gevent.get_hub().loop.iteration]))
    hold = HoldLoad(sessions=100, ramp_up_s=60.0, duration_s=1.0, keep_alive_s=0.01, probe_rate=1.0)
    with one_load(holding(sshd, hold)) as load:
        load.wait_until(lambda _: sent.total() > 1_000)
        load.stop()
    assert max(sent.values()) <= 4


@pytest.mark.parametrize("keep_alive_s", [0.0, 0.3], ids=["without keep-alive requests", "with keep-alive requests"])
def test_lost_sessions_are_noticed_counted_as_failures_and_not_replaced(
    start_sshd: Callable[[str], SshServer], keep_alive_s: float
) -> None:
    server = start_sshd("")
    hold = replace(HOLD, keep_alive_s=keep_alive_s, probe_rate=0.0, duration_s=60.0)
    with one_load(holding(server, hold)) as load:
        load.wait_until(lambda recorder: recorder.held == server.accepted() == 12)
        server.hang_up()
        load.wait_until(lambda recorder: recorder.held == 0)
        load.generator.stop()
        totals = load.finish()
    assert counted(totals, "held.hold") == {(Window.MEASURED, Outcome.DISCONNECTED): 12}
    assert sum(count for _, _, count in failures(totals)) == 12
    assert {outcome for _, outcome, _ in failures(totals)} == {Outcome.DISCONNECTED}
    assert {step for step, _, _ in failures(totals)} <= {"held.hold", "held.keepAlive"}
    assert server.accepted() == 12


def test_a_session_without_a_reply_within_the_limit_is_lost(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    hold = replace(HOLD, sessions=3, probe_rate=0.0, duration_s=60.0)
    with one_load(replace(holding(server, hold), client=client(step_s=3.0))) as load:
        load.wait_until(lambda recorder: recorder.held == 3)
        server.freeze_sessions()
        try:
            load.wait_until(lambda recorder: recorder.held == 0)
        finally:
            server.signal_sessions(signal.SIGCONT)
        load.generator.stop()
        totals = load.finish()
    assert counted(totals, "held.hold") == {(Window.MEASURED, Outcome.STEP_TIMEOUT): 3}
    assert failures(totals) == {("held.keepAlive", Outcome.STEP_TIMEOUT, 3)}


class OneHeld:
    """One session that is held, and what is counted of it. `changed` are attributes of its connection."""

    def __init__(
        self,
        server: SshServer,
        changed: Mapping[str, object] = MappingProxyType({}),
        jump: SshServer | None = None,
        library: Library = Library.SSH2_PYTHON,
    ) -> None:
        via = (endpoint(jump),) if jump is not None else ()
        config = replace(holding(server), via=via, client=replace(client(), library=library))
        self.recorder = Recorder("test-run", 0)
        login = prepare_login(config, resolve_first_hop(config, unexpected))
        connector = _RememberingConnector(changed, login, self.recorder)
        self.sessions = HeldSessions(connector, config.client.timeouts, self.recorder)
        now_ns = monotonic_ns()
        self.sessions.begin(0, Due(at_ns=now_ns, window=Window.MEASURED))
        (self.connection,) = connector.made

    def wait_until_lost(self) -> None:
        """Let the loop run until the session is held no more."""
        deadline_s = monotonic() + 300
        while self.recorder.held:
            assert monotonic() < deadline_s
            gevent.sleep(0.01)

    def totals(self) -> Totals:
        """Return what was counted."""
        totals = Totals()
        totals.add(self.recorder.take_report(Health(0.0, 0.0, None, 0, 0, 0, 0, 0, 0, 0, 0), final=True))
        return totals


class _RememberingConnector(Connector):
    """Keeps what it makes, with some attributes changed."""

    def __init__(self, changed: Mapping[str, object], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._changed = changed
        self.made: list[Any] = []

    def connect(self, *arguments: Any) -> Any:
        connection = super().connect(*arguments)
        vars(connection).update(self._changed)
        self.made.append(connection)
        return connection


def test_a_session_that_was_lost_unseen_was_not_held_to_the_end(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    one = OneHeld(server)
    server.hang_up()
    deadline_s = monotonic() + 300
    while not one.connection.is_lost():
        assert monotonic() < deadline_s
        gevent.sleep(0.01)
    one.sessions.close(Outcome.OK)
    totals = one.totals()
    assert counted(totals, "held.hold") == {(Window.MEASURED, Outcome.DISCONNECTED): 1}
    assert failures(totals) == {("held.hold", Outcome.DISCONNECTED, 1)}


def test_a_loss_is_noticed_without_a_look_at_the_session(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    one = OneHeld(server)
    server.hang_up()
    one.wait_until_lost()
    assert failures(one.totals()) == {("held.hold", Outcome.DISCONNECTED, 1)}


@pytest.mark.parametrize("lost", ["target", "jump"])
def test_a_loss_behind_a_jump_host_is_noticed_without_a_look_at_the_session(
    lost: str, tmp_path: Path, keys: Keys
) -> None:
    for name in ("target", "jump"):
        (tmp_path / name).mkdir()
    with ssh_server(tmp_path / "target", keys) as target, ssh_server(tmp_path / "jump", keys) as jump:
        one = OneHeld(target, jump=jump)
        {"target": target, "jump": jump}[lost].hang_up()
        one.wait_until_lost()
        assert failures(one.totals()) == {("held.hold", Outcome.DISCONNECTED, 1)}


def test_a_session_that_is_lost_before_the_reply_comes_gets_none(
    start_sshd: Callable[[str], SshServer],
) -> None:
    server = start_sshd("")
    one = OneHeld(server)
    server.freeze_sessions()
    one.sessions.keep_alive(0)
    server.hang_up()
    one.wait_until_lost()
    totals = one.totals()
    assert counted(totals, "held.keepAlive") == {(Window.MEASURED, Outcome.DISCONNECTED): 1}
    assert counted(totals, "held.hold") == {(Window.MEASURED, Outcome.DISCONNECTED): 1}
    assert failures(totals) == {("held.keepAlive", Outcome.DISCONNECTED, 1)}


@pytest.mark.parametrize("library", [Library.SSH2_PYTHON, Library.PARAMIKO, Library.ASYNCSSH])
def test_a_session_whose_reply_is_still_missing_was_not_held_to_the_end(
    start_sshd: Callable[[str], SshServer], library: Library
) -> None:
    server = start_sshd("")
    one = OneHeld(server, library=library)
    server.freeze_sessions()
    one.sessions.keep_alive(0)
    one.sessions.await_replies(0.1)
    one.sessions.close(Outcome.OK)
    one.sessions.await_replies(60.0)
    server.hang_up()
    totals = one.totals()
    assert counted(totals, "held.hold") == {(Window.MEASURED, Outcome.UNFINISHED): 1}
    assert counted(totals, "held.keepAlive") == {(Window.MEASURED, Outcome.UNFINISHED): 1}
    assert {failure[1:] for failure in failures(totals)} == {(Outcome.UNFINISHED, 1)}


def test_a_login_that_fails_is_a_failure_and_not_tried_again(start_sshd: Callable[[str], SshServer]) -> None:
    server = start_sshd("")
    config = holding(server, replace(HOLD, probe_rate=0.0, duration_s=0.5))
    stranger = replace(config.target, private_key_path=str(server.keys.stranger))
    with one_load(replace(config, target=stranger)) as load:
        totals = load.finish()
    assert failures(totals) == {("held.auth", Outcome.AUTH_REJECTED, 12)}
    assert counted(totals, "held.login") == {(Window.MEASURED, Outcome.AUTH_REJECTED): 12}
    assert counted(totals, "held.hold") == {}


def test_a_stop_ends_held_sessions_as_unfinished(sshd: SshServer) -> None:
    with one_load(holding(sshd, replace(HOLD, duration_s=60.0))) as load:
        load.wait_until(lambda recorder: recorder.held == 12)
        load.generator.stop()
        totals = load.finish()
    assert counted(totals, "held.hold") == {(Window.MEASURED, Outcome.UNFINISHED): 12}
    assert (load.recorder.held, load.recorder.connections) == (0, 0)


def test_the_warm_up_probes_without_held_sessions(sshd: SshServer) -> None:
    with one_load(replace(holding(sshd, replace(HOLD, duration_s=1.0)), warm_up_s=1.0)) as load:
        totals = load.finish()
    assert counted(totals, "total") == {(Window.WARM_UP, Outcome.OK): 5, WELL: 5}
    assert counted(totals, "held.login") == {WELL: 12}


@pytest.fixture(scope="module")
def held_by_two(sshd: SshServer, tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    """Hold sessions from two workers, to the end."""
    hold = replace(HOLD, sessions=15)
    config = replace(run_config(endpoint(sshd), hold, workers=2), warm_up_s=1.0)
    with whole_run(tmp_path_factory.mktemp("run"), config) as run:
        return run.summary()


@of_one_run
def test_the_summary_tells_how_many_were_held_at_most_and_at_least(held_by_two: RunSummary) -> None:
    assert (held_by_two.end, held_by_two.message, held_by_two.trial.errors) == (RunEnd.COMPLETED, "", ())
    in_ramp = [point.held for point in held_by_two.series if point.at_s < 1.0 + HOLD.ramp_up_s]
    most, least = held_by_two.trial.load.held_most, held_by_two.trial.load.held_least
    assert most == max(point.held for point in held_by_two.series) == 15
    assert least is not None
    assert max(in_ramp, default=0) <= least <= most


@of_one_run
def test_the_workers_shares_of_held_sessions_and_probes_add_up(held_by_two: RunSummary) -> None:
    assert held_by_two.trial.errors == ()
    steps = {(step.step, step.window): step for step in held_by_two.trial.steps}
    assert steps["held.login", Window.MEASURED].count == steps["held.hold", Window.MEASURED].count == 15
    assert (held_by_two.trial.load.started, held_by_two.trial.load.offered_rate) == (30, 5.0)


def test_other_loads_tell_of_no_held_sessions(sshd: SshServer, tmp_path: Path) -> None:
    with whole_run(tmp_path, run_config(endpoint(sshd), arrivals(5, 1.0))) as run:
        summary = run.summary()
    assert (summary.trial.load.held_most, summary.trial.load.held_least) == (None, None)


def test_a_server_that_freezes_is_waited_for_no_longer_than_the_drain(
    start_sshd: Callable[[str], SshServer], tmp_path: Path
) -> None:
    server = start_sshd("")
    hold = replace(HOLD, sessions=3, duration_s=8.0, keep_alive_s=0.2, probe_rate=2.0)
    config = replace(holding(server, hold), drain_s=1.0, client=client(step_s=60.0))
    waiting = replace(EXEC_TRUE, command="cat")
    with whole_run(tmp_path, replace(config, scenario=scenario(waiting))) as run:
        run.wait_until(lambda: (found := run.log().snapshot) is not None and found.held > 0, "held sessions")
        server.freeze_sessions()
        summary = run.summary()
    server.hang_up()
    held = find_step(summary.trial, "held.hold", Window.MEASURED)
    assert (summary.end, summary.message) == (RunEnd.COMPLETED, "")
    assert held is not None
    assert held.failures > 0
    assert summary.trial.load.failed == summary.trial.load.started
