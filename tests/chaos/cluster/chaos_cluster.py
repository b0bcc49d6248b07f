"""Plays each fault of the real cluster while tests run, and prints a table of cases, runs and ends.

Exit code 1 says that a case had a wrong end; what was wrong is printed as it is found.
"""

import argparse
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator

import faults_of_daemons
import faults_of_many
import faults_of_namespaces
import faults_of_nodes
import faults_of_pods
import faults_of_upgrades
from chaos_case import Case, Found
from chaos_stage import Stage, chaos_stage
from generator_reruns import rerun_while_lagging

_LOST_LEASE = "has lost the Lease"
"""Why an operator ends that could not renew its Lease in time: another one may act from then on."""

CASES = (faults_of_daemons, faults_of_namespaces, faults_of_nodes, faults_of_pods, faults_of_upgrades, faults_of_many)


def main() -> int:
    """Play what the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only cases in whose name this regular expression is found")
    parser.add_argument("--runs", type=int, default=1, help="how often each case is played (1)")
    parser.add_argument("--list", action="store_true", help="only print the cases")
    arguments = parser.parse_args()
    chosen = [case for module in CASES for case in module.cases() if re.search(arguments.only, case.name)]
    if not chosen:
        parser.error(f"ONLY: no case has {arguments.only!r} in its name: --list prints them all")
    if arguments.list:
        print(*(case.name for case in chosen), sep="\n")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began, rows = time.monotonic(), []
    with chaos_stage() as stage:
        for case in chosen:
            found = [_play(stage, case) for _ in range(arguments.runs)]
            rows.append((case, found))
    wrong = sum(_print(case, found) for case, found in rows)
    print(f"{len(rows)} cases, {wrong} wrong ends, in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def _play(stage: Stage, case: Case) -> Found:
    began, restarts = time.monotonic(), stage.restarts()
    logged = len(stage.operator_log())
    try:
        found = rerun_while_lagging(lambda: case.play(stage), lambda found: found.lagging)
    except Exception as error:  # noqa: BLE001 - the other cases are to be played too
        found = Found(problems=(f"{error}\n{traceback.format_exc(limit=-3)}",))
    found = found.with_problems(*_of_operator(stage, restarts, logged))
    print(f"{case.name}: {_word(found)} in {time.monotonic() - began:.0f} s", flush=True)
    for words in (*_counted(found.ends), *found.notes, *(f"wrong: {problem}" for problem in found.problems)):
        print(f"    {words}", flush=True)
    stage.clear()
    return found


def _of_operator(stage: Stage, restarts: int, logged: int) -> Iterator[str]:
    log = stage.operator_log()
    if "Traceback" in log[min(logged, len(log)) :]:
        yield f"the operator logs a traceback: {log[log.rindex('Traceback') :][:3000]}"
    if stage.restarts() > restarts and _LOST_LEASE not in log:
        yield f"the operator's container was restarted: {log[-1500:]}"


def _word(found: Found) -> str:
    return "wrong" if found.problems else "right"


def _counted(ends: Iterable[str]) -> list[str]:
    return [f"{count} x {end}" if count > 1 else end for end, count in Counter(ends).items()]


def _print(case: Case, found: list[Found]) -> int:
    words = Counter(_word(one) for one in found)
    said = ", ".join(_counted(end for one in found for end in one.ends))
    print(f"{case.name:60}{len(found):>3} runs {words['right']:>3} right {words['wrong']:>3} wrong   {said}")
    return words["wrong"]


if __name__ == "__main__":
    sys.exit(main())
