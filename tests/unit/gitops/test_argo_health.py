"""What Argo CD shows of each object, by the chart's own Lua."""

from typing import Any

import pytest
from argo_lua import KINDS, customizations, health, run
from gitops_objects import BAD, CASES, GOES_ON, GOOD, Case
from lupa.lua51 import LuaError
from sshload_contract.vocabulary import Verdict
from sshload_operator.state import Phase

WORDS = {GOES_ON: "Progressing", GOOD: "Healthy", BAD: "Degraded"}
ALL = [pytest.param(case, id=name) for name, case in CASES.items()]
OVER = [pytest.param(case, id=name) for name, case in CASES.items() if case.means != GOES_ON]


def test_every_phase_and_every_verdict_of_a_test_is_among_the_cases() -> None:
    statuses = [case.obj["status"] for name, case in CASES.items() if name.startswith("test-")]
    assert {status["phase"] for status in statuses if "phase" in status} == set(Phase) - {Phase.PENDING}
    assert {status["verdict"] for status in statuses if "verdict" in status} == set(Verdict)


@pytest.mark.parametrize("case", ALL)
def test_an_object_fares_as_its_status_says_and_the_message_says_why(case: Case) -> None:
    found = health(case.obj)
    assert found["status"] == WORDS[case.means]
    assert case.says in found["message"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "status",
    [
        pytest.param(None, id="none"),
        pytest.param({}, id="empty"),
        pytest.param({"conditions": []}, id="no-generation"),
        pytest.param({"observedGeneration": 1}, id="no-conditions"),
        pytest.param({"observedGeneration": 1, "conditions": []}, id="empty-conditions"),
        pytest.param({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "Unknown"}]}, id="unknown"),
        pytest.param({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "False"}]}, id="not-ready"),
        pytest.param({"observedGeneration": 1, "phase": "Finished", "verdict": "Passed"}, id="verdict-alone"),
    ],
)
def test_a_status_that_says_too_little_is_never_taken_for_an_end(kind: str, status: dict[str, Any] | None) -> None:
    obj: dict[str, Any] = {"kind": kind, "metadata": {"name": "one", "generation": 1}, "spec": {}}
    assert health(obj if status is None else {**obj, "status": status})["status"] == "Progressing"


@pytest.mark.parametrize("case", OVER)
@pytest.mark.parametrize("behind", [1, 5])
def test_an_end_of_an_older_spec_says_nothing_of_this_one(case: Case, behind: int) -> None:
    metadata = {**case.obj["metadata"], "generation": case.obj["status"]["observedGeneration"] + behind}
    assert health({**case.obj, "metadata": metadata})["status"] == "Progressing"


def test_all_kinds_have_the_same_rules() -> None:
    assert len({found.health for found in customizations().values()}) == 1


@pytest.mark.parametrize("script", ["io.open('/etc/passwd')", "os.exit(0)", "string.len('')", "require('io')"])
def test_the_scripts_are_run_without_what_argo_cd_withholds(script: str) -> None:
    with pytest.raises(LuaError):
        run(script, {})
