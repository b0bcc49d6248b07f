"""How much `kubectl get -o yaml` shows of a finished test: little enough to be read."""

from dataclasses import replace

import yaml
from passes import Passes
from plans import quickstart
from runs import load, pod, summary
from sshload_contract.steps import ExecStep
from sshload_contract.vocabulary import Timing
from sshload_operator.state import Role

MOST_LINES_OF_STATUS = 97
THRESHOLDS = [
    {"latency": {"step": "total", "percentile": 99, "below": "2s"}},
    {"errorRate": {"below": "1%"}},
]
LOGIN = (Timing.START_DELAY, Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, Timing.LOGIN)
PODS = tuple(pod(role) for role in (Role.TARGET, Role.MASTER, Role.WORKER))


def test_the_status_of_a_test_of_one_command_is_short_though_it_states_thirteen_steps() -> None:
    """Every percentile has samples enough here, and each interval both ends: a status of a run is no longer."""
    measured = summary(600, load=load(600))
    like = measured.steps[-1]
    steps = tuple(
        replace(like, step=str(timing), bytes_per_second=1_218.0 if timing is Timing.COMMAND else None)
        for timing in (*LOGIN, *ExecStep.timings, Timing.TOTAL)
    )
    passes = Passes(quickstart(thresholds=THRESHOLDS, warmUp="5s"))
    passes.run()
    passes.run(*PODS, after_s=30, summary=replace(measured, steps=steps))
    assert passes.said() == ("Passed", "ThresholdsMet")
    assert len(passes.status["results"]["timings"]) == 13
    lines = yaml.safe_dump({"status": passes.status}).splitlines()
    assert len(lines) <= MOST_LINES_OF_STATUS, "\n".join(lines)
