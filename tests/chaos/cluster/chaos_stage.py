"""Where cases are played: the installed chart, new namespaces, and what the operator logs meanwhile."""

import contextlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chart_release import Release, cluster_in, create_namespaces, delete_namespaces, restrict
from followed_tests import FollowedTests, followed_tests
from helm import NAMESPACE
from live_cluster import LiveCluster
from prompt_workers import prompt_workers

OPERATOR = "app.kubernetes.io/component=operator"


@dataclass(slots=True)
class Stage:
    """A cluster-wide release, and all tests of the cluster as they are followed."""

    release: Release
    followed: FollowedTests
    _namespaces: list[str] = field(default_factory=list)

    def namespace(self) -> LiveCluster:
        """Return kubectl in a new namespace, which is deleted after the case."""
        name = f"chaos-{secrets.token_hex(3)}"
        create_namespaces(name)
        self._namespaces.append(name)
        return cluster_in(name)

    def operator_pods(self) -> Sequence[dict[str, Any]]:
        """Return the operator's pods."""
        return self.release.cluster.labelled("pods", OPERATOR)

    def operator_log(self) -> str:
        """Return what the operator has printed, also before its container was restarted."""
        logs = ("logs", "-l", OPERATOR, "--tail=-1", "--timestamps")
        before = [*logs, "--previous"] if self.restarts() else []
        return "".join(self.release.cluster.kubectl(*words, check=False) for words in (before, [*logs]) if words)

    def restarts(self) -> int:
        """Return how often the operator's containers were restarted."""
        return sum(
            container["restartCount"]
            for pod in self.operator_pods()
            for container in pod["status"].get("containerStatuses", ())
        )

    def clear(self) -> None:
        """Take away the namespaces of the case before, and wait until they are gone."""
        names, self._namespaces = self._namespaces, []
        cluster = cluster_in("default")
        there = [name for name in names if cluster.exists("namespace", name)]
        if there:
            delete_namespaces(*there)
            cluster.kubectl("wait", "namespace", *there, "--for=delete", "--timeout=280s")


@contextlib.contextmanager
def chaos_stage() -> Iterator[Stage]:
    """Install the chart for all namespaces, and follow all tests; uninstall it when the block ends."""
    release = Release.in_namespace(NAMESPACE)
    with prompt_workers(), contextlib.ExitStack() as ending:
        restrict(NAMESPACE)
        release.install()
        ending.callback(release.uninstall)
        stage = Stage(release, ending.enter_context(followed_tests(cluster_in("default"))))
        ending.callback(stage.clear)
        yield stage


def json_of(cluster: LiveCluster, *arguments: str) -> Any:
    """Return what kubectl prints as JSON."""
    return json.loads(cluster.kubectl(*arguments, "-o", "json"))
