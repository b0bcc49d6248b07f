"""`sshload run` finds the capacity of a real sshd whose limit is known, and says what limits it."""

from pathlib import Path
from typing import Any

from local_cli import measured, write_test
from own_server import USER
from ssh_server import CLIENT, slow_logins

ERRORS = {"errorRate": {"below": "1%"}}


def burst_search(folder: Path, least: int, most: int, at_once: int, **changes: Any) -> Path:
    """Write a search over bursts against an sshd that takes no more than `at_once` before their logins.

    Each login takes it long enough that all of a burst are there before the first is over, however busy the machine.
    None meets those of a burst before.
    """
    sshd = {"maxStartups": f"{at_once}:100:{at_once}", "extraConfig": slow_logins(0.5, USER)}
    burst = {"min": least, "max": most, "repeat": 1, "interval": "3s"}
    searched = {
        "target": {"managed": {"sshd": sshd}},
        "client": CLIENT,
        "load": {"capacity": {"burst": burst, "confirm": 1}},
        "thresholds": [ERRORS],
    }
    return write_test(folder, **{**searched, **changes})


def test_the_largest_burst_is_found_that_max_startups_lets_in(tmp_path: Path) -> None:
    promised = {"thresholds": [ERRORS, {"capacity": {"above": 3}}]}
    ended = measured(burst_search(tmp_path, least=1, most=8, at_once=4, **promised))
    assert (ended.code, ended.status["reason"]) == (0, "CapacityFound"), ended.err
    capacity = ended.status["capacity"]
    assert (capacity["inWords"], capacity["lowerBound"], capacity["upperBound"]) == ("4 connections", 4, 5)
    assert capacity["limitedBy"]["threshold"]["kind"] == "errorRate"
    (shortage,) = capacity["limitedBy"]["shortOf"]
    assert shortage["resource"] == "maxStartups"
    reported = capacity["trials"][capacity["reportedTrial"] - 1]
    assert (reported["amount"], reported["state"]) == (4, "passed")
    assert ended.status["results"]["iterations"] == 4
    assert ended.status["thresholds"][-1] == {
        "kind": "capacity",
        "limit": 3,
        "unit": "connections",
        "value": 4,
        "low": 4,
        "high": 5,
        "met": True,
        "message": "capacity above 3 connections: 4 connections, 33.3 % above",
    }
    assert "trial 1 at 1 connections" in ended.err


def test_a_server_that_refuses_even_the_least_has_a_capacity_below_it(tmp_path: Path) -> None:
    ended = measured(burst_search(tmp_path, least=6, most=8, at_once=2))
    assert (ended.code, ended.status["reason"]) == (1, "CapacityBelowMin"), ended.err
    assert ended.status["capacity"]["inWords"] == "below 6 connections"
    assert "value" not in ended.status["capacity"]
    assert "short of maxStartups" in ended.status["message"]
