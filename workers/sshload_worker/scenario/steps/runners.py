"""How each kind of step is run: its module registers the function that runs it, and has its method for locustfiles."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from sshload_contract.steps import ScenarioStep
from sshload_contract.vocabulary import measured_step

from sshload_worker.scenario.steps.step_run import StepRun

_Run: TypeAlias = Callable[[Any, StepRun], None]
_RunT = TypeVar("_RunT", bound=_Run)

RUNNERS: Final[dict[type[ScenarioStep], _Run]] = {}
"""What runs each kind; it raises StepFailure if the step does not end as expected."""

PREPARATIONS: Final[dict[type[ScenarioStep], Callable[[Any], None]]] = {}
"""What some kinds need on the worker before anything is measured."""


def runs(kind: type[ScenarioStep]) -> Callable[[_RunT], _RunT]:
    """Register the decorated function as what runs a kind."""

    def register(run: _RunT) -> _RunT:
        RUNNERS[kind] = run
        return run

    return register


def times(*kinds: type[ScenarioStep]) -> Callable[[_RunT], _RunT]:
    """Register the decorated function as what runs these kinds, timed as a whole."""

    def register(run_it: _RunT) -> _RunT:
        def run_and_time(step: Any, run: StepRun) -> None:
            run.clock.timed(measured_step(step.name, step.kind), partial(run_it, step, run))

        RUNNERS.update(dict.fromkeys(kinds, run_and_time))
        return run_it

    return register


class StepMethods:
    """The methods for locustfiles, each of which runs one step."""

    def _run(self, step: ScenarioStep) -> None:
        raise NotImplementedError
