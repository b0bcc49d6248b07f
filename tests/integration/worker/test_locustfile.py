import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from textwrap import dedent
from time import monotonic_ns

import pytest
from locust.env import Environment
from run_configs import arrivals, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.allow_list import AllowedTarget, AllowList
from sshload_contract.load import BurstLoad, Load, ThinkTime, UsersLoad, UsersStage
from sshload_contract.vocabulary import Outcome, RunEnd, Window
from sshload_contract.wire.run_config import RunConfig, Scenario, SessionReuse
from sshload_contract.wire.run_summary import RunSummary
from sshload_worker.coordination.processes import PortBoard
from sshload_worker.coordination.trial_part import TrialPart, WorkerContext
from sshload_worker.locust_runner.request_events import SummedRequests
from sshload_worker.locustfile.locust_users import LocustUsers, load_users
from sshload_worker.locustfile.ssh_user import NoIterationError
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.pacing.share import Share, TrialOrder
from sshload_worker.scenario.target_login import resolve_first_hop
from sshload_worker.scenario.target_sessions import prepare_target
from sshload_worker.summary.totals import Totals
from whole_run import whole_run

EXAMPLE = Path(__file__).parents[3] / "examples" / "locustfiles" / "mixed.py"
USERS = UsersLoad(stages=(UsersStage(users=4, duration_s=2.0),), spawn_rate=0.0, think_time=ThinkTime(0.05, 0.05))
ONE_BURST = BurstLoad(connections=5, repeat=1, interval_s=0.1)
BEGIN = "from sshload_worker.locustfile import SSHUser, task\n"


def locustfile(folder: Path, text: str) -> str:
    path = folder / "locustfile.py"
    path.write_text(BEGIN + dedent(text))
    return str(path)


def config_of(
    server: SshServer, path: str, load: Load, workers: int = 1, reuse: SessionReuse = SessionReuse.NONE
) -> RunConfig:
    scenario = Scenario(session_reuse=reuse, pool_sessions=0, steps=(), locustfile_path=path)
    return replace(run_config(endpoint(server), load, workers=workers), scenario=scenario)


def summary_of(folder: Path, config: RunConfig) -> RunSummary:
    with whole_run(folder, config) as run:
        return run.summary()


def sftp_in(folder: Path) -> str:
    """Return the directive by which files without a path lie in this folder, not in the home of the user."""
    return f"Subsystem sftp internal-sftp -d {folder}"


def counts_of(summary: RunSummary) -> dict[str, int]:
    return {step.step: step.count for step in summary.trial.steps}


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(arrivals(20, 2.0), id="arrivals"),
        pytest.param(BurstLoad(connections=20, repeat=2, interval_s=1.0), id="burst", marks=pytest.mark.full),
        pytest.param(
            replace(USERS, stages=(UsersStage(users=12, duration_s=2.0),)), id="users", marks=pytest.mark.full
        ),
    ],
)
def test_the_example_is_run_and_measured_as_any_scenario(
    start_sshd: Callable[[str], SshServer], tmp_path: Path, load: Load
) -> None:
    server = start_sshd(sftp_in(tmp_path))
    summary = summary_of(tmp_path, config_of(server, str(EXAMPLE), load, workers=2))
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert summary.trial.load.failed == 0, summary.trial.errors
    assert summary.trial.load.started == summary.trial.load.succeeded == server.accepted() > 10
    counts = counts_of(summary)
    assert counts["total"] == counts["login"] == summary.trial.load.started
    assert counts["disk.command"] == counts["list.command"] > 0
    assert counts["upload.sftpWrite"] == counts["download.sftpRead"] == counts["remove.sftpRemove"] > 0
    tasks = counts["uptime.command"] + counts["disk.command"] + counts["upload.sftpWrite"]
    assert tasks == counts["total"]


