"""A run on accounts of LDAP: what answered for them, and that a pause of slapd shows as what it was."""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from local_cli import Ended, measured, sshload, write_test
from short_examples import short_test
from slapd_log import slapd_lines, users_asked_for
from sshload_contract.wire.codec import from_json
from sshload_contract.wire.run_summary import Paused, RunSummary

pytestmark = [pytest.mark.root, pytest.mark.slow]
USERS = 300
"""More than log in: each login is the first of its user, so that no cache can answer for it."""
BEFORE_THE_LOAD = 1
PAUSE_AFTER_S, PAUSE_S, LOAD_S = 2.0, 3.0, 7.0
ONLINE_AGAIN_S = 8.0
"""How long after slapd goes on sssd may be offline still, and logins wait that began meanwhile."""
ANSWERS_LATE_S = 0.5
"""How late the target's HTTP port may answer on a busy machine, and so how far off its times may be."""


@dataclass(frozen=True, slots=True)
class LdapRun:
    """A run with a pause: what the command printed, its summary, and the log of the target."""

    ended: Ended
    summary: RunSummary
    log: str

    @property
    def paused(self) -> Paused:
        """When slapd paused, as the result says."""
        assert self.summary.trial.paused is not None
        return self.summary.trial.paused

    @property
    def target(self) -> dict[str, Any]:
        """What the status says of the target."""
        target: dict[str, Any] = self.ended.status["results"]["target"]
        return target


@pytest.fixture(scope="module")
def paused_run(tmp_path_factory: pytest.TempPathFactory) -> LdapRun:
    """Run one user, who logs in again and again, through a pause of slapd."""
    folder = tmp_path_factory.mktemp("ldap")
    ldap = {
        "cache": "cold",
        "logOperations": True,
        "pause": {"after": f"{PAUSE_AFTER_S:g}s", "for": f"{PAUSE_S:g}s"},
    }
    test = write_test(
        folder,
        target={"managed": {"system": {"users": USERS, "ldap": ldap}, "sshd": {"logLevel": "VERBOSE"}}},
        scenario={"steps": [{"exec": {"command": "id -un", "expectStdout": "user0"}}]},
        load={"users": {"stages": [{"users": 1, "duration": f"{LOAD_S:g}s"}]}},
    )
    logs = folder / "logs"
    logs.mkdir()
    ended = sshload("run", test, "--output", "json", "--logs", logs)
    assert ended.code == 0, ended.err + (logs / "target.log").read_text()
    summary = from_json(RunSummary, (logs / "summary.json").read_text())
    return LdapRun(ended, summary, (logs / "target.log").read_text())


@pytest.mark.full  # its page runs it too
def test_the_example_passes_and_says_when_slapd_paused(tmp_path: Path) -> None:
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(short_test("32-ldap")))
    ended = measured(file)
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    directory = ended.status["results"]["target"]["directory"]
    assert directory["pausedToSeconds"] - directory["pausedFromSeconds"] >= 0.5
    assert ended.status["results"]["failures"] == 0


def test_the_result_says_who_answered_for_accounts_from_where_and_with_which_cache(paused_run: LdapRun) -> None:
    target = paused_run.target
    assert (target["asRoot"], target["pam"], target["accounts"]) == (True, True, "sss")
    directory = target["directory"]
    assert directory["cache"] == "cold"
    assert f"slapd {directory['slapdVersion']} " in paused_run.log
    assert directory["sssdVersion"][0].isdigit()


def test_each_user_who_sshd_let_in_was_asked_for_at_slapd_and_all_logins_are_in_the_result(
    paused_run: LdapRun,
) -> None:
    let_in = Counter(re.findall(r"^Accepted publickey for (user\d+) ", paused_run.log, re.MULTILINE))
    assert paused_run.target["accepted"] == paused_run.target["clientLogins"] == let_in.total() - BEFORE_THE_LOAD
    assert BEFORE_THE_LOAD < len(let_in) < USERS
    assert set(users_asked_for(paused_run.log)) == set(let_in)


