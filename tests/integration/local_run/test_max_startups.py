"""The status of a run against a real sshd says what MaxStartups did to it.

Each login takes sshd so long that all of a burst are there before the first is over, however busy the machine, and that
a generator's delay has to be long to spoil the figures: there is no advice where it does.
"""

from pathlib import Path

from generator_reruns import lagged_figures, rerun_while_lagging
from local_cli import sshload, write_test
from own_server import USER
from ssh_server import CLIENT, slow_logins
from sshload_operator.decision.max_startups.setting import burst_drops, read

SETTING = "30:30:100"
CONNECTIONS = 50


def test_the_result_of_a_burst_says_what_the_setting_explains_and_which_one_is_enough(tmp_path: Path) -> None:
    target = {"managed": {"sshd": {"maxStartups": SETTING, "extraConfig": slow_logins(1, USER)}}}
    burst = {"burst": {"connections": CONNECTIONS, "repeat": 1}}  # a second one might meet those of the first
    promised = [{"errorRate": {"below": "60%"}}]
    path = write_test(tmp_path, target=target, client=CLIENT, load=burst, thresholds=promised)
    ended = rerun_while_lagging(
        lambda: sshload("run", path, "--output", "json"), lambda done: lagged_figures(done.status)
    )
    assert ended.code == 0, ended.err
    results = ended.status["results"]
    advice = results["maxStartups"]
    throttled = sum(error["count"] for error in results.get("errors", ()) if error["outcome"] == "throttled")
    assert advice["setting"] == SETTING
    assert advice["recommended"] == "63:30:100"
    assert advice["observedDropPercent"] == round(throttled / CONNECTIONS * 100, 6)
    assert advice["predictedDropPercent"] == round(burst_drops(CONNECTIONS, read(SETTING)).dropped * 100, 6)
