"""A simulated world of one comparison: its object, its tests and their pods, and an operator that may be killed.

`operator_pass` carries decisions out as the operator does, and can be cut short between any two of its requests.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from plans import INSTALLATION, quickstart
from sshload_operator.api.comparison.spec import ComparisonSpec, parse_comparison
from sshload_operator.api.load_test import parse
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import Remembered, remembered
from sshload_operator.control.live.owner_pass import execute
from sshload_operator.decision.comparison.decide import ComparisonSubject
from sshload_operator.decision.comparison.facts import ObservedTest, observed_test
from sshload_operator.decision.comparison.plan import (
    ComparisonPlan,
    comparison_hash,
    make_comparison_plan,
    test_manifest,
)
from sshload_operator.decision.life_cycle import current_run, decide
from sshload_operator.decision.owner import Obstacle, OwnedTest, OwnerDecision, OwnerSubject
from sshload_operator.planning.plan import TestIdentity, spec_hash
from sshload_operator.state import Announcement
from statuses import RESULTS, step_json

Status = Mapping[str, Any]
STEPS_OF_A_PASS = 6


class Killed(Exception):  # noqa: N818 - it is no error
    """The operator is killed here."""


def comparison_spec(*names: str, repeats: int = 3, **changes: Any) -> dict[str, Any]:
    """Return a spec whose variants differ in MaxStartups."""
    variants = [
        {"name": name, "patch": {"target": {"managed": {"sshd": {"maxStartups": f"{number}0:30:1000"}}}}}
        for number, name in enumerate(names or ("a", "b"), start=1)
    ]
    return {"base": quickstart(), "variants": variants, "repeats": repeats, **changes}


def measured(p50_ms: float = 10.0, error_percent: float = 0.0, verdict: str = "Passed") -> dict[str, Any]:
    """Return the part of a test's status that its end adds."""
    return {
        "verdict": verdict,
        "reason": "NoThresholds",
        "message": "done",
        "results": {
            **RESULTS,
            "errorPercent": error_percent,
            "steps": [step_json("login", {50: p50_ms / 2}), step_json("total", {50: p50_ms})],
        },
    }


@cache
def _parsed(text: str) -> tuple[ComparisonSpec, str] | SpecError:
    """Return a spec with its hash, or why it cannot be parsed; the same few are parsed thousands of times."""
    try:
        spec = parse_comparison(json.loads(text))
    except SpecError as error:
        return error
    return spec, comparison_hash(spec)


@cache
def _planned(comparison: TestIdentity, text: str, run: int) -> ComparisonPlan | SpecError:
    parsed = _parsed(text)
    assert not isinstance(parsed, SpecError)
    spec, _ = parsed
    return make_comparison_plan(comparison, spec, run)


@lru_cache(maxsize=256)
def _observed(text: str) -> ObservedTest:
    """Read a test; the same few are read thousands of times."""
    return observed_test(json.loads(text))


