"""The runner of the test layers, run on small projects of its own: what it counts, and what never passes."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import run_tests
from below import state
from testing.circles import VARIABLE, Circle
from testing.layers import CORES, FIXED_WORK_S, LAYERS, Layer
from testing.machine import CACHE, CpuShares
from testing.preparation import Preparation
from testing.pytest_run import Given, Lane, module_of, read_report
from testing.table import Outcome, Whole, table
from until import until

pytestmark = [
    pytest.mark.slow,  # each starts several processes of pytest
    pytest.mark.xdist_group("runner"),  # one lane: its tests read two runs
]

ROOT = Path(__file__).parents[3]

# Each of two dozen processes would import these libraries, which none of these projects needs.
OPTIONS = "--import-mode=importlib -p no:hypothesispytest -p no:anyio -p no:schemathesis -p no:locust"
MARKS = "\n  alone\n  full\n  slow\n  root\n  xdist_group"
PLUGINS = 'pytest_plugins = ("testing.costs", "testing.lanes", "testing.root")\n'
PASSES = "def test_it(): pass\n"
FAILS = "def test_it(): assert False, 'the reason'\n"
SKIPS = "import pytest\n\ndef test_it(): pytest.skip('sshd is missing')\n"
BREAKS = "import no_such_module\n"
KILLS = "import os\n\ndef test_first(): pass\n\ndef test_it(): os._exit(0)\n\ndef test_next(): pass\n"
FLAKY = """
import pathlib

def test_it():
    before = pathlib.Path(__file__).with_name("ran")
    print("again" if before.exists() else "at first", "it says", 6 * 7)
    assert before.exists() or before.touch(), "it ran for the first time"

def test_other(): pass
"""
FAILS_LOUDLY = """
def test_it():
    for number in range(100):
        print(f"line {number}")
    assert not "the reason"
"""
LEAVES_BADLY = """
import pytest

@pytest.fixture(scope="session")
def shared():
    yield
    raise RuntimeError("it would not end")

def test_it(shared): pass
"""
WORKS = """
import pytest, time

def work():
    until = time.process_time() + 0.7
    while time.process_time() < until: pass

@pytest.fixture(scope="module")
def shared(): work()

def test_works(): work()

@pytest.mark.slow
def test_works_and_says_so(): work()

def test_shares(shared): pass
"""
SHARED = """
import os, pytest

@pytest.fixture(scope="module")
def process(): return os.getpid()

@pytest.mark.parametrize("number", range(40))
def test_one_process_runs_them(process, number): assert process == os.getpid()
"""
OF_ONE_GROUP = """
import os, pathlib, pytest

@pytest.mark.xdist_group("one")
def test_it():
    seen = pathlib.Path(__file__).parents[1] / "process"
    if not seen.exists(): seen.write_text(str(os.getpid()))
    assert seen.read_text() == str(os.getpid())
"""
NEEDS_ROOT = """
import pytest

def test_it(): pass

@pytest.mark.root
def test_mounts(): assert False
"""
WAITS = """
import pathlib, time

def test_waits():
    pathlib.Path(__file__).with_name("waits").touch()
    time.sleep(600)
"""
LANES_MEET = """
import pathlib, time

def meet(mine, other):
    folder = pathlib.Path(__file__).parent
    (folder / mine).touch()
    give_up = time.monotonic() + 60
    while not (folder / other).exists():
        assert time.monotonic() < give_up
        time.sleep(0.05)

def test_one(): meet("one", "two")
def test_two(): meet("two", "one")
"""
ALONE_AND_NOT = """
import pathlib, pytest
FOLDER = pathlib.Path(__file__).parent

@pytest.mark.alone
def test_alone(): assert len(list(FOLDER.glob("ended-*"))) == 2

@pytest.mark.parametrize("number", [1, 2])
def test_in_a_lane(number): (FOLDER / f"ended-{number}").touch()
"""
RERUNS = """
from generator_reruns import rerun_while_lagging

def test_it():
    lagged = {"verdict": "Invalid", "reason": "GeneratorSaturated", "message": "lag"}
    statuses = iter([lagged, lagged, {"verdict": "Passed"}])
    assert rerun_while_lagging(lambda: next(statuses), dict) == {"verdict": "Passed"}
