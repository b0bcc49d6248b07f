"""What befalls a namespace: it is deleted in mid-run, or a quota admits only some of a run's pods."""

from collections.abc import Iterator

from chaos_case import Case, Found
from chaos_stage import Stage
from cluster_oracles import end_of, is_loading, steady, went_back
from live_cluster import LiveCluster

_GONE_WITHIN_S = 150.0


def cases() -> Iterator[Case]:
    """Yield the cases."""
    yield Case("namespace deleted in mid-run", _deleted)
    yield Case("ResourceQuota without room for the second worker", _quota_for_some)
    yield Case("ResourceQuota set in mid-run", _quota_in_mid_run)


def _deleted(stage: Stage) -> Found:
    """Delete a namespace with tests that run and one that waits; a test elsewhere goes on."""
    cluster, elsewhere = stage.namespace(), stage.namespace()
    runs, bystander = steady("runs", "120s"), steady("bystander", "30s")
    cluster.apply(runs, steady("runs-too", "120s"), {**steady("held"), "spec": {**runs["spec"], "suspend": True}})
    elsewhere.apply(bystander)
    for name in ("runs", "runs-too"):
        stage.followed.wait(cluster, name, is_loading, "load", 120)
    cluster.kubectl("delete", "namespace", cluster.namespace, "--wait=false")
    cluster.gone(lambda: cluster.exists("namespace", cluster.namespace), "namespace", _GONE_WITHIN_S)
    found = Found.of(end_of(stage, elsewhere, bystander))
    return found.with_problems(*went_back(stage, cluster), *went_back(stage, elsewhere))


def _quota_for_some(stage: Stage) -> Found:
    """Let a namespace have three pods, and a run needs four; another namespace has none of it."""
    cluster, elsewhere = stage.namespace(), stage.namespace()
    refused, bystander = steady("refused"), steady("bystander")
    cluster.apply(_quota("3"))
    _await_quota(cluster)
    cluster.apply(refused)
    elsewhere.apply(bystander)
    return Found.of(
        end_of(stage, cluster, refused, (("Error", "PodRejected"),), says="exceeded quota"),
        end_of(stage, elsewhere, bystander),
    ).with_problems(*went_back(stage, cluster))


def _quota_in_mid_run(stage: Stage) -> Found:
    """Let a namespace have no more pods while a run is under way: it needs no more."""
    cluster = stage.namespace()
    test = steady("admitted", "20s")
    cluster.apply(test)
    stage.followed.wait(cluster, "admitted", is_loading, "load", 120)
    cluster.apply(_quota("1"))
    return Found.of(end_of(stage, cluster, test)).with_problems(*went_back(stage, cluster))


def _quota(pods: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few-pods"},
        "spec": {"hard": {"pods": pods}},
    }


def _await_quota(cluster: LiveCluster) -> None:
    """Wait until the quota is enforced: its controller counts first."""
    cluster.wait_for("resourcequota", "few-pods", lambda status: "used" in status, "count")
