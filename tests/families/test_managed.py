"""A managed test on a cluster of the family of addresses that SSHLOAD_CLUSTER_FAMILY names."""

import os
from ipaddress import ip_address
from typing import Any

from chart_release import Release, cluster_in, create_namespaces, delete_namespaces
from helm import NAMESPACE
from live_cluster import load_test

FAMILY = os.environ["SSHLOAD_CLUSTER_FAMILY"]
VERSIONS = {"ipv4": [4], "ipv6": [6], "dual": [4, 6]}[FAMILY]


def versions(pod: dict[str, Any]) -> list[int]:
    """Return the IP versions of a pod's addresses."""
    return sorted(ip_address(address["ip"]).version for address in pod["status"]["podIPs"])


def test_a_managed_test_passes_on_pods_of_this_family() -> None:
    release, cluster = Release.in_namespace(NAMESPACE), cluster_in(f"family-{FAMILY}")
    create_namespaces(cluster.namespace)
    release.install()
    seen: list[list[int]] = []

    def look() -> None:
        cluster.running("managed")
        seen.extend(versions(pod) for pod in cluster.labelled("pods", "sshload.dev/test=managed"))

    status = cluster.run(load_test("managed", warmUp="5s"), within_s=240, meanwhile=look)
    assert (status["phase"], status["verdict"]) == ("Finished", "Passed"), status["message"]
    assert status["results"]["iterations"] == 30
    assert seen
    assert all(found == VERSIONS for found in seen), seen
    delete_namespaces(cluster.namespace)