def test_the_cpu_time_of_slapd_and_sssd_is_told_apart_from_sshds(paused_run: LdapRun) -> None:
    before, after = paused_run.summary.trial.target_before, paused_run.summary.trial.target_after
    assert before is not None
    assert after is not None
    assert before.ldap is not None
    assert after.ldap is not None
    of_directory = after.ldap.cpu_s - before.ldap.cpu_s
    own = after.own_cpu_s - before.own_cpu_s
    assert of_directory > 0
    assert paused_run.target["directory"]["cpuSeconds"] == pytest.approx(of_directory, abs=1e-3)
    assert paused_run.target["cpuSeconds"] == pytest.approx(after.cpu_s - before.cpu_s - own - of_directory, abs=1e-3)


def test_a_pause_begins_when_it_was_declared_and_the_result_says_when_it_was(paused_run: LdapRun) -> None:
    paused, directory = paused_run.paused, paused_run.target["directory"]
    assert paused.from_s >= PAUSE_AFTER_S - 0.01
    assert paused.to_s - paused.from_s >= PAUSE_S
    assert directory["pausedFromSeconds"] == pytest.approx(paused.from_s, abs=1e-3)
    assert directory["pausedToSeconds"] == pytest.approx(paused.to_s, abs=1e-3)


def test_slapds_own_log_is_silent_in_the_pause_that_the_result_tells_and_at_no_other_time_so_long(
    paused_run: LdapRun,
) -> None:
    started, paused = paused_run.summary.started_unix_s, paused_run.paused
    at_s = [line.at_unix_s - started for line in slapd_lines(paused_run.log)]
    silences = [(begin, end) for begin, end in pairwise(at_s) if end - begin >= PAUSE_S - 0.01]
    ((begin, end),) = [silence for silence in silences if silence[0] > 0]
    assert begin <= paused.from_s
    assert paused.to_s - ANSWERS_LATE_S <= end
    assert paused.from_s - ANSWERS_LATE_S <= end - PAUSE_S


def test_the_logins_of_a_pause_end_after_it_and_no_other_login_is_so_slow(paused_run: LdapRun) -> None:
    paused, series = paused_run.paused, paused_run.summary.series
    begins = [0.0, *(point.at_s for point in series)]
    inside = [
        point.succeeded
        for begin, point in zip(begins, series, strict=False)
        if begin >= paused.from_s and point.at_s <= paused.to_s - ANSWERS_LATE_S
    ]
    assert inside
    assert sum(inside) <= 1  # one that had asked slapd for all before
    assert sum(point.succeeded for point in series if point.at_s < paused.from_s)
    assert sum(point.succeeded for point in series if point.at_s > paused.to_s)
    (total,) = [step for step in paused_run.summary.trial.steps if step.step == "total" and step.window == "measured"]
    assert total.max_us is not None
    assert total.max_us >= (PAUSE_S - ANSWERS_LATE_S) * 1e6 - (total.percentiles_us["50"] or 0)
    assert total.failures == 0


@pytest.mark.full
def test_a_pause_longer_than_sssd_waits_shows_as_refused_users_until_it_is_online_again(tmp_path: Path) -> None:
    ldap = {
        "searchTimeout": "1s",
        "offlineTimeout": "1s",
        "pause": {"after": "3s", "for": "5s"},
    }
    test = write_test(
        tmp_path,
        target={"managed": {"system": {"users": USERS, "ldap": ldap}}},
        load={"arrivals": {"rate": 3, "duration": "20s"}},
    )
    logs = tmp_path / "logs"
    logs.mkdir()
    ended = measured(test, "--logs", logs)
    assert ended.code == 0, ended.err
    trial = from_json(RunSummary, (logs / "summary.json").read_text()).trial
    series = from_json(RunSummary, (logs / "summary.json").read_text()).series
    assert trial.paused is not None
    assert {error["outcome"] for error in ended.status["results"]["errors"]} == {"authRejected"}
    failed_at = [point.at_s for point in series if point.failed]
    assert trial.paused.from_s < min(failed_at)
    assert max(failed_at) < trial.paused.to_s + ONLINE_AGAIN_S
    later = [point for point in series if point.at_s > trial.paused.to_s + ONLINE_AGAIN_S]
    assert sum(point.succeeded for point in later)
