"""hold_cautions: whether the sessions that are to be held fit into the target."""

from dataclasses import replace

import pytest
from plans import INSTALLATION, plan
from specs.small import SMALL
from specs.spec import Spec, changed
from sshload_operator.planning.cautions import cautions


def hold(sessions: int, limit: str | None) -> Spec:
    """Return a test that holds so many sessions of a managed target with this memory limit."""
    spec = {**SMALL, "load": {"hold": {"sessions": sessions, "rampUp": "80s", "duration": "30s", "probeRate": 2}}}
    resources = {"limits": {"cpu": "2"} if limit is None else {"memory": limit}}
    return changed({**spec, "thresholds": []}, "target.managed.resources", resources)


def test_more_held_sessions_than_the_targets_memory_has_room_for_are_spoken_of() -> None:
    (caution,) = cautions(plan(hold(2_000, "2Gi")))
    assert "limits.memory is 2Gi, and 2000 held sessions take about 4,400 MB, 2.2 MB each" in caution


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(hold(900, "2Gi"), id="as many as fit"),
        pytest.param(hold(2_000, None), id="no limit"),
    ],
)
def test_held_sessions_that_fit_need_no_caution(spec: Spec) -> None:
    assert cautions(plan(spec)) == ()


def test_without_a_cluster_resources_play_no_part() -> None:
    assert cautions(plan(hold(2_000, "2Gi"), installation=replace(INSTALLATION, one_address=True))) == ()