def test_users_are_dealt_to_their_classes_by_weight(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(
        tmp_path,
        """
        class Many(SSHUser):
            weight = 3
            def on_start(self):
                self.execute("true", name="many")
            @task
            def work(self):
                self.execute("true", name="work")

        class Few(SSHUser):
            def on_start(self):
                self.execute("true", name="few")
            @task
            def work(self):
                self.execute("true", name="work")
        """,
    )
    users = replace(USERS, stages=(UsersStage(users=8, duration_s=2.0),))
    counts = counts_of(summary_of(tmp_path, config_of(sshd, path, users, workers=2)))
    assert (counts["many.command"], counts["few.command"]) == (6, 2)
    assert counts["work.command"] == counts["total"] >= 8


def test_a_user_keeps_what_it_knows_and_stops_at_the_end(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(
        tmp_path,
        f"""
        from pathlib import Path

        class Counting(SSHUser):
            def on_start(self):
                self.done = 0
            @task
            def work(self):
                self.execute("true")
                self.done += 1
            def on_stop(self):
                with Path({str(tmp_path / "done")!r}).open("a") as file:
                    file.write(f"{{self.done}}\\n")
        """,
    )
    totals = totals_of(config_of(sshd, path, USERS))
    done = [int(line) for line in (tmp_path / "done").read_text().split()]
    assert len(done) == 4
    assert sum(done) == totals.window(Window.MEASURED).succeeded


def test_a_session_can_be_kept_by_a_user(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    server = start_sshd(sftp_in(tmp_path))
    totals = totals_of(config_of(server, str(EXAMPLE), USERS, reuse=SessionReuse.USER))
    counts = totals.window(Window.MEASURED)
    assert counts.failed == 0, totals.errors
    assert server.accepted() == 4 < counts.succeeded


@pytest.mark.parametrize(
    ("body", "outcome", "step", "message"),
    [
        pytest.param(
            'self.execute("exit 3", name="a")', Outcome.EXIT_CODE, "a.command", "exit code 3", id="a step that fails"
        ),
        pytest.param(
            "raise KeyError('spoon')",
            Outcome.GENERATOR_FAULT,
            "",
            "locustfile line 5: KeyError: 'spoon'",
            id="an exception",
        ),
        pytest.param(
            "import sys; sys.exit(3)",
            Outcome.GENERATOR_FAULT,
            "",
            "locustfile line 5: SystemExit: 3",
            id="an exit",
        ),
        pytest.param("open('/absent')", Outcome.GENERATOR_FAULT, "", "FileNotFoundError", id="an error of the system"),
        pytest.param(
            "import gevent\n        with gevent.Timeout(0.01): gevent.sleep(1)",
            Outcome.GENERATOR_FAULT,
            "",
            "Timeout",
            id="a time limit of its own",
        ),
        pytest.param(
            'try: self.execute("exit 3", name="a")\n        except Exception: pass\n        self.execute("true")',
            Outcome.EXIT_CODE,
            "a.command",
            "exit code 3",
            id="a step that fails and is caught",
        ),
        pytest.param(
            'self.execute("true", name="a/b")',
            Outcome.GENERATOR_FAULT,
            "",
            "at most 30 letters",
            id="a name that no step may have",
        ),
        pytest.param(
            'self.execute("true", expect_stdout="(")',
            Outcome.GENERATOR_FAULT,
            "",
            "of RE2: missing ): (",
            id="a regular expression that is none",
        ),
    ],
)
def test_what_goes_wrong_in_a_task_is_one_outcome_of_its_iteration(  # noqa: PLR0913, PLR0917 - a table
    sshd: SshServer, tmp_path: Path, body: str, outcome: Outcome, step: str, message: str
) -> None:
    path = tmp_path / "locustfile.py"
    path.write_text(f"{BEGIN}class Failing(SSHUser):\n    @task\n    def work(self):\n        {body}\n")
    assert_fails_with(totals_of(config_of(sshd, str(path), ONE_BURST)), outcome, step, message)


def test_a_user_who_stops_is_no_more_and_nothing_has_failed(sshd: SshServer, tmp_path: Path) -> None:
    """Of a closed load, others go on. It is what Locust's StopUser is for."""
    path = locustfile(
        tmp_path,
        f"""
        from locust.exception import StopUser

        class Stopping(SSHUser):
            def on_stop(self):
                with open({str(tmp_path / "stopped")!r}, "a") as stopped:
                    stopped.write("x")
            @task
            def work(self):
                self.execute("true", name="once")
                raise StopUser
        """,
    )
    totals = totals_of(config_of(sshd, path, USERS))
    counts = totals.counts[Window.MEASURED]
    assert (counts.succeeded, counts.failed) == (4, 0), totals.errors
    assert (tmp_path / "stopped").read_text() == "x" * 4


def test_a_user_of_arrivals_who_stops_is_not_taken_again(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(
        tmp_path,
        """
        from locust.exception import StopUser

        class Stopping(SSHUser):
            def on_start(self):
                self.tasks_done = 0
            @task
            def work(self):
                self.tasks_done += 1
                self.execute(f"test {self.tasks_done} -eq 1", name="once")
                raise StopUser
        """,
    )
    totals = totals_of(config_of(sshd, path, arrivals(5, 1.0)))
    counts = totals.counts[Window.MEASURED]
    assert (counts.succeeded, counts.failed) == (5, 0), totals.errors


def test_a_task_asks_for_no_forward_that_the_installation_does_not_allow(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(
        tmp_path,
        """
        class Forwarding(SSHUser):
            @task
            def work(self):
                self.forward("169.254.169.254", 80)
        """,
    )
    allowed = AllowList((AllowedTarget("127.0.0.1", (sshd.port,)), AllowedTarget("0.0.0.0/0", (80,))), ())
    config = replace(config_of(sshd, path, ONE_BURST), allow_list=allowed)
    assert_fails_with(totals_of(config), Outcome.GENERATOR_FAULT, "forward", "is in 169.254.0.0/16 (link-local)")


def totals_of(config: RunConfig) -> Totals:
    """Run the whole load as a worker does, in this process, and return all that it reports."""
    totals = Totals()
    environment = Environment()
    path = config.scenario.locustfile_path
    equipment = WorkerContext(
        run=config,
        target=prepare_target(config, resolve_first_hop(config, pytest.fail)),
        locust_users=LocustUsers(path, load_users(path), environment, "test"),
        listener=SummedRequests(environment),
        numbers=count(),
        ports=PortBoard(-1, 0),
    )
    order = TrialOrder(number=0, amount=config.load.amount)
    TrialPart(equipment, order, Share(0, 1), monotonic_ns(), totals.add).run()
    return totals


def assert_fails_with(totals: Totals, outcome: Outcome, step: str, message: str) -> None:
    counts = totals.window(Window.MEASURED)
    assert (counts.started, counts.failed) == (ONE_BURST.connections, ONE_BURST.connections)
    (((failed_step, failed_by, window), failures),) = totals.errors.items()
    assert (failed_by, window, failures.count) == (outcome, Window.MEASURED, ONE_BURST.connections)
    assert message in failures.message
    assert failed_step == step or not step


def test_a_run_of_which_every_task_fails_comes_to_its_end(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(tmp_path, "class Failing(SSHUser):\n    @task\n    def work(self): raise KeyError('spoon')\n")
    summary = summary_of(tmp_path, config_of(sshd, path, ONE_BURST))
    assert summary.end is RunEnd.COMPLETED, summary.message
    assert (summary.trial.load.started, summary.trial.load.failed) == (ONE_BURST.connections, ONE_BURST.connections)
    (error,) = summary.trial.errors
    assert (error.outcome, error.count) == (Outcome.GENERATOR_FAULT, ONE_BURST.connections)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("class A(SSHUser:\n    pass\n", "line 2: SyntaxError", id="a file that is no Python"),
        pytest.param("import spoon\n", "line 2: ModuleNotFoundError: No module named 'spoon'", id="a missing module"),
        pytest.param("x = 1\ny = x / 0\n", "line 3: ZeroDivisionError", id="an error on import"),
        pytest.param("import sys\nsys.exit(3)\n", "line 3: SystemExit: 3", id="a file that exits"),
        pytest.param("x = 1\n", "has no subclass of SSHUser", id="no user"),
        pytest.param("class A(SSHUser):\n    pass\n", "line 2: A has no task", id="no task"),
        pytest.param(
            "from locust import User\nclass A(User):\n    @task\n    def work(self): pass\n",
            "line 3: A is not an SSHUser",
            id="another kind of user",
        ),
        pytest.param(
            "from locust import TaskSet\nclass T(TaskSet):\n    pass\nclass A(SSHUser):\n    tasks = [T]\n",
            "line 5: A has a TaskSet",
            id="a task set",
        ),
        pytest.param(
            "class A(SSHUser):\n    weight = 0\n    @task\n    def work(self): pass\n",
            "line 2: A has weight 0",
            id="weight",
        ),
        pytest.param(
            "class A(SSHUser):\n    fixed_count = 2\n    @task\n    def work(self): pass\n", "fixed_count", id="a count"
        ),
        pytest.param(
            "from locust import LoadTestShape\nclass S(LoadTestShape):\n    def tick(self): pass\n"
            "class A(SSHUser):\n    @task\n    def work(self): pass\n",
            "S is not used",
            id="a shape",
        ),
    ],
)
def test_a_file_that_cannot_be_run_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(BEGIN + text)
    with pytest.raises(GeneratorFaultError, match=r"locustfile bad\.py") as raised:
        load_users(str(path))
    assert said in str(raised.value)


def test_a_locustfile_that_cannot_be_run_ends_the_run_before_its_start(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(tmp_path, "import spoon\n")
    summary = summary_of(tmp_path, config_of(sshd, path, arrivals(5, 1.0)))
    assert summary.end is RunEnd.GENERATOR_FAULT
    assert "locustfile locustfile.py line 2" in summary.message
    assert summary.trial.load.started == 0


def test_a_run_can_be_repeated_task_by_task(tmp_path: Path) -> None:
    path = locustfile(
        tmp_path,
        """
        class Choosing(SSHUser):
            seen = []
            @task(2)
            def a(self): self.seen.append("a")
            @task(1)
            def b(self): self.seen.append("b")
        """,
    )

    def picks(seed: str) -> str:
        (choosing,) = load_users(path)
        locust_users = LocustUsers(path, (choosing,), Environment(), seed)
        for _ in range(300):
            locust_users.run_task(None, None)  # type: ignore[arg-type]  # no step is run
        return "".join(choosing.seen)

    first = picks("run/0")
    assert first == picks("run/0") != picks("run/1")
    assert 160 < len(re.findall("a", first)) < 240


def plain_locust(
    path: Path | str, host: str, seconds: int = 3, **variables: Path
) -> tuple[str, dict[str, tuple[int, int]]]:
    """Run plain Locust for so long; its users end the tasks that they have begun.

    Return what it said, and how many requests and failures there were by name.
    """
    command = [sys.executable, "-m", "locust", "-f", path, "--headless", "-u", "4", "-r", "4", "-t", f"{seconds}s"]
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    done = subprocess.run(
        [*command, "--host", host, "--stop-timeout", "60", "--json", "--exit-code-on-error", "0"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    rows = {row["name"]: (row["num_requests"], row["num_failures"]) for row in json.loads(done.stdout)}
    return done.stderr, rows


def test_plain_locust_runs_the_same_file(start_sshd: Callable[[str], SshServer], tmp_path: Path) -> None:
    server = start_sshd(sftp_in(tmp_path))
    _, rows = plain_locust(
        EXAMPLE,
        f"ssh://{server.user}@127.0.0.1:{server.port}",
        SSHLOAD_PRIVATE_KEY=server.keys.user,
        SSHLOAD_KNOWN_HOSTS=server.known_hosts,
    )
    assert rows["login"] == (server.accepted(), 0) == (4, 0)
    looks = [rows[name][0] for name in ("uptime.command", "disk.command") if name in rows]
    assert sum(looks) > 0 < rows["upload.sftpWrite"][0]
    assert all(failures == 0 for _, failures in rows.values())


def test_plain_locust_logs_in_anew_after_a_failure(sshd: SshServer, tmp_path: Path) -> None:
    path = locustfile(
        tmp_path,
        """
        import gevent
        from locust import constant

        class Failing(SSHUser):
            wait_time = constant(0.5)
            begun = 0
            @task
            def work(self):
                Failing.begun += 1
                if Failing.begun == 12:
                    gevent.spawn(self.environment.runner.quit)
                self.execute("exit 3", name="failing")
        """,
    )
    host = f"ssh://{sshd.user}@127.0.0.1:{sshd.port}"
    _, rows = plain_locust(path, host, seconds=200, SSHLOAD_PRIVATE_KEY=sshd.keys.user)
    requests, failures = rows["failing.command"]
    assert requests == failures == rows["login"][0] >= 12


@pytest.mark.full
def test_plain_locust_is_told_what_it_needs(sshd: SshServer) -> None:
    said, _ = plain_locust(EXAMPLE, "http://127.0.0.1")
    assert "expected ssh://user@host" in said
    said, _ = plain_locust(EXAMPLE, f"ssh://{sshd.user}@127.0.0.1:{sshd.port}")
    assert "$SSHLOAD_PRIVATE_KEY must hold the path of the private key" in said


def test_steps_outside_of_an_iteration_are_an_error(tmp_path: Path) -> None:
    path = locustfile(tmp_path, "class A(SSHUser):\n    @task\n    def work(self): pass\n")
    (user_class,) = load_users(path)
    with pytest.raises(NoIterationError):
        user_class(Environment()).execute("true")
