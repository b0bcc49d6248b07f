"""Run the layers of tests that the command line names, and end with one table and one line of counts.

A layer passes when at least one test of it ran and every test passed: a skip or an empty folder is a failure, with
its reason. Tests run side by side in lanes. Those that are marked `alone` follow, one after the other. A test that
failed runs once more, by itself: where it passes then, it is counted and named as flaky.

Layers run one after the other, but quick ones beside the others, at a lower priority: some of those wait for servers
or a cluster.
"""

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread

from testing.circles import CIRCLE, Circle
from testing.layers import LAYERS, LINT, NEEDS, ROOT, Layer
from testing.machine import CACHE, cpu_times, fixed_work_s
from testing.preparation import Preparation, PreparationError, RootNeededError, serving
from testing.pytest_run import REPORTS, Given, Lane, Test, end_all_at_signals, ended, run_suite
from testing.table import Outcome, Whole, counts, how_it_failed, table

VENV = ROOT / ".venv/bin"
_OTHER_SHELL_SCRIPTS = (".ci/run", "ssh-library/build-wheel", "tests/cluster/cluster")
"""Those that are not in scripts/."""
_ALL_TAKES = 3
"""How many times its limit a layer may take that runs all examples; layers of one program have a limit for that."""


def lint_commands(environment: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield every check of the lint layer, the slowest first; all of them run, even if others fail."""
    shell = [
        str(path.relative_to(ROOT))
        for path in sorted([*ROOT.glob("scripts/*"), *(ROOT / one for one in _OTHER_SHELL_SCRIPTS)])
        if path.is_file() and path.open(encoding="utf-8").readline().startswith(("#!/usr/bin/env bash", "#!/bin/sh"))
    ]
    yield (f"{VENV}/mypy",)
    yield (f"{VENV}/lint-imports",)
    yield "shellcheck", "--external-sources", *shell
    yield environment["SSHLOAD_ACTIONLINT"], "-no-color"
    yield f"{VENV}/ruff", "check", "."
    yield f"{VENV}/ruff", "format", "--check", "."


def run_commands(name: str, lanes: int, commands: Iterable[tuple[str, ...]], limit_s: float) -> Lane:
    """Run commands side by side; each counts as a test, and has the whole time."""
    began, cpu = time.monotonic(), cpu_times()
    with ThreadPoolExecutor(lanes) as pool:
        checks = tuple(pool.map(lambda command: _check(command, limit_s), commands))
    seconds, shares = time.monotonic() - began, cpu_times().share_since(cpu)
    return Lane(name, lanes, checks, (), seconds, shares, sum(check.cpu_s for check in checks))


def _check(command: tuple[str, ...], limit_s: float) -> Test:
    began = time.monotonic()
    # Checkouts share mypy's cache: the first check without one takes a minute. mypy hashes files whose times differ.
    environment = {"MYPY_CACHE_DIR": str(CACHE / "mypy"), **os.environ}
    with TemporaryFile("w+") as output:
        code, cpu_s = ended(command, environment, limit_s, output)
        output.seek(0)
        said = output.read()
    seconds = time.monotonic() - began
    shown = " ".join(Path(word).name if word.startswith("/") else word for word in command)
    print(f"\n$ {shown}\n{said}", end="", flush=True)
    failure = f"exit code {code}" if code else ""
    if code and seconds > limit_s:
        failure = f"took longer than {limit_s:.0f} s, and was killed"
    return Test(shown, seconds, failure, said, cpu_s=cpu_s)


def run_layer(layer: Layer, preparation: Preparation, *, beside: bool = False) -> Outcome:
    """Run one layer within its time limit, when its needs are prepared; beside others, if so, by what they leave."""
    lanes: list[Lane] = []
    problems: list[str] = []
    output, need_root = "", tuple[str, ...]()
    limit_s = layer.limit_s * (_ALL_TAKES if CIRCLE is Circle.ALL and not layer.commands else 1)
    began = time.monotonic()
    try:
        environment = preparation.environment(layer.needs)
        began = time.monotonic()
        if layer.name == LINT:
            lanes.append(run_commands(layer.name, layer.lanes, lint_commands(environment), limit_s))
        elif layer.commands:
            lanes.append(run_commands(layer.name, layer.lanes, layer.commands, limit_s))
        else:
            for suite in layer.suites():
                with serving(suite.services, environment) as served:
                    lanes += run_suite(suite, Given(served, began + limit_s, beside))
    except RootNeededError as error:
        need_root = (f"{layer.name}: {error}",)
    except PreparationError as error:
        problems.append(str(error))
        output = error.output
    if not problems and not need_root and not any(lane.tests or lane.problems or lane.need_root for lane in lanes):
        problems.append("it has no tests")
    seconds = time.monotonic() - began
    budget_s, is_quick = inf if beside else layer.budget_s, layer.is_quick
    return Outcome(layer.name, tuple(lanes), tuple(problems), seconds, budget_s, output, need_root, is_quick)


def run_layers(layers: Sequence[Layer], preparation: Preparation) -> list[Outcome]:
    """Run layers one after the other: quick ones beside the others, all but the first one where no layer waits.

    A core is idle whenever a suite is collected, too.
    """
    outcomes: dict[str, Outcome] = {}

    def run(several: Iterable[Layer], *, beside: bool) -> None:
        for layer in several:
            print(f"\n=== {layer.name}{', beside the others' if beside else ''}", flush=True)
            outcomes[layer.name] = run_layer(layer, preparation, beside=beside)

    quick = [layer for layer in layers if layer.is_quick]
    beside = quick if any(layer.waits for layer in layers) else quick[1:]
    running = Thread(target=run, args=(beside,), kwargs={"beside": True}, daemon=True)
    running.start()
    run((layer for layer in layers if layer not in beside), beside=False)
    running.join()
    return [outcomes[layer.name] for layer in layers]


def main(names: list[str]) -> int:
    """Run the named layers; return the exit code, 2 where there is no layer of a name."""
    if unknown := set(names) - {layer.name for layer in LAYERS}:
        known = ", ".join(layer.name for layer in LAYERS)
        print(f"LAYERS: there is no layer {', '.join(sorted(unknown))}: write some of {known}", file=sys.stderr)
        return 2
    end_all_at_signals()
    began, cpu, fixed_work_before_s = time.monotonic(), cpu_times(), fixed_work_s()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else each of thousands of processes compiles all that it imports
    os.environ.setdefault("GOGC", "400")  # Go's collector takes a third of an API server's CPU otherwise
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.iterdir():
        old.unlink()
    layers = [next(layer for layer in LAYERS if layer.name == name) for name in names]
    needed = {need for layer in layers for need in layer.needs}
    preparation = Preparation(tuple(need for need in NEEDS if need in needed))
    preparation.start()
    outcomes = run_layers(layers, preparation)
    (REPORTS / "summary").write_text(counts(outcomes) + "\n", encoding="utf-8")
    speed_s = (fixed_work_before_s + fixed_work_s()) / 2
    whole = Whole(time.monotonic() - began, cpu_times().share_since(cpu), speed_s)
    closing = table(outcomes, preparation, whole)
    (REPORTS / "failed").write_text("\n".join(how_it_failed(outcomes)) + "\n", encoding="utf-8")
    (REPORTS / "table").write_text(closing + "\n", encoding="utf-8")
    print(closing, flush=True)
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
