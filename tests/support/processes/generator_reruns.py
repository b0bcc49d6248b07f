"""Loads that run again where this machine kept the generator from the CPU, which says nothing about the code.

An Invalid verdict for that reason is right, and another one is expected; so are figures that nothing is compared with
for that reason. So the load runs again, at most three times. Nothing else is ever repeated. `scripts/run_tests.py`
counts the reruns in its closing table.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sshload_contract.vocabulary import Invalidity

MOST_RERUNS = 3
RERUNS_FILE = "SSHLOAD_RERUNS_FILE"
"""The environment variable that names the file with one line per rerun: the test, the reason and the message."""

GENERATOR_LAGGED = tuple(why.value for why in Invalidity if why.is_own_delay)
"""The reasons of such a verdict."""

Run = TypeVar("Run")


def rerun_while_lagging(run: Callable[[], Run], status_of: Callable[[Run], Mapping[str, Any]]) -> Run:
    """Return what `run` returns, run again while its status is Invalid because the generator lagged.

    `run` applies and follows one load from start to end, and can do so again. The last result is returned as it is.
    """
    done = run()
    for _ in range(MOST_RERUNS):
        status = status_of(done)
        if status.get("verdict") != "Invalid" or status.get("reason") not in GENERATOR_LAGGED:
            break
        _record(status)
        done = run()
    return done


def lagged_comparison(status: Mapping[str, Any]) -> Mapping[str, str]:
    """Return verdict, reason and message of a comparison's test that lagged as often as it was made, else nothing."""
    lost = [test for test in status.get("tests", ()) if "uid" in test]
    why = Invalidity.GENERATOR_SATURATED.value
    return {"verdict": "Invalid", "reason": why, "message": lost[0]["problem"]} if lost else {}


def lagged_figures(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the status of a run, as Invalid where the generator's delay spoils its figures: those have no advice."""
    delay_ms = status.get("results", {}).get("generator", {}).get("latenciesMayIncludeMs")
    if delay_ms is None:
        return status
    message = f"latencies may include {delay_ms} ms of the generator's own delay"
    return {"verdict": "Invalid", "reason": Invalidity.GENERATOR_SATURATED.value, "message": message}


def _record(status: Mapping[str, Any]) -> None:
    path = os.environ.get(RERUNS_FILE)
    if path:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{test}: {status['reason']}: {status.get('message', '')[:200]}\n")
