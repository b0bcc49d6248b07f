"""The trace of a replay: it is read once for all trials, checked before the load, and replayed by the generator."""

from collections import deque
from pathlib import Path

import gevent
from sshload_contract.bounds import ContractError
from sshload_contract.load import Load
from sshload_contract.load.replay import Trace, read_trace
from sshload_contract.wire.run_config import RunConfig

from sshload_worker.outcomes import GeneratorFaultError

_ITERATIONS_IN_A_TURN = 5_000
"""How many iterations are checked before other greenlets get their turn of the event loop."""


def read_checked_trace(config: RunConfig) -> Trace | None:
    """Return the trace that the load replays, None if it replays none.

    Raises GeneratorFaultError if it cannot be replayed; the message says what to change.
    """
    load = config.trial_load
    if load.recorded is None:
        return None
    trace, most = _read(load.recorded.key, load.trace_path), config.load.largest
    problem = most.problem(trace, config.warm_up_s) or _beyond_rate(most, trace, config.warm_up_s)
    if problem:
        raise GeneratorFaultError(problem)
    return trace


def _beyond_rate(load: Load, trace: Trace, warm_up_s: float) -> str:
    """Return in which second the replay begins more iterations than maxRate, as a message; empty if in none."""
    second: deque[float] = deque()
    for number, offset in enumerate(load.replayed(trace, warm_up_s)):
        second.append(offset)
        while second[0] <= offset - 1:
            second.popleft()
        if len(second) > load.most_rate:
            return (
                f"the replay begins more than {load.most_rate:g} iterations (maxRate) in the second from"
                f" {second[0]:.6g} s on, at {load.amount:g} times the recorded arrivals: raise maxRate, or lower"
                " speed or amplification"
            )
        if number % _ITERATIONS_IN_A_TURN == 0:
            gevent.sleep(0)
    return ""


def _read(name: str, path: str) -> Trace:
    try:
        with Path(path).open(encoding="utf-8") as lines:
            return read_trace(lines)
    except (OSError, UnicodeDecodeError) as error:
        raise GeneratorFaultError(f"the trace {name} cannot be read: {error}") from error
    except ContractError as error:
        raise GeneratorFaultError(f"the trace {name}, {error}") from error
