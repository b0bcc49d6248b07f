"""The installed chart, namespaces that enforce Pod Security "restricted", and the order of the tests."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm
import pytest
from chart_release import (
    OWN_SERVERS,
    SHARED,
    Release,
    cluster_in,
    create_namespaces,
    delete_namespaces,
    image,
    module_namespace,
    shared_release,
)
from live_cluster import LiveCluster
from quickstart_run import run_quickstart

LONGEST_FIRST = (
    "test_comparison_examples",
    "test_comparison",
    "test_capacity",
    "test_schedule",
    "test_installation",
    "test_quickstart",
    "test_pages",
    "test_hold",
    "test_external_target",
    "test_benchmark",
    "test_bad_input",
    "test_examples",
)
"""The files whose tests take the longest, so that no lane begins with one of them when the others are done."""

LAST = "test_rights"
"""The file about what all others have done. Without an audit log, as clusters of others have none, it is left out."""

collect_ignore = [] if os.environ.get("SSHLOAD_AUDIT_LOG") else [f"{LAST}.py"]
if not os.environ.get("SSHLOAD_CLUSTER"):
    collect_ignore.append("test_cluster_faults.py")  # it stops daemons, which clusters of others do not let it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests. Those that run alone come last: they change what all share."""

    def rank(item: pytest.Item) -> tuple[bool, bool, int]:
        name = item.path.stem
        place = LONGEST_FIRST.index(name) if name in LONGEST_FIRST else len(LONGEST_FIRST)
        return item.get_closest_marker("alone") is not None, name == LAST, place

    items.sort(key=rank)


@pytest.fixture(scope="session")
def prefix() -> Iterator[str]:
    """What the names of the tests' namespaces begin with; their operator is installed, here or for all lanes."""
    found = os.environ.get(SHARED)
    if found:
        yield found
        return
    with shared_release() as own:
        yield own


@pytest.fixture(scope="session")
def everywhere(prefix: str) -> Release:
    """The shared release, upgraded to the chart's default of an operator for all namespaces.

    The operator ends before: an upgrade takes its rights away before it has given its Lease away, and the next operator
    would wait until that expires.
    """
    assert prefix
    release = Release.in_namespace(helm.NAMESPACE)
    release.stop()
    release.install_for(servers=OWN_SERVERS)
    return release


@pytest.fixture(scope="session")
def target_image() -> str:
    """The target's image, as the cluster knows it."""
    return image("target")


@pytest.fixture(scope="module")
def module_cluster(request: pytest.FixtureRequest, prefix: str) -> LiveCluster:
    """The namespace of one file of tests, with the operator at work that all share."""
    return cluster_in(module_namespace(prefix, request.path))


@pytest.fixture
def cluster(module_cluster: LiveCluster) -> LiveCluster:
    """The module's namespace, for tests that name their objects themselves."""
    return module_cluster


@pytest.fixture(scope="session")
def quickstarts_cluster(prefix: str) -> LiveCluster:
    """The namespace of the quickstart's run."""
    return cluster_in(module_namespace(prefix, Path("test_quickstart.py")))


@pytest.fixture(scope="session")
def quickstart(quickstarts_cluster: LiveCluster) -> dict[str, Any]:
    """How the example of a first test ended. Files that read it are of the group "the quickstart": it is run once."""
    return run_quickstart(quickstarts_cluster)


@pytest.fixture(scope="module")
def release_to_install(prefix: str) -> Iterator[Release]:
    """A release for one file of tests, in a namespace of its own: they install it as they need it."""
    namespace = f"{prefix}-own-{secrets.token_hex(2)}"
    create_namespaces(namespace)
    release = Release.in_namespace(namespace)
    yield release
    release.uninstall()
    delete_namespaces(namespace)


@pytest.fixture(scope="module")
def own_release(release_to_install: Release) -> Release:
    """A release for one file of tests, in a namespace that it watches alone: they may stop it and uninstall it."""
    release_to_install.install_for(release_to_install.cluster.namespace)
    return release_to_install
