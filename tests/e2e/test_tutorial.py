"""The tutorial's first test, typed as it stands, on a real cluster: the verdicts are those that the page promises.

How many logins a server takes in a second is not what the page is about: its first load is one that a slow one takes.
"""

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from generator_reruns import rerun_while_lagging
from guide import ROOT, blocks_of, commands, yaml_file
from live_cluster import WITHIN_S, LiveCluster
from local_cli import SSHLOAD
from short_examples import on_a_busy_machine

PAGE = ROOT / "docs/tutorial/first-test.md"
PROMISED = {"first": {"Passed"}, "burst": {"Failed", "Invalid"}}
"""The verdicts that the page speaks of: of sixty logins at one instant a busy machine may make an Invalid run."""
LOAD = {"arrivals": {"stages": [{"rate": 4, "duration": "6s"}]}}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the page says to save."""
    for name in ("first.yaml", "burst.yaml"):
        shown = yaml_file(PAGE, name)
        assert shown is not None
        document = shown.document
        if name == "first.yaml":
            document["spec"] |= {"load": LOAD, "thresholds": on_a_busy_machine(document["spec"]["thresholds"])}
        (tmp_path / name).write_text(yaml.safe_dump(document), encoding="utf-8")
    return tmp_path


def typed(cluster: LiveCluster, words: list[str], folder: Path) -> str:
    """Run a command as it stands, for the cluster and the namespace of the test, and return what it prints."""
    if words[0] == "kubectl":
        return cluster.kubectl(*(str(folder / word) if word.endswith(".yaml") else word for word in words[1:]))
    where = () if words[1] == "validate" else ("--kubeconfig", str(cluster.kubeconfig), "-n", cluster.namespace)
    command = [SSHLOAD, *words[1:], *where]
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=WITHIN_S
    )
    assert done.stdout, done.stderr
    return done.stdout


def watched(cluster: LiveCluster, words: list[str], folder: Path) -> str:
    """Watch a test as it stands, and again, with a new object, while the generator lags and the page promises more."""
    name, attempts = words[2], itertools.count()

    def watch() -> str:
        if next(attempts):
            cluster.delete("sshloadtest", name)
            cluster.gone(lambda: cluster.children(name), "children of the test before")
            cluster.kubectl("apply", "-f", str(folder / f"{name}.yaml"))
        return typed(cluster, words, folder)

    return rerun_while_lagging(watch, lambda said: {} if is_promised(name, said) else judgement(said))


def is_promised(name: str, said: str) -> bool:
    """Tell whether the page speaks of the verdict that was printed of this test."""
    return said.partition(" ")[0] in PROMISED[name]


def judgement(said: str) -> dict[str, str]:
    """Return verdict and reason of a result as it is printed, nothing where it has none."""
    found = re.match(r"(\w+) \((\w+)\)", said)
    return {} if found is None else {"verdict": found[1], "reason": found[2]}


def test_the_first_test_of_the_tutorial_ends_as_the_page_says(cluster: LiveCluster, folder: Path) -> None:
    for block in blocks_of(PAGE, "sh"):
        for words in commands(block):
            if words[1] != "watch":
                typed(cluster, words, folder)
            else:
                said = watched(cluster, words, folder)
                assert is_promised(words[2], said), said
    assert not cluster.exists("sshloadtest", "first")
