"""What the images hold, asked in pods of them under Pod Security "restricted"."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from live_cluster import LiveCluster

pytestmark = pytest.mark.xdist_group("images")

COMPONENTS = ("operator", "worker", "target", "gateway")

PROBE = """
import glob, importlib.util, json, os, pathlib, pwd, shutil, subprocess, sys
def compiled(path):
    return pathlib.Path(importlib.util.cache_from_source(path))
def trusted(path):
    return int.from_bytes(compiled(path).read_bytes()[4:8], "little") == 1
def version(*command):
    if shutil.which(command[0], path="/usr/bin:/usr/sbin") is None:
        return None
    return subprocess.run(command, capture_output=True, text=True).stderr
sources = [str(path) for root in ("/usr/lib/python3.13", "/opt/sshload") for path in pathlib.Path(root).rglob("*.py")]
ours = [path for path in sources if path.startswith("/opt/sshload")]
left = ("/var/log/*", "/var/cache/ldconfig/*", "/var/lib/apt/lists/*", "/var/lib/dpkg/*-old", "/mnt/*",
        "/etc/machine-id")
user = pwd.getpwuid(os.getuid())
print(json.dumps({
    "user": [user.pw_uid, os.getgid(), user.pw_name, user.pw_dir, user.pw_shell],
    "python": list(sys.version_info[:2]),
    "prefix": sys.prefix,
    "sources": len(ours),
    "uncompiled": [path for path in sources if not compiled(path).exists()],
    "untrusted": [path for path in sources if compiled(path).exists() and not trusted(path)],
    "left by the build": [path for form in left for path in glob.glob(form)],
    "sshd": version("sshd", "-V"),
    "programs": [name for name in ("git", "rsync", "ssh", "ssh-agent", "ssh-keygen") if shutil.which(name)],
    "host keys": glob.glob("/etc/ssh/ssh_host_*"),
    "pip": shutil.which("pip"),
    "modules": [name for name in ("kopf", "locust", "ssh2", "fastapi", "prometheus_client", "sshload_contract")
                if importlib.util.find_spec(name)],
}))
"""


def probe_pod(name: str, image: str) -> Mapping[str, Any]:
    """Return a pod that asks the image what it is; the image itself says as whom it runs."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [
                {
                    "name": "probe",
                    "image": image,
                    "command": ["python", "-c", PROBE],
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "runAsNonRoot": True,
                        "capabilities": {"drop": ["ALL"]},
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                }
            ],
        },
    }


@pytest.fixture(scope="module")
def facts(module_cluster: LiveCluster, target_image: str) -> dict[str, dict[str, Any]]:
    """What each image says of itself, by component."""
    pods = {component: f"{component}-{uuid.uuid4().hex[:6]}" for component in COMPONENTS}
    images = {component: target_image.replace("sshload-target", f"sshload-{component}") for component in COMPONENTS}
    module_cluster.apply(*(probe_pod(pods[component], images[component]) for component in COMPONENTS))
    found = {}
    for component, pod in pods.items():
        module_cluster.kubectl("wait", f"pod/{pod}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=280s")
        found[component] = json.loads(module_cluster.kubectl("logs", pod))
    return found


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_python_file_is_compiled(facts: dict[str, dict[str, Any]], component: str) -> None:
    """A pod with a read-only root would otherwise compile at every start; the files' dates do not count."""
    assert facts[component]["sources"] > 20
    assert facts[component]["uncompiled"] == []
    assert facts[component]["untrusted"] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_nothing_of_the_build_is_left_that_would_differ_in_the_next(
    facts: dict[str, dict[str, Any]], component: str
) -> None:
    assert facts[component]["left by the build"] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_an_image_runs_as_the_user_load(facts: dict[str, dict[str, Any]], component: str) -> None:
    """The user has a real shell and a home, since sshd logs clients in as it."""
    assert facts[component]["user"] == [10001, 10001, "load", "/home/load", "/bin/bash"]


@pytest.mark.parametrize("component", COMPONENTS)
def test_an_image_carries_python_3_13_and_no_installer(facts: dict[str, dict[str, Any]], component: str) -> None:
    """The environment is the locked one, and nothing in the image could change it."""
    assert facts[component]["python"] == [3, 13]
    assert facts[component]["prefix"] == "/opt/sshload"
    assert facts[component]["pip"] is None


def test_openssh_10_serves_in_the_target_only(facts: dict[str, dict[str, Any]]) -> None:
    assert facts["target"]["sshd"].startswith("OpenSSH_10.")
    assert [facts[component]["sshd"] for component in ("operator", "worker", "gateway")] == [None, None, None]


def test_an_image_has_the_programs_that_its_process_starts(facts: dict[str, dict[str, Any]]) -> None:
    """The operator makes keys, a worker has an agent and moves files, a target serves what git and rsync ask for."""
    clients = ["ssh", "ssh-agent", "ssh-keygen"]
    assert facts["operator"]["programs"] == clients
    assert facts["worker"]["programs"] == ["rsync", *clients]
    assert {"git", "rsync"} <= set(facts["target"]["programs"])
    assert facts["gateway"]["programs"] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_no_image_carries_a_host_key(facts: dict[str, dict[str, Any]], component: str) -> None:
    """A key in an image would be the same on every target, and known to all."""
    assert facts[component]["host keys"] == []


def test_an_image_holds_its_own_dependencies_only(facts: dict[str, dict[str, Any]]) -> None:
    """Locust and kopf never meet in one process, so neither in one image."""
    assert facts["operator"]["modules"] == ["kopf", "prometheus_client", "sshload_contract"]
    assert facts["worker"]["modules"] == ["locust", "ssh2", "prometheus_client", "sshload_contract"]
    assert facts["target"]["modules"] == ["prometheus_client", "sshload_contract"]
    assert facts["gateway"]["modules"] == ["fastapi", "prometheus_client", "sshload_contract"]
