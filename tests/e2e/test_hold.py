"""Idle sessions, as the guide has them but fewer of them: all of them held, and what they cost is told."""

from typing import Any

import pytest
import yaml
from circles import draws
from guide import ROOT, blocks
from live_cluster import LiveCluster
from short_examples import on_a_busy_machine
from statuses import steps_of

pytestmark = pytest.mark.xdist_group("held sessions")

PAGE = ROOT / "docs/how-to/held-sessions.md"
MB = 1_000_000
SESSIONS = draws(100, 200)
"""So many that what sshd takes for itself is little of what each of them takes."""


@pytest.fixture(name="guides_test", scope="module")
def _guides_test() -> dict[str, Any]:
    """Return the test that the guide shows, with so few logins per second that a slow server takes them."""
    (block,) = (block for block in blocks("yaml") if block.page == PAGE)
    document: dict[str, Any] = yaml.safe_load(block.text)
    spec = document["spec"]
    spec["load"]["hold"] |= {"sessions": SESSIONS, "rampUp": f"{SESSIONS // 10}s", "probeRate": 3}
    spec["warmUp"] = "4s"
    spec["thresholds"] = on_a_busy_machine(spec["thresholds"])
    return document


@pytest.fixture(name="status", scope="module")
def _status(guides_test: dict[str, Any], module_cluster: LiveCluster) -> dict[str, Any]:
    """Return how it ended."""
    return module_cluster.run(guides_test)


def test_all_sessions_are_held_to_the_last(status: dict[str, Any]) -> None:
    """The last of them may log in after the ramp where the server is slow: then the least are fewer."""
    assert (status["verdict"], status["reason"]) == ("Passed", "ThresholdsMet"), status["message"]
    hold = status["results"]["hold"]
    assert 0 < hold["heldLeast"] <= hold["heldMost"] == SESSIONS
    held = steps_of(status)["held.hold"]
    assert (held.count, held.failures) == (SESSIONS, 0)


def test_what_a_session_takes_of_the_target_is_told(status: dict[str, Any]) -> None:
    """Each has two processes of sshd, whose own memory is below 3 MB; without page tables it is above 0.5 MB.

    Probes that are under way are counted with them.
    """
    target = status["results"]["target"]
    assert target["processesPerSession"] == pytest.approx(2.0, abs=0.2)
    assert 0.5 * MB < target["memoryPerSessionBytes"] < 3 * MB
    assert target["memoryPerSessionUpperBound"] is False
    assert target["memoryPerSessionBytes"] * SESSIONS < target["memoryPeakBytes"]
    assert {"oomKills", "refusedForks"} & target.keys() == set()


def test_a_newcomers_login_is_told_with_and_without_them(status: dict[str, Any]) -> None:
    login = status["results"]["hold"]["freshLogin"]
    assert login["p50Ratio"] == pytest.approx(login["p50Ms"] / login["aloneP50Ms"], rel=0.01)
    assert 0 < login.get("p50RatioLow", login["p50Ratio"]) <= login["p50Ratio"]
    assert login["p50Ratio"] <= login.get("p50RatioHigh", login["p50Ratio"])


def test_each_held_session_gave_its_signs_of_life(status: dict[str, Any]) -> None:
    """Each asks every five seconds, and is held for twelve, or for ten where it logged in late."""
    asked = steps_of(status)["held.keepAlive"]
    assert asked.failures == 0
    assert asked.count >= 2 * SESSIONS
