"""The kubectl commands of the guide, run as they stand on their pages, in their order, against a real API server.

There are no controllers here, so nothing waits for a run. What changes the whole cluster is a dry run, because other
tests share the API server.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from guide import PAGES, ROOT, blocks_of, commands, yaml_file
from live_cluster import LiveCluster

OF_THE_CLUSTER = ("delete crd", "delete deployments,", "delete sshloadtests,", "create clusterrole")
WITHOUT_AN_END = {"port-forward", "wait"}
NAMESPACES = ("argocd", "load-tests", "ssh-staging", "sshload-system")
ANY_NAME = "name-of-a-test"
SMALL: dict[str, Any] = {
    "apiVersion": "sshload.dev/v1alpha1",
    "kind": "SSHLoadTest",
    "spec": {
        "target": {"managed": {}},
        "scenario": {"steps": []},
        "load": {"arrivals": {"rate": 1, "duration": "1s"}},
    },
}
OF_AN_OPERATOR: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "of-an-operator", "labels": {"app.kubernetes.io/managed-by": "sshload-operator"}},
}


def kubectl_commands(page: Path) -> list[list[str]]:
    """Return the commands of a page that end by themselves without a run."""
    found = [words[1:] for block in blocks_of(page, "sh") for words in commands(block) if words[0] == "kubectl"]
    return [words for words in found if not WITHOUT_AN_END.intersection(words)]


PLAYED = [page for page in PAGES if kubectl_commands(page)]


@pytest.fixture(name="elsewhere", scope="module")
def _elsewhere(api_server: Any) -> None:
    """What the pages take for there in namespaces that they name."""
    cluster = api_server.namespace()
    for namespace in NAMESPACES:
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-cm", "namespace": "argocd"}})
    cluster.apply({**SMALL, "metadata": {"name": "bastion-capacity", "namespace": "ssh-staging"}})


def here(page: Path, word: str) -> str:
    """Return a word of a command, with the file made that it names."""
    if word == "NAME":
        return ANY_NAME
    _, _, name = word.rpartition("=")
    if word.startswith("--from-file=") and not name.startswith("examples/"):
        Path(name).write_text("content\n")
    elif word.endswith(".yaml") and "/" not in word and not Path(word).exists():
        shown = yaml_file(page, word)
        trace = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "monday"}, "data": {"trace": "0\n"}}
        Path(word).write_text(yaml.safe_dump(trace) if shown is None else shown.text)
    return word


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", PLAYED, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_kubectl_commands_of_a_page_work_as_written_in_their_order(
    page: Path, cluster: LiveCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("examples", "charts"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    played = kubectl_commands(page)
    cluster.apply({**SMALL, "metadata": {"name": ANY_NAME}}, OF_AN_OPERATOR)
    if not any("first.yaml" in words for words in played):
        cluster.apply({**SMALL, "metadata": {"name": "first"}})
    for words in played:
        dry = ("--dry-run=server",) if " ".join(words).startswith(OF_THE_CLUSTER) else ()
        cluster.kubectl(*(here(page, word) for word in words), *dry)
