"""What each release wrote, its finished tests and its masters' logs, is read by this one, and changed by no upgrade.

A release adds its folder: `sshload run FILE -o json --logs FOLDER` prints the test, and FOLDER has the log.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from plans import INSTALLATION
from sshload_contract.wire.master_log import read_master_log
from sshload_operator.api.load_test import parse
from sshload_operator.api.status.head import remembered
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.decision.life_cycle import current_run, decide
from sshload_operator.decision.load_test.decide import TestSubject
from sshload_operator.planning.plan import TestIdentity, is_same_spec, make_plan, spec_hash
from sshload_operator.state import Observed

RELEASES = [pytest.param(path.parent, id=path.parent.name) for path in Path(__file__).parent.glob("*/test.json")]
YEARS_LATER = datetime(2036, 1, 1, tzinfo=UTC)


def finished_test(release: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release / "test.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("release", RELEASES)
def test_the_summary_and_the_snapshots_of_its_master_are_read(release: Path) -> None:
    log = read_master_log((release / "master.log").read_text(encoding="utf-8"))
    results = finished_test(release)["status"]["results"]
    assert (log.problem, log.summary is None, log.snapshot is None) == ("", False, False)
    assert log.summary is not None
    assert log.summary.trial.load.succeeded == results["iterations"] - results["failures"]
    assert len({step.step for step in log.summary.trial.steps}) >= len(results["steps"])


@pytest.mark.parametrize("release", RELEASES)
def test_its_finished_test_keeps_its_verdict_and_begins_no_run(release: Path) -> None:
    written = finished_test(release)
    past = remembered(TestStatus, written["status"])
    assert past.status.verdict is not None
    spec = parse(written["spec"])
    identity = TestIdentity("load-tests", "released", "11111111-2222-3333-4444-555555555555", past.status.run)
    plan = make_plan(identity, spec, INSTALLATION, current_run(spec_hash(spec), identity.generation, past.status))
    nothing = Observed(pods=(), log=None, rejected_message="")
    decision = decide(TestSubject(identity, plan, past, nothing, YEARS_LATER))
    assert (decision.status, decision.start, decision.sweep, decision.delete_self) == (None, False, (), False)
    assert is_same_spec(spec_hash(spec), past.status.run, past.status)
