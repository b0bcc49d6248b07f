"""The runner of the test layers, run on small projects of its own: what it counts, and what never passes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import run_tests
from testing.circles import VARIABLE, Circle
from testing.layers import CORES, FIXED_WORK_S
from testing.machine import CACHE, CpuShares
from testing.preparation import Preparation
from testing.pytest_run import Lane
from testing.table import Outcome, table

pytestmark = pytest.mark.xdist_group("runner")  # one lane: its tests read two runs

ROOT = Path(__file__).parents[3]

# Each of two dozen processes would import these libraries, which none of these projects needs.
OPTIONS = "--import-mode=importlib -p no:hypothesispytest -p no:anyio -p no:schemathesis -p no:locust"
MARKS = "\n  alone\n  full\n  slow"
PASSES = "def test_it(): pass\n"
FAILS = "def test_it(): assert False, 'the reason'\n"
SKIPS = "import pytest\n\ndef test_it(): pytest.skip('sshd is missing')\n"
BREAKS = "import no_such_module\n"
KILLS = "import os\n\ndef test_it(): os._exit(0)\n"
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
GOOD = {"one": PASSES, "meet": LANES_MEET, "alone": ALONE_AND_NOT, "reruns": RERUNS}
BAD = {"fails": FAILS, "skips": SKIPS, "breaks": BREAKS, "empty": "", "one": PASSES}


@dataclass(frozen=True, slots=True)
class Ended:
    """A run of the simulation layer: its exit code, and what it printed from the header of its table on."""

    code: int
    closing: str

    @property
    def last_line(self) -> str:
        """The line of counts."""
        return self.closing.splitlines()[-1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Ended]:
    """Run the simulation layer of a project whose folders there hold one test file each, in a circle."""

    def run_layer(folders: Mapping[str, str], circle: Circle = Circle.USUAL) -> Ended:
        project = tmp_path_factory.mktemp("project")
        shutil.copytree(ROOT / "scripts", project / "scripts")
        (project / ".venv").symlink_to(sys.prefix)
        (project / "pytest.ini").write_text(f"[pytest]\naddopts = {OPTIONS}\nmarkers = {MARKS}\n")
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
        return Ended(done.returncode, "suite " + done.stdout.split("\nsuite ")[-1])

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
    assert (good.code, good.last_line) == (0, "7 passed, 0 failed"), good.closing


def test_lanes_run_side_by_side(good: Ended) -> None:
    """Each of two tests waits for the other one."""
    assert good.code == 0, good.closing


def test_tests_that_run_alone_come_after_the_lanes_in_a_row_of_their_own(good: Ended) -> None:
    """They have the machine for themselves."""
    assert good.code == 0, good.closing
    rows = good.closing.splitlines()[1:3]
    assert [(*row.split("  ")[:1], *row.split()[-8:-6]) for row in rows] == [
        ("simulation", str(os.cpu_count()), "6"),
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
    assert header.split()[-5:] == ["cpu", "s", "idle", "stolen", "reruns"]
    assert [word[-1] for word in row.split()[-3:-1]] == ["%", "%"]
    assert int(row.split()[-4]) > 0
    assert "simulation.meet.test_a::test_one" in good.closing.split("slowest tests")[1]


def test_what_mypy_found_of_a_library_is_kept_for_all_checkouts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the first check of each checkout takes a minute."""
    monkeypatch.delenv("MYPY_CACHE_DIR", raising=False)
    monkeypatch.setattr(run_tests, "lint_commands", lambda _: [("printenv", "MYPY_CACHE_DIR")])
    assert run_tests.run_lint({}).failures == ()
    assert capsys.readouterr().out.splitlines()[-1] == str(CACHE / "mypy")


def test_the_cpu_time_of_a_run_is_told_in_multiples_of_a_fixed_piece_of_work() -> None:
    """So that runs of two machines can be compared."""
    lane = Lane("unit", CORES, (), (), seconds=80 / CORES, cpu=CpuShares(idle=0.25, stolen=0.125))
    told = "in all 42 s, 50 s of CPU in the suites, 1000 times the fixed piece of work, which took 0.050 s of CPU"
    assert told in table([Outcome("unit", (lane,), (), seconds=40, budget_s=100)], Preparation(()), 42, 0.05)


def test_a_budget_is_in_proportion_to_what_the_cpus_need_for_the_fixed_piece_of_work() -> None:
    """A slow machine does not say at each run that each layer is over its budget."""
    outcome = Outcome("unit", (), (), seconds=150, budget_s=100)
    told = "unit took 150 s; its budget is 100 s on CPUs of this speed"
    assert told in table([outcome], Preparation(()), 150, FIXED_WORK_S)
    assert "budget" not in table([outcome], Preparation(()), 150, 2 * FIXED_WORK_S)


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


def test_a_process_that_ends_early_with_exit_code_0_fails(run: Callable[..., Ended]) -> None:
    """Its tests did not pass, whatever it says."""
    ended = run({"one": KILLS})
    assert ended.code == 1
    assert "crashed" in ended.closing.split("slowest tests")[1]


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
