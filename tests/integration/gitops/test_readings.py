"""Flux's kstatus and Argo CD's interpreter read every status that the operator writes, and say the same of it."""

from typing import Any

import argo_lua
import pytest
from flux_and_argo import Reader
from gitops_objects import BAD, CASES, GOES_ON, GOOD, Case

KSTATUS = {GOES_ON: "InProgress", GOOD: "Current", BAD: "Failed"}
HEALTH = {GOES_ON: "Progressing", GOOD: "Healthy", BAD: "Degraded"}
ALL = [pytest.param(case, id=name) for name, case in CASES.items()]


@pytest.mark.parametrize("case", ALL)
def test_flux_waits_for_what_goes_on_and_gives_up_on_what_failed(case: Case, reader: Reader) -> None:
    assert reader.kstatus(case.obj) == KSTATUS[case.means]


@pytest.mark.parametrize("case", ALL)
def test_argo_cd_says_the_same_as_flux(case: Case, reader: Reader) -> None:
    assert reader.health(case.obj) == argo_lua.health(case.obj)
    assert reader.health(case.obj)["status"] == HEALTH[case.means]


@pytest.mark.parametrize("case", ALL)
def test_a_changed_spec_is_waited_for_whatever_was_found_before(case: Case, reader: Reader) -> None:
    changed = {**case.obj, "metadata": {**case.obj["metadata"], "generation": 99}}
    assert reader.kstatus(changed) == "InProgress"
    assert reader.health(changed)["status"] == "Progressing"


@pytest.mark.parametrize("case", ALL)
def test_argo_cds_interpreter_offers_and_does_the_same_actions(case: Case, reader: Reader) -> None:
    offered = reader.offered(case.obj)
    assert offered == argo_lua.offered(case.obj)
    for action in set(offered) - {"run-now"}:
        theirs, ours = reader.after(action, case.obj), argo_lua.after(action, case.obj)
        assert without_time(theirs) == lists_for_maps(without_time(ours))


def without_time(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the time at which it was to run again."""
    spec = {key: value for key, value in obj["spec"].items() if key != "triggers"}
    if "base" in spec:
        spec["base"] = {key: value for key, value in spec["base"].items() if key != "triggers"}
    return {**obj, "spec": spec}


def lists_for_maps(value: Any) -> Any:
    """Return a value as Lua leaves it, with empty lists for empty maps."""
    if isinstance(value, dict):
        return {key: lists_for_maps(item) for key, item in value.items()} or []
    return [lists_for_maps(item) for item in value] if isinstance(value, (list, tuple)) else value