"""
OF_EACH_CIRCLE = """
import pytest

def test_quick(): pass

@pytest.mark.slow
def test_usual(): pass

@pytest.mark.full
def test_of_all(): pass
"""
ONLY_FULL = "import pytest\n\n@pytest.mark.full\ndef test_it(): pass\n"
LEAVES_A_THREAD = """\
import threading

def test_a_thread_that_never_ends_is_left_behind():
    threading.Thread(target=threading.Event().wait).start()
"""
GOOD = {
    "group-1": OF_ONE_GROUP,
    "group-2": OF_ONE_GROUP,
    "shared": SHARED,
    "one": PASSES,
    "meet": LANES_MEET,
    "alone": ALONE_AND_NOT,
    "reruns": RERUNS,
    "thread": LEAVES_A_THREAD,
}
BAD = {"fails": FAILS, "skips": SKIPS, "breaks": BREAKS, "empty": "", "one": PASSES}


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of the simulation layer: its exit code, what it printed from the header of its table on, its reports."""

    code: int
    closing: str
    reports: Path

    @property
    def last_line(self) -> str:
        """The line of counts."""
        return self.closing.splitlines()[-1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ended]:
    """Run the simulation layer of a project whose folders there hold one test file each, in a circle."""

    def run_layer(folders: Mapping[str, str], circle: Circle = Circle.USUAL, conftest: str = "") -> Ended:
        project = tmp_path_factory.mktemp("project")
        shutil.copytree(ROOT / "scripts", project / "scripts")
        (project / ".venv").symlink_to(sys.prefix)
        (project / "pytest.ini").write_text(f"[pytest]\naddopts = {OPTIONS}\nmarkers = {MARKS}\npythonpath = scripts\n")
        (project / "tests").mkdir()
        (project / "tests/conftest.py").write_text(PLUGINS + conftest)
        for name, text in folders.items():
            folder = project / "tests/simulation" / name
            folder.mkdir(parents=True)
            (folder / "test_a.py").write_text(text)
        command = [sys.executable, project / "scripts/run_tests.py", "simulation"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            cwd=project,
            env={**os.environ, VARIABLE: circle.value},
        )
        return Ended(done.returncode, "suite " + done.stdout.split("\nsuite ")[-1], project / ".cache/test")

    return run_layer


@pytest.fixture(scope="module")
def good(run: Callable[..., Ended]) -> Ended:
    """A run in which everything passes."""
    return run(GOOD)


@pytest.fixture(scope="module")
def bad(run: Callable[..., Ended]) -> Ended:
    """A run in which one test passes."""
    return run(BAD)


def test_passing_tests_of_every_folder_are_counted(good: Ended) -> None:
    """The last line counts them all."""
    assert (good.code, good.last_line) == (0, "50 passed, 0 failed"), good.closing


def test_one_lane_runs_tests_of_one_group_and_tests_that_share_what_their_file_makes(good: Ended) -> None:
    """Each of them asserts its process; files of other lanes are dealt out meanwhile."""
    assert good.code == 0, good.closing


def test_lanes_run_side_by_side(good: Ended) -> None:
    """Each of two tests waits for the other one."""
    assert good.code == 0, good.closing


def test_tests_that_run_alone_come_after_the_lanes_in_a_row_of_their_own(good: Ended) -> None:
    """They have the machine for themselves."""
    assert good.code == 0, good.closing
    rows = good.closing.splitlines()[1:3]
    assert [(*row.split("  ")[:1], *row.split()[-9:-7]) for row in rows] == [
        ("simulation", str(os.cpu_count()), "49"),
        ("simulation alone", "1", "1"),
    ]


def test_loads_that_ran_again_are_counted_and_named_with_their_reason(good: Ended) -> None:
    """So that nobody takes a machine that disturbs the generator for a quiet one."""
    assert good.closing.splitlines()[1].split()[-1] == "2"
    named = "  tests/simulation/reruns/test_a.py::test_it: GeneratorSaturated: lag"
    assert good.closing.split("loads that ran again\n")[1].splitlines()[:2] == [named] * 2


