"""How many samples of a timing a load makes at most. Pure arithmetic on the load model and the scenario."""

from math import floor

from sshload_contract.load import HoldLoad, Load, UsersLoad
from sshload_contract.run_config import SessionReuse
from sshload_contract.steps import ShellStep
from sshload_contract.vocabulary import Step, measured_step

from sshload_operator.api.spec import LoadTestSpec

_HELD = "held"
_JUMP_HOST = "via"
_LOGIN = frozenset({Step.CONNECT, Step.BANNER, Step.KEX, Step.AUTH, Step.LOGIN})


def most_samples(spec: LoadTestSpec, load: Load, step: str) -> float | None:
    """Return how many samples of `step` the measured window of a load can have; None where that is not known."""
    prefix, _, timing = step.rpartition(".")
    held = load.sessions if isinstance(load, HoldLoad) and prefix.startswith(_JUMP_HOST) else 0
    if isinstance(load, HoldLoad) and prefix == _HELD:
        return _of_held_sessions(load, timing)
    if timing in _LOGIN and spec.scenario.session_reuse is SessionReuse.POOL:
        return held  # the pool has logged in before the measured window
    if timing in _LOGIN and spec.scenario.session_reuse is SessionReuse.USER:
        return None
    if spec.locustfile is not None and timing not in {*_LOGIN, Step.TOTAL}:
        return None
    iterations = _most_iterations(spec, load)
    return None if iterations is None else held + iterations * _in_one_iteration(spec, step)


def most_attempts(spec: LoadTestSpec) -> float | None:
    """Return how many iterations and held sessions the measured window can have; None where that is not known."""
    iterations = _most_iterations(spec, spec.load)
    held = spec.load.sessions if isinstance(spec.load, HoldLoad) else 0
    return None if iterations is None else held + iterations


def _of_held_sessions(load: HoldLoad, timing: str) -> float:
    if timing != Step.KEEP_ALIVE:
        return load.sessions
    if load.keep_alive_s == 0:
        return 0
    return load.sessions * floor((load.ramp_up_s + load.duration_s) / load.keep_alive_s)


def _most_iterations(spec: LoadTestSpec, load: Load) -> float | None:
    """Return the iterations of a load; of users as many as their pauses leave time for."""
    if not isinstance(load, UsersLoad):
        return load.iterations
    pause_s = load.think_time.min_s + spec.scenario.slept_s
    if pause_s == 0:
        return None
    return sum(stage.users * (floor(stage.duration_s / pause_s) + 1) for stage in load.stages)


def _in_one_iteration(spec: LoadTestSpec, step: str) -> int:
    turns = [
        shell.repeat
        for shell in spec.scenario.steps
        if isinstance(shell, ShellStep) and step == measured_step(shell.name, Step.ECHO)
    ]
    return turns[0] if turns else 1
