"""Comparisons that `sshload compare` runs here, their tests one by one, and what this machine did meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import yaml

_SSHLOAD = Path(sys.executable).with_name("sshload")
_EXAMPLES = Path(__file__).parents[2] / "examples/case-study"
_ENDS_WITHIN_S = 60.0
"""How long a comparison may take to end that was aborted."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One test of a comparison. `problem` says why it has no figures."""

    variant: str
    round: int
    verdict: str
    problem: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Added:
    """What a variant adds to its reference, in milliseconds: the mean over the rounds, and its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine did meanwhile: the shares of its CPU time in percent, and the load average before."""

    idle_percent: float
    stolen_percent: float
    load_before: float

    def __str__(self) -> str:
        """Return it as a sentence."""
        return (
            f"Of the CPU time {self.idle_percent:.0f} % was idle, and the host took away {self.stolen_percent:.1f} %. "
            f"The load average was {self.load_before:.1f} before."
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison that was run: as many of its tests as there was time for.

    `added` is what each variant adds to the mean of the whole iteration, of those of which there is an interval.
    """

    name: str
    trials: Sequence[Trial]
    machine: Machine
    added: Mapping[str, Added]

    def values(self, variant: str, figure: str) -> list[float]:
        """Return a figure of each test of a variant that has it, in the order of the rounds."""
        return [one.figures[figure] for one in self.trials if one.variant == variant and figure in one.figures]

    def shown(self, variant: str, figure: str, digits: int = 1) -> str:
        """Return the spread of a variant's figure, or why it has none: no test of it was measured, or for too short."""
        values = self.values(variant, figure)
        if not values and any(one.variant == variant and one.figures for one in self.trials):
            return "too few samples"
        return spread(values, digits)

    def ratios(self, variant: str, reference: str, figure: str) -> list[float]:
        """Return the ratio of a variant's figure to the reference's, for each round in which both have it."""
        return [ours / theirs for ours, theirs in self._pairs(variant, reference, figure) if theirs]

    def differences(self, variant: str, reference: str, figure: str) -> list[float]:
        """Return by how much a variant's figure is more than the reference's, for each round in which both have it."""
        return [ours - theirs for ours, theirs in self._pairs(variant, reference, figure)]

    def _pairs(self, variant: str, reference: str, figure: str) -> list[tuple[float, float]]:
        of = {(one.variant, one.round): one.figures[figure] for one in self.trials if figure in one.figures}
        rounds = sorted({number for _, number in of})
        both = [number for number in rounds if (variant, number) in of and (reference, number) in of]
        return [(of[variant, number], of[reference, number]) for number in both]

    def problems(self, variant: str) -> str:
        """Return why tests of a variant have no figures, once for each verdict; empty where all have."""
        without = [one for one in self.trials if one.variant == variant and not one.figures]
        by_verdict = {one.verdict: one.problem for one in without}
        return f"{len(without)} not measured: {' / '.join(by_verdict.values())}" if without else ""

    def tests(self, variant: str) -> str:
        """Return how many tests of a variant have figures, and why others have none."""
        count = sum(one.variant == variant and bool(one.figures) for one in self.trials)
        return "; ".join(filter(None, (str(count), self.problems(variant))))

    def document(self) -> dict[str, Any]:
        """Return all of it, for a file."""
        return {
            "comparison": self.name,
            "machine": asdict(self.machine),
            "trials": [asdict(one) for one in self.trials],
            "added": {name: asdict(one) for name, one in self.added.items()},
        }


@dataclass(slots=True)
class Study:
    """Where comparisons are run, and until when, in seconds of the monotonic clock."""

    folder: Path
    until_s: float
    kept: list[dict[str, Any]] = field(default_factory=list)
    """All that was run so far."""

    def run(self, document: Mapping[str, Any], *options: str | Path) -> Compared:
        """Run a comparison, and abort it where there is no time left. Raises RuntimeError where it could not begin."""
        name = document["metadata"]["name"]
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document))
        load_before, before = os.getloadavg()[0], _cpu_times()
        status = self._status([str(_SSHLOAD), "compare", "-f", str(path), "--output", "json", *map(str, options)])
        machine = _machine(before, _cpu_times(), load_before)
        trials = [_trial(one) for one in status.get("tests", ())]
        if not trials and self.has_time:
            raise RuntimeError(f"{name}: {status.get('message', 'no test of it was run')}")
        compared = Compared(name, trials, machine, dict(_added(status)))
        self.kept.append(compared.document())
        return compared

    @property
    def has_time(self) -> bool:
        """Whether another comparison may begin."""
        return time.monotonic() < self.until_s

    def _status(self, command: Sequence[str]) -> dict[str, Any]:
        # A shell in the background hands down an ignored SIGINT.
        with subprocess.Popen(["env", "--default-signal=INT", *command], stdout=subprocess.PIPE, text=True) as process:
            try:
                out, _ = process.communicate(timeout=max(1.0, self.until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                try:
                    out, _ = process.communicate(timeout=_ENDS_WITHIN_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise
            except BaseException:
                process.terminate()
                raise
        if not out:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode} and printed nothing")
        status: dict[str, Any] = json.loads(out)["status"]
        return status


def example(name: str) -> dict[str, Any]:
    """Return a comparison of the case study as it is written."""
    document: dict[str, Any] = yaml.safe_load((_EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    return document


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return the median, and the least and the most of several values; "not measured" where there is none."""
    if not values:
        return "not measured"
    shown = f"{median(values):,.{digits}f}"
    return shown if len(values) == 1 else f"{shown} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def _trial(test: Mapping[str, Any]) -> Trial:
    said = test.get("problem", "")
    return Trial(test["variant"], test["round"], test["verdict"], said, test.get("figures", {}))


def _added(status: Mapping[str, Any]) -> Iterator[tuple[str, Added]]:
    for variant in status.get("results", {}).get("variants", ()):
        for one in variant.get("figures", ()):
            if (one.get("step"), one["figure"]) == ("total", "meanMs") and "lowMs" in one:
                yield variant["name"], Added(one["differenceMs"], one["lowMs"], one["highMs"])


def _cpu_times() -> list[int]:
    """Return the first line of proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        return [int(word) for word in file.readline().split()[1:9]]


def _machine(before: Sequence[int], after: Sequence[int], load_before: float) -> Machine:
    spent = [late - early for early, late in zip(before, after, strict=True)]
    whole = max(1, sum(spent))
    idle = spent[3] + spent[4]
    return Machine(100 * idle / whole, 100 * spent[7] / whole, load_before)