def test_the_table_tells_what_the_cpus_did_and_which_tests_were_slow(good: Ended) -> None:
    """The shares of time that were idle and stolen, and the slowest tests by name."""
    header, row = good.closing.splitlines()[:2]
    assert header.split()[-7:] == ["cpu", "s", "own", "s", "idle", "stolen", "reruns"]
    assert [word[-1] for word in row.split()[-3:-1]] == ["%", "%"]
    assert float(row.split()[-4]) > 0
    assert float(row.split()[-5]) > 0
    assert "simulation.meet.test_a::test_one" in good.closing.split("slowest tests")[1]


def test_what_mypy_found_of_a_library_is_kept_for_all_checkouts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the first check of each checkout takes a minute."""
    monkeypatch.delenv("MYPY_CACHE_DIR", raising=False)
    assert run_tests.run_commands("lint", 1, [("printenv", "MYPY_CACHE_DIR")], 60).failures == ()
    assert capsys.readouterr().out.splitlines()[-1] == str(CACHE / "mypy")


def test_the_cpu_time_of_a_run_is_told_in_multiples_of_a_fixed_piece_of_work() -> None:
    """So that runs of two machines can be compared."""
    shares = CpuShares(idle=0.25, stolen=0.125)
    whole = Whole(seconds=80 / CORES, cpu=shares, fixed_work_s=0.05)
    lane = Lane("unit", CORES, (), (), seconds=30, cpu=shares, own_cpu_s=40.0)
    told = f"in all {80 / CORES:.0f} s, 25% idle, 50 s of CPU, 40 s of it by the suites' own processes, "
    compared = "1000 times the fixed piece of work, which took 0.050 s of CPU"
    assert told + compared in table([Outcome("unit", (lane,), (), seconds=30, budget_s=100)], Preparation(()), whole)


def test_a_budget_is_in_proportion_to_what_the_cpus_need_for_the_fixed_piece_of_work() -> None:
    """A slow machine does not say at each run that each layer is over its budget."""
    outcome = Outcome("unit", (), (), seconds=150, budget_s=100)
    told = "unit took 150 s; its budget is 100 s on CPUs of this speed"
    shares = CpuShares(idle=0.25, stolen=0.0)
    assert told in table([outcome], Preparation(()), Whole(150, shares, FIXED_WORK_S))
    assert "budget" not in table([outcome], Preparation(()), Whole(150, shares, 2 * FIXED_WORK_S))


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param("the reason", id="a failure"),
        pytest.param("sshd is missing", id="a skip"),
        pytest.param("collection failure", id="a file that cannot be imported"),
        pytest.param("tests/simulation/empty: no tests", id="an empty folder beside others"),
    ],
)
def test_what_did_not_pass_fails_with_its_reason(bad: Ended, reason: str) -> None:
    """Nothing passes because it did not run."""
    assert bad.code == 1
    assert reason in bad.closing.split("slowest tests")[1]


def test_one_failing_folder_does_not_hide_the_others(bad: Ended) -> None:
    """Each folder runs, whatever happened to the ones before; each failure counts once."""
    assert bad.last_line == "1 passed, 4 failed", bad.closing


def test_a_process_that_ends_early_with_exit_code_0_fails_one_test_and_no_other(run: Callable[..., Ended]) -> None:
    """Its test did not pass, whatever it says; those that it had before it run in another process."""
    ended = run({"one": KILLS})
    assert (ended.code, ended.last_line) == (1, "2 passed, 1 failed"), ended.closing
    assert "test_a::test_it: failure: its process ended with exit code 0 during this test" in ended.closing


def test_a_test_that_passes_when_it_runs_again_is_counted_and_named_as_flaky(run: Callable[..., Ended]) -> None:
    """The reports keep what it printed and how it failed, and what it printed when it ran again."""
    ended = run({"one": FLAKY})
    assert (ended.code, ended.last_line) == (0, "2 passed, 0 failed, 1 flaky"), ended.closing
    assert "simulation.one.test_a::test_it: failure: AssertionError: it ran for the first time" in ended.closing
    first, again = ((ended.reports / f"simulation{which}.xml").read_text() for which in ("", "-again-1"))
    assert "<failure" in first
    assert "at first it says 42" in first
    assert "<failure" not in again
    assert "again it says 42" in again
    assert (ended.reports / "table").read_text().splitlines()[-1] == ended.last_line


def test_the_last_lines_have_the_end_of_each_failure_and_then_the_counts(run: Callable[..., Ended]) -> None:
    """So that a run of which only the end is kept says why it is red."""
    ended = run({"one": FAILS_LOUDLY})
    shown = ended.closing.split("failed: simulation: simulation.one.test_a::test_it: ")[1].splitlines()
    assert "  line 70" in shown
    assert "  line 50" not in shown
    assert "  E   AssertionError: assert not 'the reason'" in shown
    assert shown[-2:] == [f"reports as JUnit's XML: {ended.reports}", "0 passed, 1 failed"]


def test_what_cannot_be_torn_down_at_the_end_fails(run: Callable[..., Ended]) -> None:
    """A lane ends what its tests share when there are no more of them."""
    ended = run({"one": LEAVES_BADLY})
    assert ended.code == 1
    assert "it would not end" in ended.closing


def test_a_test_that_takes_much_of_the_cpu_is_named_unless_it_is_marked_slow(run: Callable[..., Ended]) -> None:
    """What it shares with others is not counted as its own."""
    named = run({"one": WORKS}).closing.split("not marked slow\n")[1].split("\n\n")[0]
    assert [line.split()[-1] for line in named.splitlines()] == ["simulation.one.test_a::test_works"]


def test_tests_that_need_root_are_counted_and_named_where_they_do_not_run(run: Callable[..., Ended]) -> None:
    """A folder that has no others is none without tests."""
    ended = run({"one": NEEDS_ROOT}, conftest="import os\nos.geteuid = lambda: 1000\n")
    assert (ended.code, ended.last_line) == (0, "1 passed, 0 failed, 1 not run: they need root"), ended.closing
    assert "  tests/simulation/one/test_a.py::test_mounts" in ended.closing.split("not run: they need root\n")[1]


def test_a_run_that_takes_too_long_says_so_and_what_was_under_way(tmp_path: Path) -> None:
    """And its report has what had ended before."""
    (tmp_path / "conftest.py").write_text(PLUGINS)
    (tmp_path / "test_a.py").write_text(PASSES)
    (tmp_path / "test_b.py").write_text(WAITS)  # a lane takes it once test_a.py has passed
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", *OPTIONS.split(), "--lanes=1", f"--junitxml={report}", tmp_path]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        asyncio.run(until((tmp_path / "waits").exists))
        running.terminate()
        running.communicate()
    assert {test.name.split("::")[1]: test.failure for test in read_report(report)} == {
        "test_it": "",
        "test_waits": "failure: the run was terminated during this test",
    }


STUBBORN = "(trap '' TERM; exec sleep 600) &"
"""As an API server is that a lane has started, whose etcd has ended."""


def ended_here(script: str, folder: Path) -> tuple[str, Path]:
    """Return a program that runs a script as a suite, and the file in which the script notes its last child."""
    began = folder / "began"
    whole = f"{STUBBORN} echo $! > {began}.new; mv {began}.new {began}; {script}"
    program = (
        "import os; from testing.pytest_run import end_all_at_signals, ended; "
        f"end_all_at_signals(); ended(['sh', '-c', {whole!r}], os.environ, 600)"
    )
    return program, began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_a_run_ends_what_is_under_way(tmp_path: Path, number: signal.Signals) -> None:
    """A suite is a session of its own, so that it can be ended with all that it started; it hears of no Ctrl-C."""
    program, began = ended_here("exec sleep 600", tmp_path)
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as running:
        asyncio.run(until(began.exists))
        running.send_signal(number)
    assert running.returncode == 128 + number
    asyncio.run(until(lambda: state(int(began.read_text())) in {"", "Z"}))


INTERRUPTED_AT_ITS_START = """
import os, signal, subprocess, time
from pathlib import Path

