"""Objects of all kinds as the operator leaves them, and what a tool that waits for them is to make of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from passes import Passes
from plans import quickstart
from runs import pod, snapshot, summary
from schedules import SimSchedule, schedule
from searches import found_118, passed, searched
from sim_comparison import SimComparison, comparison_spec, measured
from sshload_contract.vocabulary import RunEnd, SearchEnd, Timing
from sshload_contract.wire.master_log import Stage
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, TEST, Kind
from sshload_operator.state import Role

GOES_ON: Final = "goes on"
GOOD: Final = "good"
BAD: Final = "bad"

_PODS: Final = (pod(Role.TARGET), pod(Role.MASTER), pod(Role.WORKER))
_SPEC: Final = quickstart(
    workers={"replicas": 1}, thresholds=[{"latency": {"step": "total", "percentile": 99, "below": "2s"}}]
)
_SEARCH: Final = {"capacity": {"arrivals": {"min": 10, "max": 500, "duration": "30s"}}}
_MOST_HELD: Final = searched(passed(10), passed(500), passed(500), end=SearchEnd.MOST_HELD, lower=500)
_UNTIMED: Final = tuple(step for step in summary().trial.steps if step.step != Timing.TOTAL)


@dataclass(frozen=True, slots=True)
class Case:
    """An object, and what is to be made of it: GOES_ON, GOOD or BAD. `says` is a word of the message that is shown."""

    obj: Mapping[str, Any]
    means: str
    says: str


def whole(kind: Kind, spec: Mapping[str, Any], status: Mapping[str, Any], generation: int = 1) -> dict[str, Any]:
    """Return an object as the API server shows it."""
    metadata = {"name": "one", "namespace": "load-tests", "uid": "uid", "generation": generation}
    return {"apiVersion": API_VERSION, "kind": kind.name, "metadata": metadata, "spec": spec, "status": status}


def _nothing(_: object) -> None:
    """Change nothing."""


def _test(change: Callable[[Passes], object]) -> dict[str, Any]:
    passes = Passes(_SPEC)
    passes.run()
    change(passes)
    return whole(TEST, passes.spec, passes.status, passes.generation)


def _ended(**how: Any) -> dict[str, Any]:
    return _test(lambda passes: passes.run(*_PODS, after_s=30, summary=summary(**how)))


def _searched(found: RunSummary, above: float | None = None) -> dict[str, Any]:
    promised = [] if above is None else [{"capacity": {"above": above}}]
    passes = Passes({**_SPEC, "load": _SEARCH, "thresholds": [*_SPEC["thresholds"], *promised]})
    passes.run()
    passes.run(*_PODS, after_s=600, summary=found)
    return whole(TEST, passes.spec, passes.status, passes.generation)


def _aborted(passes: Passes) -> None:
    passes.edit(abort=True)
    passes.run(*_PODS, after_s=10)


def _run_again(passes: Passes) -> None:
    passes.run(*_PODS, after_s=30, summary=summary())
    passes.edit(triggers={"server": "another build"})
    passes.run(after_s=60)


def _never_placed(passes: Passes) -> None:
    waiting = replace(pod(Role.WORKER), phase="Pending", ready=False, blocked_message="0/1 nodes are available")
    passes.run(pod(Role.TARGET), pod(Role.MASTER), waiting, after_s=1)
    passes.run(pod(Role.TARGET), pod(Role.MASTER), waiting, after_s=1000)


def _refused(passes: Passes) -> None:
    passes.edit(load={})
    passes.run(after_s=1)


def _tests() -> dict[str, Case]:
    good = _ended()
    return {
        "test-not-seen": Case(whole(TEST, _SPEC, {"observedGeneration": -1}), GOES_ON, "not seen"),
        "test-preparing": Case(_test(_nothing), GOES_ON, "starting"),
        "test-starting-workers": Case(_test(lambda passes: passes.run(_PODS[0], after_s=1)), GOES_ON, "workers"),
        "test-running": Case(_test(lambda it: it.run(*_PODS, after_s=9, snapshot=snapshot())), GOES_ON, "load runs"),
        "test-collecting": Case(
            _test(lambda it: it.run(*_PODS, after_s=9, snapshot=snapshot(Stage.DRAINING))), GOES_ON, "load is over"
        ),
        "test-passed": Case(good, GOOD, "Passed: "),
        "test-failed": Case(_ended(succeeded=0, failed=600), BAD, "Failed: "),
        "test-inconclusive": Case(_ended(steps=_UNTIMED), BAD, "Inconclusive: "),
        "test-invalid": Case(_ended(end=RunEnd.WORKER_LOST), BAD, "Invalid: "),
        "test-error": Case(_ended(end=RunEnd.TARGET_UNREACHABLE), BAD, "Error: "),
        "test-never-placed": Case(_test(_never_placed), BAD, "Error: "),
        "test-refused": Case(_test(_refused), BAD, "Error: spec.load"),
        "test-aborted": Case(_test(_aborted), BAD, "Aborted: "),
        "test-capacity-found": Case(_searched(found_118()), GOOD, "Passed: the capacity is 118 arrivals/s"),
        "test-capacity-kept": Case(_searched(found_118(), above=100), GOOD, "Passed: "),
        "test-capacity-missed": Case(_searched(found_118(), above=130), BAD, "Failed: "),
        "test-capacity-not-found": Case(_searched(_MOST_HELD), BAD, "Inconclusive: "),
        "test-capacity-more-than-asked": Case(_searched(_MOST_HELD, above=400), GOOD, "Passed: "),
        "test-passed-then-edited": Case({**good, "metadata": {**good["metadata"], "generation": 2}}, GOES_ON, "seen"),
        "test-run-again": Case(_test(_run_again), GOES_ON, "starting"),
    }


def _comparison(change: Callable[[SimComparison], object]) -> dict[str, Any]:
    world = SimComparison(comparison_spec())
    world.settle()
    change(world)
    world.settle()
    return whole(COMPARISON, world.spec, world.status, world.generation)


def _play(world: SimComparison, *, variant_that_errs: str = "", p50_ms: float = 10.0) -> None:
    """Let all tests end."""
    while world.status["phase"] != "Finished":
        (name,) = world.under_way()
        errs = name.endswith(f"-{variant_that_errs}")
        end = {"verdict": "Error", "reason": "ImageUnavailable", "message": "no such image"} if errs else None
        world.end(name, end or measured(p50_ms + len(world.created) % 3))
        world.pass_time(30)
        world.settle()


def _comparison_aborted(world: SimComparison) -> None:
    world.edit(abort=True)


def _comparisons() -> dict[str, Case]:
    unseen = whole(COMPARISON, comparison_spec(), {"observedGeneration": -1})
    return {
        "comparison-not-seen": Case(unseen, GOES_ON, "not seen"),
        "comparison-running": Case(_comparison(_nothing), GOES_ON, "cmp-1-a"),
        "comparison-conclusive": Case(_comparison(_play), GOOD, "Conclusive: "),
        "comparison-error": Case(_comparison(lambda it: _play(it, variant_that_errs="b")), BAD, "Error: "),
        "comparison-aborted": Case(_comparison(_comparison_aborted), BAD, "Aborted: "),
        "comparison-refused": Case(_comparison(lambda world: world.edit(variants=[])), BAD, "Error: "),
    }


def _schedule(change: Callable[[SimSchedule], object]) -> dict[str, Any]:
    found = schedule("09:55").run_pass()
    change(found)
    return whole(SCHEDULE, found.spec, found.status, found.generation)


def _last(verdict: str) -> dict[str, Any]:
    return _schedule(lambda found: found.go_to("10:30").finish(found.made[0], verdict))


def _schedules() -> dict[str, Case]:
    unseen = whole(SCHEDULE, schedule().spec, {"observedGeneration": -1})
    return {
        "schedule-not-seen": Case(unseen, GOES_ON, "not seen"),
        "schedule-new": Case(_schedule(_nothing), GOOD, "no run has ended yet"),
        "schedule-running": Case(_schedule(lambda found: found.go_to("10:30")), GOOD, "started as scheduled"),
        "schedule-passed": Case(_last("Passed"), GOOD, "the last run passed"),
        "schedule-failed": Case(_last("Failed"), GOOD, "the last run failed"),
        "schedule-invalid": Case(_last("Invalid"), GOOD, "its verdict is Invalid"),
        "schedule-suspended": Case(_schedule(lambda found: found.change(suspend=True)), GOOD, "no tests are started"),
        "schedule-refused": Case(_schedule(lambda found: found.change(timeZone="Mars/Olympus")), BAD, "Mars"),
    }


CASES: Final[Mapping[str, Case]] = {**_tests(), **_comparisons(), **_schedules()}