@dataclass(slots=True)
class SimComparison:
    """The world. `tests` are as the API server has them; `pods` the names of pods by the test they are of."""

    spec: dict[str, Any] = field(default_factory=comparison_spec)
    generation: int = 1
    status: Status = field(default_factory=dict)
    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, set[str]] = field(default_factory=dict)
    now: datetime = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    created: list[str] = field(default_factory=list)
    refused: Obstacle | None = None
    last: OwnerDecision | None = None
    _read: tuple[Status, Remembered[ComparisonStatus]] | None = None

    @property
    def memory(self) -> Remembered[ComparisonStatus]:
        """What the operator reads in the status, read once per status: it is asked for several times in each pass."""
        if self._read is None or self._read[0] is not self.status:
            self._read = self.status, remembered(ComparisonStatus, self.status)
        return self._read[1]

    @property
    def comparison(self) -> TestIdentity:
        """The object's metadata."""
        return TestIdentity("load-tests", "cmp", "11111111-2222-3333-4444-555555555555", self.generation)

    @property
    def plan(self) -> ComparisonPlan | SpecError:
        """The plan as the operator makes it."""
        text = json.dumps(self.spec)
        parsed = _parsed(text)
        if isinstance(parsed, SpecError):
            return parsed
        _, measures = parsed
        return _planned(
            self.comparison,
            text,
            current_run(measures, self.comparison.generation, self.memory.status),
        )

    # the user

    def edit(self, **changes: Any) -> None:
        """Change the spec; like the API server, count a generation only where something changed."""
        if {**self.spec, **changes} != self.spec:
            self.spec = {**self.spec, **changes}
            self.generation += 1

    # the API server, and the operator as it works on the tests

    def under_way(self) -> list[str]:
        """Return the tests that are not over."""
        return [name for name, test in self.tests.items() if "verdict" not in test["status"]]

    def make_and_end_all(self, end: Mapping[str, Any]) -> None:
        """Let all tests of the plan have been made, and have come to this end."""
        assert isinstance(self.plan, ComparisonPlan)
        for place in self.plan.places:
            self._create(test_manifest(self.plan, place))
            metadata, spec = self.tests[place.test]["metadata"], self.tests[place.test]["spec"]
            known = {"phase": "Finished", "observedGeneration": 1, "specHash": place.spec_hash}
            self.tests[place.test] = {"metadata": metadata, "spec": spec, "status": {**known, **end}}
        self.pods.clear()

    def end(self, name: str, end: Mapping[str, Any] | None = None, *, pods_stay: bool = False) -> None:
        """Let a test come to its end."""
        test = self.tests[name]
        known = {"phase": "Finished", "observedGeneration": test["metadata"]["generation"]}
        measures = "" if (end or {}).get("reason") == "InvalidSpec" else spec_hash(parse(test["spec"]))
        test["status"] = {**known, "specHash": measures, **(measured() if end is None else end)}
        if not pods_stay:
            self.pods.pop(name, None)

    def end_aborted(self, *, pods_stay: bool = False) -> None:
        """Let the tests that were asked to end come to their end."""
        end = {"verdict": "Aborted", "reason": "AbortRequested", "message": "asked for"}
        for name in self.under_way():
            if self.tests[name]["spec"].get("abort"):
                self.end(name, end, pods_stay=pods_stay)

    def delete(self, name: str, *, pods_stay: bool = False) -> None:
        """Delete a test; garbage collection takes its pods, sooner or later."""
        self.tests.pop(name, None)
        if not pods_stay:
            self.pods.pop(name, None)

    # the operator

    def operator_pass(self, steps: int = STEPS_OF_A_PASS) -> None:
        """Observe, decide and apply, killed before the request with this number."""
        self.last = None
        passing = execute(self.subject(), _World(self, iter(range(steps))))
        try:
            passing.send(None)  # nothing in it waits
        except StopIteration as done:
            self.last = done.value
        except Killed:
            return

    def twin(self) -> "SimComparison":
        """Return the same world once more: what is done in one of them changes nothing in the other.

        They share statuses and metadata, which are replaced as a whole.
        """
        tests = {name: {**test, "spec": dict(test["spec"])} for name, test in self.tests.items()}
        pods = {name: set(of_test) for name, of_test in self.pods.items()}
        return replace(self, tests=tests, pods=pods, created=list(self.created))

    def settle(self) -> None:
        """Pass until there is nothing more to do but to wait."""
        for _ in range(10):
            before = self.twin()
            self.operator_pass()
            if (before.status, before.tests) == (self.status, self.tests):
                return
        raise AssertionError(f"no end of changes: {self.last}")

    def conditions(self) -> dict[str, str]:
        """Return the status of each condition."""
        return {item["type"]: item["status"] for item in self.status["conditions"]}

    def subject(self) -> ComparisonSubject:
        """Return the comparison as an operator sees it that has not looked for its tests."""
        return ComparisonSubject(
            now=self.now,
            comparison=self.comparison,
            plan=self.plan,
            remembered=self.memory,
            installation=INSTALLATION,
        )

    def observed(self) -> tuple[ObservedTest, ...]:
        """Return the tests as they are."""
        return tuple(_observed(json.dumps(test)) for test in self.tests.values())

    def decide(self) -> OwnerDecision:
        """Ask for the decision on the world as it is, before anybody has looked for pods."""
        return decide(replace(self.subject(), tests=self.observed()))

    def _create(self, manifest: Mapping[str, Any]) -> None:
        name = manifest["metadata"]["name"]
        if name in self.tests:
            return
        metadata = {**manifest["metadata"], "uid": f"uid-{len(self.created)}", "generation": 1}
        self.tests[name] = {"metadata": metadata, "spec": dict(manifest["spec"]), "status": {}}
        self.pods[name] = {f"{name}-master", f"{name}-workers-0"}
        self.created.append(name)

    def _abort(self, name: str) -> None:
        self.tests[name]["spec"]["abort"] = True

    def _write(self, status: Status) -> None:
        self.status = status

    def pass_time(self, seconds: float) -> None:
        """Move the clock."""
        self.now += timedelta(seconds=seconds)


@dataclass(slots=True)
class _World:
    """The simulated cluster as the world in which decisions are carried out, until the operator is killed."""

    cluster: SimComparison
    steps: Iterator[int]

    def _request(self) -> None:
        if next(self.steps, None) is None:
            raise Killed

    def tests(self) -> Sequence[ObservedTest]:
        return self.cluster.observed()

    async def decide(self, subject: OwnerSubject[ObservedTest]) -> OwnerDecision:
        return decide(subject)

    async def pods(self) -> Sequence[str]:
        return sorted(pod for pods in self.cluster.pods.values() for pod in pods)

    async def look_again(self) -> bool:
        return True

    async def is_there(self) -> bool:
        return True

    async def create(self, test: Mapping[str, Any]) -> Obstacle | None:
        if self.cluster.refused is None:
            self._request()
            self.cluster._create(test)
        return self.cluster.refused

    async def abort(self, test: OwnedTest) -> None:
        self._request()
        self.cluster._abort(test.name)

    async def delete(self, test: OwnedTest) -> None:
        self._request()
        self.cluster.delete(test.name, pods_stay=True)

    async def write_status(self, status: Status) -> bool:
        self._request()
        self.cluster._write(status)
        return True

    async def announce(self, announcements: Sequence[Announcement]) -> None:
        """Tell nobody."""
