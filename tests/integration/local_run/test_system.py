"""A run as root against this machine's own sshd and PAM stack, with accounts that exist in the run alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from canary import Canary, population_of_run, searched_for_its_own, secrets_of_population
from local_cli import SSHLOAD, Started, measured, write_test
from running_target import WITHIN_S
from short_examples import short_test
from statuses import steps_of

pytestmark = pytest.mark.root
_SMALL = {"arrivals": {"rate": 4, "duration": "3s"}}
_MACHINE = Path(__file__).parent / "small_machine.py"


def system(**written: Any) -> dict[str, Any]:
    return {"managed": {"system": written}}


def test_the_example_logs_in_accounts_of_the_run_and_sshds_log_agrees(tmp_path: Path) -> None:
    test = short_test("28-system-target")
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(test))
    ended = measured(file, "--logs", tmp_path / "logs")
    assert (ended.code, ended.status["verdict"]) == (0, "Passed"), ended.err
    target, steps = ended.status["results"]["target"], steps_of(ended.status)
    assert target["accepted"] == target["clientLogins"] > steps["login"].count > 0
    log = (tmp_path / "logs/target.log").read_text()
    assert log.count("Accepted publickey for user00001 ") == target["accepted"] + 1  # the login before the load
    assert log.count("Accepted ") == target["accepted"] + 1
    told = {name: target[name] for name in ("asRoot", "pam", "accounts")}
    assert told == {"asRoot": True, "pam": True, "accounts": "files"}
    assert target["distribution"] in Path("/etc/os-release").read_text()
    assert target["cpuSeconds"] > 0


def test_a_password_logs_in_and_no_credential_of_the_population_is_seen_anywhere(
    tmp_path: Path, temporary: Path
) -> None:
    client = {"auth": "keyboard-interactive"}
    test = write_test(tmp_path, target=system(), load=_SMALL, client=client, thresholds=[])
    ended, search = searched_for_its_own(test, tmp_path, temporary, planted)
    assert {"metrics", "the environ of python", "target.log"} <= search.seen
    assert ended.status["results"]["failures"] == 0, ended.err
    accepted = (tmp_path / "logs/target.log").read_text().count("Accepted keyboard-interactive/pam for user00001 ")
    assert accepted == ended.status["results"]["target"]["accepted"] + 1  # the login before the load


def planted(started: Started) -> Canary:
    """Return what nobody may see of the population of a run, which is made when it starts."""
    return secrets_of_population(population_of_run(started, 1), ["user00001"])


def test_the_machine_is_after_a_run_what_it_was_before(tmp_path: Path) -> None:
    """On a machine where nothing else happens: namespaces, with folders of their own for all that a run may change."""
    test = write_test(tmp_path, target=system(users=3), load=_SMALL, thresholds=[])
    command = [sys.executable, str(_MACHINE), str(SSHLOAD), "run", str(test), "--output", "json"]
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--ipc", "--fork", "--mount-proc", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    before, after = seen["before"], seen["after"]
    changed = [
        path for path in before["files"] | after["files"] if before["files"].get(path) != after["files"].get(path)
    ]
    assert changed == []
    assert after["processes"] == before["processes"]
    assert seen["accounts"] == []
    assert {*seen["mounts"], *after["mounts"]} - {*before["mounts"]} == set()  # others may end some of theirs


def test_a_machine_that_gives_no_namespaces_is_told(tmp_path: Path) -> None:
    test = write_test(tmp_path, target=system(), load=_SMALL)
    limited = ["setpriv", "--bounding-set", "-sys_admin", "--", str(SSHLOAD), "run", str(test)]
    done = subprocess.run(limited, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    assert done.returncode != 0
    assert "spec.target.managed.system needs mount and process namespaces, which this machine refuses" in done.stderr
