"""A test that a GitOps controller applies again whenever its time to live has deleted it."""

from dataclasses import replace
from typing import Any

import pytest
from passes import START
from plans import INSTALLATION, plan, quickstart
from sshload_operator.control.run.reconcile import ParsedSpec, subject_of
from sshload_operator.planning.cautions import cautions
from sshload_operator.planning.plan import Plan, applier

ARGO_CD = {"annotations": {"argocd.argoproj.io/tracking-id": "bastion:sshload.dev/SSHLoadTest:ssh/one"}}
FLUX = {"labels": {"kustomize.toolkit.fluxcd.io/name": "bastion", "kustomize.toolkit.fluxcd.io/namespace": "flux"}}
HOOK = {"annotations": {**ARGO_CD["annotations"], "argocd.argoproj.io/hook": "PostSync"}}


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        pytest.param(ARGO_CD, "Argo CD", id="argo-cd"),
        pytest.param(FLUX, "Flux", id="flux"),
        pytest.param(HOOK, "", id="hook"),
        pytest.param({"labels": {"team": "ssh"}, "annotations": {}}, "", id="kubectl"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_the_marks_on_an_object_say_who_applies_it(metadata: dict[str, Any], name: str) -> None:
    assert applier(metadata) == name


@pytest.mark.parametrize("live", [{"passed": "1h"}, {"failed": "0s"}, {"passed": "1h", "failed": "1h"}])
@pytest.mark.parametrize("metadata", [ARGO_CD, FLUX], ids=["argo-cd", "flux"])
def test_a_test_that_deletes_itself_and_is_applied_anew_is_cautioned(
    metadata: dict[str, Any], live: dict[str, str]
) -> None:
    (said,) = cautions(planned(metadata, ttlAfterFinished=live))
    assert said.startswith("spec.ttlAfterFinished")
    assert applier(metadata) in said


@pytest.mark.parametrize(
    ("metadata", "spec"),
    [
        pytest.param(ARGO_CD, {}, id="no-time-to-live"),
        pytest.param({}, {"ttlAfterFinished": {"passed": "1h"}}, id="applied-by-hand"),
        pytest.param(HOOK, {"ttlAfterFinished": {"passed": "1h"}}, id="hook"),
    ],
)
def test_a_test_that_stays_or_that_nobody_applies_anew_needs_no_caution(
    metadata: dict[str, Any], spec: dict[str, Any]
) -> None:
    assert cautions(planned(metadata, **spec)) == ()


def planned(metadata: dict[str, Any], **spec: Any) -> Plan:
    """Return the plan as the operator makes it of an object with such metadata."""
    known = {"namespace": "ssh", "name": "one", "uid": "uid", "generation": 1}
    found = subject_of(
        {"metadata": {**known, **metadata}, "spec": quickstart(**spec)}, INSTALLATION, ParsedSpec(), START
    ).plan
    assert isinstance(found, Plan)
    assert replace(found.test, applier="") == replace(plan().test, namespace="ssh", name="one", uid="uid")
    return found
