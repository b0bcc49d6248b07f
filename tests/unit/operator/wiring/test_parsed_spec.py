"""What passes over a test make of its spec: once, until the spec changes."""

from typing import Any

from passes import START
from plans import INSTALLATION
from specs.small import SMALL
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.control.run.reconcile import ParsedSpec, subject_of
from sshload_operator.planning.plan import Plan


def body(generation: int = 1, spec: Any = SMALL, **status: Any) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": "t", "uid": "u", "generation": generation}
    return {"metadata": metadata, "spec": spec, "status": status}


def planned(known: ParsedSpec, test: dict[str, Any]) -> Plan | SpecError:
    return subject_of(test, INSTALLATION, known, START).plan


def test_a_status_that_changes_lets_nobody_parse_and_plan_the_spec_anew() -> None:
    known = ParsedSpec()
    first = planned(known, body())
    assert planned(known, body(phase="Running", progress={"iterations": 1})) is first


def test_a_new_generation_is_planned_by_its_own_spec() -> None:
    known = ParsedSpec()
    planned(known, body())
    found = planned(known, body(2, {**SMALL, "workers": {"replicas": 7}}))
    assert isinstance(found, Plan)
    assert (found.run, found.spec.workers.replicas) == (2, 7)


def test_a_test_that_was_made_anew_is_planned_by_its_own_spec_though_its_generation_is_the_same() -> None:
    known = ParsedSpec()
    planned(known, body())
    anew = body(1, {**SMALL, "workers": {"replicas": 7}})
    anew["metadata"]["uid"] = "made anew"
    found = planned(known, anew)
    assert isinstance(found, Plan)
    assert (found.test.uid, found.spec.workers.replicas) == ("made anew", 7)


def test_a_spec_that_is_wrong_stays_so_until_it_is_mended() -> None:
    known = ParsedSpec()
    wrong = body(1, {**SMALL, "load": {}})
    assert isinstance(planned(known, wrong), SpecError)
    assert isinstance(planned(known, wrong), SpecError)
    assert isinstance(planned(known, body(2)), Plan)


def test_the_plan_is_that_of_the_run_that_the_status_speaks_of() -> None:
    known = ParsedSpec()
    first = planned(known, body(3))
    assert isinstance(first, Plan)
    running = planned(known, body(3, phase="Running", run=1, specHash=first.spec_hash))
    assert isinstance(running, Plan)
    assert (first.run, running.run) == (3, 1)