class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        while not Path({began!r}).exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

subprocess.Popen = Interrupted
"""


def test_a_suite_that_is_interrupted_at_its_start_is_ended_too(tmp_path: Path) -> None:
    program, began = ended_here("exec sleep 600", tmp_path)
    interrupted = INTERRUPTED_AT_ITS_START.format(began=str(began))
    done = subprocess.run([sys.executable, "-c", interrupted + program], check=False, stderr=subprocess.DEVNULL)
    assert done.returncode == 128 + signal.SIGINT
    asyncio.run(until(lambda: state(int(began.read_text())) in {"", "Z"}))


def test_what_a_suite_leaves_behind_is_ended(tmp_path: Path) -> None:
    program, began = ended_here("exit 0", tmp_path)
    subprocess.run([sys.executable, "-c", program], check=True)
    asyncio.run(until(lambda: state(int(began.read_text())) in {"", "Z"}))


def test_the_tests_of_a_file_that_a_layer_names_have_its_name_in_the_report() -> None:
    assert __name__.endswith(module_of(Path(__file__)))


def test_a_layer_without_tests_fails(run: Callable[..., Ended]) -> None:
    """An empty layer would otherwise look like a passing one."""
    ended = run({"one": ""})
    assert (ended.code, ended.last_line) == (1, "0 passed, 1 failed")
    assert "no tests" in ended.closing


@pytest.mark.parametrize(("circle", "passed"), [(Circle.QUICK, 1), (Circle.USUAL, 2), (Circle.ALL, 4)], ids=str)
def test_each_circle_of_tests_has_those_of_the_one_before_it(
    run: Callable[..., Ended], circle: Circle, passed: int
) -> None:
    """A folder all of whose tests are of a larger circle is no folder without tests."""
    ended = run({"one": OF_EACH_CIRCLE, "two": ONLY_FULL}, circle)
    assert (ended.code, ended.last_line) == (0, f"{passed} passed, 0 failed"), ended.closing


@pytest.mark.parametrize(
    ("names", "front", "beside"),
    [
        pytest.param(["lint", "unit", "golden", "e2e"], ["lint", "e2e"], ["unit", "golden"], id="a layer waits"),
        pytest.param(["lint", "unit", "golden"], ["lint", "unit"], ["golden"], id="none does"),
        pytest.param(["unit"], ["unit"], [], id="one quick layer"),
    ],
)
def test_quick_layers_run_beside_those_that_wait(
    monkeypatch: pytest.MonkeyPatch, names: list[str], front: list[str], beside: list[str]
) -> None:
    """The first ones of both wait for each other."""
    meet = threading.Barrier(2)
    ran: list[tuple[str, bool]] = []

    def run_layer(layer: Layer, _: Preparation, *, beside: bool) -> Outcome:
        if layer.name in both:
            meet.wait(60)
        ran.append((layer.name, beside))
        return Outcome(layer.name, (), (), 0, 0)

    both = {front[0], beside[0]} if beside else set()
    monkeypatch.setattr(run_tests, "run_layer", run_layer)
    layers = [next(layer for layer in LAYERS if layer.name == name) for name in names]
    assert [one.layer for one in run_tests.run_layers(layers, Preparation(()))] == names
    assert [name for name, is_beside in ran if is_beside] == beside
    assert [name for name, is_beside in ran if not is_beside] == front


def test_a_layer_that_there_is_not_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """`make test LAYERS=e2e,gitop` starts nothing."""
    assert run_tests.main(["e2e", "gitop"]) == 2
    assert capsys.readouterr().err.startswith("LAYERS: there is no layer gitop: write some of lint, unit, ")


@pytest.mark.parametrize(("circle", "least_s", "most_s"), [(Circle.USUAL, 500, 600), (Circle.ALL, 1700, 1800)])
def test_a_layer_with_all_its_examples_has_three_times_as_long(
    circle: Circle, least_s: float, most_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At night a layer is not killed for having more to do than the limit of `make test` is for."""
    left: list[float] = []

    def run_suite(_: object, given: Given) -> list[Lane]:
        left.append(given.give_up - time.monotonic())
        return []

    monkeypatch.setattr(run_tests, "CIRCLE", circle)
    monkeypatch.setattr(run_tests, "run_suite", run_suite)
    run_tests.run_layer(Layer("golden", 1, 5, 600), Preparation(()))
    assert least_s < left[0] <= most_s
