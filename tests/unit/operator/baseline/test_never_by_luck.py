"""Whatever tests there are: a run passes only against one that it can be held against, and only surely within."""

from datetime import timedelta
from typing import Any

import pytest
from baselines import LAST_PASSED, NAMED, WITHIN, asked, finished, run_to_end, seen, slower
from crd_schema import problems, status_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from passes import START
from plans import quickstart

SCHEMA = status_schema()
SPECS = {
    "as asked": quickstart(),
    "lacks a baseline": asked(),
    "another rate": quickstart(load={"arrivals": {"stages": [{"rate": 10, "duration": "30s"}]}}),
    "another target's knobs": quickstart(target={"managed": {"sshd": {"maxSessions": 5}}}),
}
COMPARABLE = ("as asked", "lacks a baseline", "another target's knobs")
SOUND = (
    ("Passed", "ThresholdsMet"),
    ("Passed", "NoThresholds"),
    ("Failed", "ThresholdBroken"),
    ("Inconclusive", "NoBaseline"),
)
ENDS = [*SOUND, ("Inconclusive", "WithinNoise"), ("Invalid", "GeneratorSaturated"), ("Error", "TargetLost")]

LIMIT = 1.101
"""The ratio that `within: 10%` allows, with what rounding adds."""

slownesses = st.floats(min_value=0.5, max_value=2.0)
noises = st.floats(min_value=0.0001, max_value=0.3)


@st.composite
def others(draw: st.DrawFn) -> dict[str, Any]:
    """Return a test beside the run, with what it is in its labels."""
    which, end = draw(st.sampled_from(sorted(SPECS))), draw(st.sampled_from(ENDS))
    minutes, slowness = draw(st.integers(min_value=-5, max_value=60)), draw(slownesses)
    found = slower(slowness, noise=draw(noises))
    name = f"n-{draw(st.integers(min_value=0, max_value=999))}"
    test = finished(
        found, SPECS[which], name=name, now=START - timedelta(minutes=minutes), verdict=end[0], reason=end[1]
    )
    phase = draw(st.sampled_from(["Finished", "Finished", "Running"]))
    facts = {"which": which, "end": end, "slowness": slowness, "phase": phase}
    return {**test, "facts": facts, "status": {**test["status"], "phase": phase}}


@pytest.mark.slow
@given(
    st.lists(others(), max_size=4, unique_by=lambda test: test["metadata"]["name"]), slownesses, noises, st.booleans()
)
@settings(max_examples=60)
def test_only_a_sound_baseline_of_the_same_lets_a_run_pass(
    tests: list[dict[str, Any]],
    slowness: float,
    noise: float,
    named: bool,  # noqa: FBT001 - drawn
) -> None:
    spec = asked(thresholds=WITHIN, baseline=NAMED if named else LAST_PASSED)
    observed_baseline = seen(*(tests[:1] if named else tests))
    passes = run_to_end(spec, slower(slowness, noise=noise), observed_baseline)
    status = passes.status
    assert list(problems(status, SCHEMA)) == []
    assert status["verdict"] in ("Passed", "Failed", "Inconclusive")
    if status["verdict"] == "Inconclusive":
        assert status["reason"] in ("NoBaseline", "BaselineDiffers", "WithinNoise")
        return
    (facts,) = (test["facts"] for test in tests if test["metadata"]["uid"] == status["baseline"]["uid"])
    assert facts["phase"] == "Finished"
    ends = SOUND if named else [end for end in SOUND if end[0] != "Failed"]
    assert facts["end"] in ends
    assert facts["which"] in COMPARABLE
    if "the oldest" in status["message"]:  # the run is also held against the oldest baseline, so that nothing drifts
        assert not named
        assert status["verdict"] == "Failed"
        assert any(
            slowness / other["slowness"] > LIMIT
            for other in (test["facts"] for test in tests)
            if other["end"] in ends and other["which"] in COMPARABLE and other["phase"] == "Finished"
        )
    else:
        assert (slowness / facts["slowness"] <= LIMIT) == (status["verdict"] == "Passed")
