"""cautions: what is said beforehand though it is allowed."""

import pytest
from plans import plan
from specs import EXTERNAL_BURST, EXTERNAL_USERS, SMALL, Spec, changed
from sshload_operator.planning.cautions import LISTEN_BACKLOG, cautions

KNOWN_HOST_BURST = {**EXTERNAL_BURST, "target": EXTERNAL_USERS["target"]}


def test_an_ordinary_test_needs_no_caution() -> None:
    assert cautions(plan(SMALL)) == ()
    assert cautions(plan(EXTERNAL_USERS)) == ()


def test_a_burst_up_to_the_listen_backlog_needs_no_caution() -> None:
    assert cautions(plan(changed(KNOWN_HOST_BURST, "load.burst.connections", LISTEN_BACKLOG))) == ()


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            changed(KNOWN_HOST_BURST, "load.burst.connections", LISTEN_BACKLOG + 1),
            "spec.load.burst.connections is 129",
            id="burst-above-the-backlog",
        ),
        pytest.param(
            changed(SMALL, "target.managed.sshd.perSourcePenalties", "yes"),
            'perSourcePenalties is "yes"',
            id="penalties-asked-for",
        ),
        pytest.param(
            changed(SMALL, "thresholds", [{"latency": {"step": "total", "percentile": 99.9, "below": "1s"}}]),
            "spec.thresholds[0] asks for p99.9, which takes 2995 samples, and the load makes about 600",
            id="too-few-arrivals",
        ),
        pytest.param(
            {
                **changed(KNOWN_HOST_BURST, "load.burst", {"connections": 10, "repeat": 2}),
                "thresholds": [
                    {"errorRate": {"below": "1%"}},
                    {"latency": {"step": "login", "percentile": 90, "below": "1s"}},
                ],
            },
            "spec.thresholds[1] asks for p90, which takes 29 samples, and the load makes about 20",
            id="too-few-in-bursts",
        ),
        pytest.param(
            changed(EXTERNAL_BURST, "load.burst.connections", 1), "insecureIgnoreHostKey is true", id="any-host-key"
        ),
    ],
)
def test_a_caution_names_the_field(spec: Spec, says: str) -> None:
    (caution,) = cautions(plan(spec))
    assert says in caution
