"""What a tenant's master has printed, as the operator judges it and writes it into a status.

Input: the name of a spec and a line end, then the JSON of a summary or of a snapshot, as it comes out of the log.
Oracle: whatever figures it has, the pass over the test ends without an error, and leaves a status as the CRD's schema
has it, in text that UTF-8 can write: the API server would never take another one.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Any

from crd_schema import problems, status_schema
from fuzz_texts import assert_plain_text
from json_mutation import mutate_json
from passes import START, UID
from plans import INSTALLATION, quickstart
from runs import held_step, load, pod, snapshot, summary, target_stats
from searches import failed, passed, searched, strained
from specs.relative import RELATIVE
from specs.search import SEARCHES
from sshload_contract.bounds import ContractError
from sshload_contract.wire.codec import from_plain, to_json
from sshload_contract.wire.master_log import MasterLog, SearchProgress, Snapshot
from sshload_contract.wire.run_summary import RunSummary
from sshload_operator.api.load_test import parse
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.life_cycle import decide
from sshload_operator.decision.load_test.decide import TestSubject
from sshload_operator.planning.plan import Plan, TestIdentity, make_plan
from sshload_operator.state import Observed, ObservedBaseline, Role

_SPECS: Mapping[str, Mapping[str, Any]] = {
    "arrivals": quickstart(thresholds=[{"latency": {"step": "login", "percentile": 99, "below": "2s"}}]),
    "users": quickstart(load={"users": {"stages": [{"users": 5, "duration": "30s"}]}}),
    "burst": quickstart(load={"burst": {"connections": 300, "repeat": 2, "interval": "5s"}}),
    "hold": quickstart(load={"hold": {"sessions": 400, "rampUp": "5s", "duration": "30s", "probeRate": 20}}),
    "relative": RELATIVE,
    **SEARCHES,
}
_TEST = TestIdentity("load-tests", "quickstart", UID, 1)
_SCHEMA = status_schema()
_NOW = START + timedelta(seconds=60)


def seeds() -> Iterator[bytes]:
    """Yield summaries of whole runs of each kind, and what is printed before."""
    for name in _SPECS:
        yield _input(name, summary(590, 10, steps=(*summary(590, 10).trial.steps, held_step("held.hold", 390, 8))))
        yield _input(name, snapshot())
    held = load(600, held_most=400, held_least=399)
    yield _input("hold", summary(load=held, target_held=target_stats(500, sessions=400)))
    trials = (passed(10), failed(140), strained(121, cpu_s=39.0, limits={"cpu_limit_cores": 1.0}))
    for name in SEARCHES:
        yield _input(name, searched(*trials, lower=10, upper=121))
        yield _input(name, snapshot(search=SearchProgress(2, 20.0, 10.0, None)))


def _input(name: str, said: RunSummary | Snapshot) -> bytes:
    return f"{name}\n{to_json(said)}".encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the summary or snapshot as JSON."""
    name, end, said = data.partition(b"\n")
    return name + end + mutate_json(said, seed)


def check(data: bytes) -> None:
    """Do a pass in which this is what the master's log says."""
    name, _, text = data.partition(b"\n")
    log = _log(text)
    if log is None:
        return
    plan, written = _under_way(name.decode("ascii", "replace"))
    said = MasterLog(
        snapshot=replace(log.snapshot, run_id=plan.run_id) if log.snapshot else None,
        summary=replace(log.summary, run_id=plan.run_id) if log.summary else None,
        summary_lines=log.summary_lines,
        problem="",
    )
    seen = Observed(_pods(plan), said, rejected_message="", baseline=ObservedBaseline((), ""))
    decision = decide(TestSubject(_TEST, plan, remembered(TestStatus, written), seen, _NOW))
    assert decision.status is not None
    assert_plain_text(decision.status)
    wrong = list(problems(json.loads(json.dumps(decision.status, allow_nan=False)), _SCHEMA))
    assert not wrong, wrong[0]
    assert_plain_text(decision.store or {})
    assert_plain_text([announcement.message for announcement in decision.announcements])


def _log(text: bytes) -> MasterLog | None:
    try:
        plain = json.loads(text)
        if isinstance(plain, dict) and "stage" in plain:
            return MasterLog(from_plain(Snapshot, plain), None, 0, "")
        return MasterLog(None, from_plain(RunSummary, plain), 2, "")
    except (ContractError, ValueError, RecursionError):
        return None


def _pods(plan: Plan) -> tuple[Any, ...]:
    return tuple(pod(role, run_id=plan.run_id) for role in (Role.TARGET, Role.MASTER, Role.WORKER))


@cache
def _under_way(name: str) -> tuple[Plan, Mapping[str, Any]]:
    """Return the plan of a spec, and the status of its run while the load runs."""
    plan = make_plan(_TEST, parse(_SPECS.get(name, _SPECS["arrivals"])), INSTALLATION, 1)
    seen = Observed(_pods(plan), None, rejected_message="")
    decision = decide(TestSubject(_TEST, plan, remembered(TestStatus, {}), seen, START))
    assert decision.status is not None
    return plan, decision.status
