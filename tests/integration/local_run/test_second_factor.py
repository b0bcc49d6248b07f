"""A run as root against an sshd that asks for a code after the key, with a secret for each account."""

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from canary import Canary, population_of_run, searched_for_its_own, secrets_of_population
from local_cli import Started, start
from short_examples import short_test
from statuses import steps_of

pytestmark = [pytest.mark.root, pytest.mark.slow]
_USERS = 60


def small(**client: Any) -> dict[str, Any]:
    test = short_test("30-two-factors")
    test["spec"]["target"]["managed"]["system"]["users"] = _USERS
    test["spec"]["target"]["managed"]["sshd"]["logLevel"] = "VERBOSE"  # in which sshd tells of a first factor
    test["spec"]["client"].update(client)
    return test


def test_the_example_logs_in_by_key_and_code_as_sshds_log_has_it_user_by_user_and_no_secret_is_seen(
    tmp_path: Path, temporary: Path
) -> None:
    file, logs = tmp_path / "test.yaml", tmp_path / "logs"
    file.write_text(yaml.safe_dump(small()))
    ended, _ = searched_for_its_own(file, tmp_path, temporary, planted)
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    steps, target = steps_of(ended.status), ended.status["results"]["target"]
    log = (logs / "target.log").read_text()
    accepted = Counter(re.findall(r"Accepted keyboard-interactive/pam for (user\d+) ", log))
    assert sum(accepted.values()) == target["accepted"] + 1 == target["clientLogins"] + 1  # one before the load
    by_key = Counter(re.findall(r"Partial publickey for (user\d+) ", log))
    assert accepted - by_key == Counter()  # a login that the end of the load cuts off has a key alone
    assert max(accepted.values()) <= 2  # that of the login before the load
    assert target["accepted"] >= steps["login"].count > 0
    parts = ("auth.publickey", "auth.keyboardInteractive")
    assert {steps[name].count for name in (*parts, "auth.prompt1", "auth.verdict")} == {steps["auth"].count}
    assert sum(mean_ms(steps[name]) for name in parts) == pytest.approx(mean_ms(steps["auth"]), rel=0.05, abs=0.5)
    rounds = mean_ms(steps["auth.prompt1"]) + mean_ms(steps["auth.verdict"])
    assert rounds == pytest.approx(mean_ms(steps["auth.keyboardInteractive"]), rel=0.01, abs=0.1)


def mean_ms(step: Any) -> float:
    assert step.mean_ms is not None
    return float(step.mean_ms)


def planted(started: Started) -> Canary:
    """Return what nobody may see of the population of a run, which is made when it starts."""
    population = population_of_run(started, _USERS)
    return secrets_of_population(population, islice(population.names, 8))


@pytest.mark.full
def test_one_user_who_logs_in_more_often_than_codes_change_is_told_beforehand_and_in_the_outcome(
    tmp_path: Path,
) -> None:
    test = small()
    test["spec"]["target"]["managed"]["system"]["users"] = 1
    del test["spec"]["client"]["users"]
    test["spec"]["load"] = {"arrivals": {"stages": [{"rate": 2, "duration": "5s"}]}}
    test["spec"]["thresholds"] = []
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(test))
    ended = start("run", file, "--output", "json").wait()
    assert "a code lasts 30 s and is taken once" in ended.err
    outcomes = {one["outcome"]: one for one in ended.status["results"]["errors"]}
    assert set(outcomes) == {"secondFactorReused"}, ended.status["results"]["errors"]
    assert "this worker had sent before" in outcomes["secondFactorReused"]["firstMessage"]
