"""Run the layers of tests that the command line names, and end with one table and one line of counts.

A layer passes when at least one test of it ran and every test passed: a skip or an empty folder is a failure, with
its reason. Each folder of a layer has a pytest process of its own, because importing Locust patches its process.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / ".cache/test"
VENV = ROOT / ".venv/bin"
PREPARING_LIMIT_S = 30 * 60
OWN_SSH2 = "scripts/debian-packages cmake gcc libc6-dev make patch python3-dev zlib1g-dev"  # it is compiled on the way


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer runs: its folders in tests/, what must be there before, and the time it may take."""

    name: str
    limit_s: int
    folders: Callable[[], list[Path]]
    prepare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one layer ended: counts, duration, and a sentence per failure."""

    layer: str
    passed: int
    failures: tuple[str, ...]
    duration_s: float


def one(name: str) -> Callable[[], list[Path]]:
    """Return the folder itself, as a layer with one pytest process."""
    return lambda: [ROOT / "tests" / name]


def each(name: str) -> Callable[[], list[Path]]:
    """Return the folders in it, for a layer with a pytest process per folder."""

    def find() -> list[Path]:
        inside = (ROOT / "tests" / name).glob("*/")
        return sorted(folder for folder in inside if not folder.name.startswith(("_", ".")))

    return find


LAYERS = (
    Layer("unit", 10 * 60, each("unit"), (OWN_SSH2,)),
    Layer("simulation", 10 * 60, one("simulation")),
    Layer("golden", 5 * 60, one("golden"), ("scripts/tool helm",)),
    Layer(
        "integration",
        40 * 60,
        each("integration"),
        (
            OWN_SSH2,
            "scripts/debian-packages git openssh-server prometheus",
            "tests/cluster/cluster build kubernetes etcd",
        ),
    ),
    Layer("e2e", 40 * 60, one("e2e"), ("scripts/bring-up",)),
)


def lint_commands() -> Iterator[tuple[str, ...]]:
    """Yield every check of the lint layer; all of them run, whatever the ones before said."""
    shell = [
        str(path.relative_to(ROOT))
        for path in sorted([*ROOT.glob("scripts/*"), ROOT / "tests/cluster/cluster", ROOT / ".ci/run"])
        if path.is_file() and path.open(encoding="utf-8").readline().startswith(("#!/usr/bin/env bash", "#!/bin/sh"))
    ]
    yield f"{VENV}/ruff", "check", "."
    yield f"{VENV}/ruff", "format", "--check", "."
    yield (f"{VENV}/mypy",)
    yield (f"{VENV}/lint-imports",)
    yield "shellcheck", "--external-sources", *shell
    yield tool("helm"), "lint", "--strict", "charts/sshload"


def tool(name: str) -> str:
    """Return the path of one of the project's tools; it is compiled if it is missing."""
    return output(f"scripts/tool {name}").strip()


def output(command: str) -> str:
    """Return what the command prints, its complaints passed on; raises CalledProcessError or TimeoutExpired."""
    words = shlex.split(command)
    done = subprocess.run(words, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE, timeout=PREPARING_LIMIT_S)
    return done.stdout


def run_lint() -> Outcome:
    """Run every check of the lint layer."""
    began = time.monotonic()
    output("scripts/debian-packages shellcheck")
    passed, failures = 0, []
    for command in lint_commands():
        shown = " ".join(Path(word).name if word.startswith("/") else word for word in command)
        print(f"$ {shown}", flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode == 0:
            passed += 1
        else:
            failures.append(shown)
    return Outcome("lint", passed, tuple(failures), time.monotonic() - began)


def environment_of(layer: Layer) -> dict[str, str]:
    """Prepare what the layer needs; return the environment that its tests run in. Raises as `output` does."""
    environment = dict(os.environ)
    for command in layer.prepare:
        for line in output(command).splitlines():
            name, separator, value = line.partition("=")
            if separator and name.isidentifier():
                environment[name] = "".join(shlex.split(value))
    if layer.name == "golden":
        environment["SSHLOAD_HELM"] = tool("helm")
    return environment


def run_layer(layer: Layer) -> Outcome:
    """Run the pytest processes of one layer, one after the other, within the layer's time."""
    began = time.monotonic()
    try:
        environment = environment_of(layer)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return Outcome(layer.name, 0, (f"preparing failed: {error}",), time.monotonic() - began)
    passed, failures = 0, []
    give_up = time.monotonic() + layer.limit_s
    for folder in layer.folders():
        folder_passed, folder_failures = run_pytest(layer, folder, environment, give_up - time.monotonic())
        passed += folder_passed
        failures += folder_failures
    if not passed and not failures:
        failures.append("it has no tests")
    return Outcome(layer.name, passed, tuple(failures), time.monotonic() - began)


def run_pytest(layer: Layer, folder: Path, environment: dict[str, str], limit_s: float) -> tuple[int, list[str]]:
    """Run pytest on one folder. Return how many tests passed, and a sentence for everything that did not."""
    shown = str(folder.relative_to(ROOT))
    report = REPORTS / f"{layer.name}-{folder.name}.xml"
    print(f"\n$ pytest {shown}", flush=True)
    command = [f"{VENV}/pytest", "-q", "--tb=short", "--durations=5", f"--junitxml={report}", shown]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        code = process.wait(max(limit_s, 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 0, [f"{shown}: took longer than the {layer.limit_s} s that the layer {layer.name} may take"]
    if not report.exists():
        return 0, [f"{shown}: pytest ended with exit code {code} and no report"]
    passed, failures = read_report(report)
    if not passed and not failures:
        failures.append(f"{shown}: no tests")
    if code and not failures:
        failures.append(f"{shown}: pytest ended with exit code {code}")
    return passed, failures


def read_report(report: Path) -> tuple[int, list[str]]:
    """Return the count of passed tests and a sentence for each test that failed, broke or was skipped."""
    passed, failures = 0, []
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it a moment ago
        name = f"{case.get('classname', '').removeprefix('tests.')}::{case.get('name')}"
        wrong = [child for child in case if child.tag in {"failure", "error", "skipped"}]
        passed += not wrong
        failures += [
            f"{name}: {child.tag}: {''.join((child.get('message') or '').splitlines()[:1])}" for child in wrong[:1]
        ]
    return passed, failures


def table(outcomes: list[Outcome]) -> str:
    """Return the closing table, with the failures below it and the counts in its last line."""
    lines = ["", f"{'layer':<12} {'passed':>7} {'failed':>7} {'seconds':>8}"]
    lines += [f"{o.layer:<12} {o.passed:>7} {len(o.failures):>7} {o.duration_s:>8.1f}" for o in outcomes]
    failures = [f"  {o.layer}: {failure}" for o in outcomes for failure in o.failures]
    lines += ["", *failures] if failures else []
    return "\n".join([*lines, "", counts(outcomes)])


def counts(outcomes: list[Outcome]) -> str:
    """Return the one line that says it all."""
    return f"{sum(o.passed for o in outcomes)} passed, {sum(len(o.failures) for o in outcomes)} failed"


def main(names: list[str]) -> int:
    """Run the named layers in their order; return the exit code."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    for old in REPORTS.iterdir():
        old.unlink()
    known = {layer.name: layer for layer in LAYERS}
    outcomes = []
    for name in names:
        print(f"\n=== {name}", flush=True)
        outcomes.append(run_lint() if name == "lint" else run_layer(known[name]))
    (REPORTS / "summary").write_text(counts(outcomes) + "\n", encoding="utf-8")
    print(table(outcomes), flush=True)
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
