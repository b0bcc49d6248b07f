"""Bad input: each ends within its deadline in a clear condition and an Error, and nothing keeps running."""

from datetime import timedelta
from typing import Any

import pytest
from live_cluster import LiveCluster, condition, load_test, lone_worker_test

MANAGED = {"sshd": {"maxStartups": "3000:30:3000"}}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        # Where kubectl finds no OpenAPI v3 document at the moment, it checks the fields itself, in words of its own.
        pytest.param({"lod": {}}, r'spec\.lod|\.spec\): unknown field "lod"', id="an-unknown-field"),
        pytest.param(
            {"target": {"managed": {}, "external": {"host": "h", "user": "u", "credentialsSecretRef": {"name": "s"}}}},
            "spec.target",
            id="two-targets",
        ),
        pytest.param({"deadline": "soon"}, "spec.deadline", id="an-unparsable-duration"),
        pytest.param({"workers": {"replicas": 0}}, "spec.workers.replicas", id="zero-workers"),
        pytest.param(
            {"target": {"managed": {"sshd": {"maxStartups": "many"}}}},
            "spec.target.managed.sshd.maxStartups",
            id="max-startups-that-sshd-rejects",
        ),
    ],
)
def test_kubectl_apply_refuses(cluster: LiveCluster, change: dict[str, Any], named: str) -> None:
    with pytest.raises(AssertionError, match=named):
        cluster.apply(load_test("refused", **change))


def ends_in_error(cluster: LiveCluster, name: str, reason: str, **change: Any) -> dict[str, Any]:
    status = cluster.run(lone_worker_test(name, **change))
    assert (status["verdict"], status["reason"]) == ("Error", reason), status["message"]
    assert condition(status, "Stalled")["status"] == "True"
    cluster.gone(lambda: cluster.children(name), "children")
    return status


def test_a_directive_that_sshd_rejects_is_named_by_sshds_own_message(cluster: LiveCluster) -> None:
    target = {"managed": {"sshd": {"extraConfig": {"IPQoS": "nonsense"}}}}
    status = ends_in_error(cluster, "rejected-config", "SshdConfigRejected", target=target)
    assert "IPQoS" in status["message"]


def test_an_image_that_does_not_exist_is_named_in_the_status_and_then_in_the_verdict(cluster: LiveCluster) -> None:
    target = {"managed": {**MANAGED, "image": "localhost/no-such-image:1"}}
    cluster.apply(lone_worker_test("no-image", target=target))
    status = cluster.wait("no-image", lambda status: "no-such-image" in status.get("message", ""), "reason")
    assert (status["phase"], status["reason"]) == ("PreparingTarget", "ImageUnavailable")
    status = cluster.finished("no-image")
    assert (status["verdict"], status["reason"]) == ("Error", "ImageUnavailable"), status["message"]
    assert "localhost/no-such-image:1" in status["message"]
    assert condition(status, "Stalled")["status"] == "True"
    cluster.gone(lambda: cluster.children("no-image"), "children")


@pytest.mark.full  # the target's image is looked for in the same way
def test_a_missing_image_of_the_workers_is_in_the_status_before_the_verdict(cluster: LiveCluster) -> None:
    cluster.apply(load_test("image-reason", workers={"replicas": 1, "image": "localhost/no-such-image:1"}))
    status = cluster.wait("image-reason", lambda status: "no-such-image" in status.get("message", ""), "reason")
    assert status["reason"] == "ImageUnavailable"
    cluster.kubectl("delete", "slt", "image-reason")


def test_a_target_that_never_gets_ready_is_an_error_at_the_start_timeout(cluster: LiveCluster) -> None:
    target = {"managed": {**MANAGED, "nodeSelector": {"no-such": "node"}}}
    cluster.apply(lone_worker_test("unplaceable", target=target, startTimeout="1h", deadline="2h"))
    cluster.wait("unplaceable", lambda status: "cannot be scheduled" in status.get("message", ""), "reason")
    status = cluster.finished_after("unplaceable", timedelta(hours=1))
    assert (status["verdict"], status["reason"]) == ("Error", "TargetNeverReady"), status["message"]
    assert "cannot be scheduled" in status["message"]
    assert condition(status, "Stalled")["status"] == "True"
    cluster.gone(lambda: cluster.children("unplaceable"), "children")


def test_a_run_that_takes_longer_than_its_deadline_is_an_error(cluster: LiveCluster) -> None:
    """Its load lasts until then."""
    load = {"arrivals": {"stages": [{"rate": 2, "duration": "300s"}]}}
    cluster.apply(lone_worker_test("too-long", load=load, deadline="1h"))
    cluster.running("too-long")
    status = cluster.finished_after("too-long", timedelta(hours=1))
    assert (status["verdict"], status["reason"]) == ("Error", "DeadlineExceeded"), status["message"]
    assert condition(status, "Stalled")["status"] == "True"
    cluster.gone(lambda: cluster.children("too-long"), "children")


@pytest.mark.full  # tests/integration/local_run/test_verdicts.py has the same of a run without a cluster
def test_a_command_that_does_not_exist_fails_every_iteration_by_its_exit_code(cluster: LiveCluster) -> None:
    status = cluster.run(
        lone_worker_test(
            "no-command",
            scenario={"steps": [{"exec": {"command": "cat no-such-file"}}]},
            thresholds=[{"errorRate": {"below": "1%"}}],
        )
    )
    assert (status["verdict"], status["reason"]) == ("Failed", "ThresholdBroken"), status["message"]
    (error,) = status["results"]["errors"]
    assert (error["outcome"], error["count"]) == ("exitCode", 30)


def test_an_external_target_that_nobody_allowed_is_refused_without_a_single_connection(cluster: LiveCluster) -> None:
    external = {
        "host": "bastion.example.org",
        "user": "load",
        "credentialsSecretRef": {"name": "credentials"},
        "knownHostsSecretRef": {"name": "known-hosts"},
    }
    status = ends_in_error(cluster, "not-allowed", "TargetNotAllowed", target={"external": external})
    assert "bastion.example.org" in status["message"]


def test_more_connections_than_there_are_source_ports_are_refused(cluster: LiveCluster) -> None:
    load = {"arrivals": {"stages": [{"rate": 5000, "duration": "60s"}]}}
    status = ends_in_error(cluster, "too-fast", "LoadImpossible", load=load)
    assert "workers" in status["message"]


def test_a_system_is_refused_by_the_name_of_what_its_namespace_does_not_admit(cluster: LiveCluster) -> None:
    status = ends_in_error(cluster, "system", "PodRejected", target={"managed": {"system": {}}})
    assert "unrestricted capabilities" in status["message"]
    assert "runAsNonRoot" not in status["message"], "Kubernetes 1.33 lets a pod with a user namespace be root"
