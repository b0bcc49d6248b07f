"""A managed system on the cluster: sshd as root with PAM, in a user namespace that it cannot leave."""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from canary import Canary
from chart_release import Release, allow_baseline
from live_cluster import LiveCluster, load_test, lone_worker_test
from short_examples import EXAMPLES, is_of_a_system, short_test
from sshload_contract.population import read_population
from sshload_operator.manifests.system_target import CAPABILITIES, WITHOUT_USER_NAMESPACE
from yaml import safe_load_all

pytestmark = pytest.mark.xdist_group("system target")

LONG = {"arrivals": {"stages": [{"rate": 2, "duration": "20m"}]}}
SYSTEM = {"managed": {"system": {"users": 3}}}
BITS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SYS_CHROOT": 18,
}
"""The numbers of capabilities(7) in include/uapi/linux/capability.h."""

PROCESSES = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2> /dev/null; true"  # some end while they are looked at
SEEN_BY_ROOT = r"""
import ctypes, json, os, pathlib, subprocess
def read(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError as error:
        return error.strerror
def tried(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return [done.returncode, done.stdout + done.stderr]
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    return os.strerror(ctypes.get_errno()) if getattr(libc, name)(*arguments) else ""
status = dict(line.split(":\t", 1) for line in read("/proc/self/status").splitlines())
print(json.dumps({
    "uid": os.getuid(),
    "maps": [read("/proc/self/uid_map").split(), read("/proc/self/gid_map").split()],
    "capabilities": {name: int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb")},
    "no new privileges": status["NoNewPrivs"],
    "seccomp": status["Seccomp"],
    "mounts": call("mount", b"none", b"/mnt", b"tmpfs", 0, None),
    "remounts": call("mount", b"none", b"/proc/sys", b"", 4128, None),
    "unshares users": call("unshare", 0x10000000),
    "unshares mounts": call("unshare", 0x00020000),
    "joins the first process of the node": call("setns", os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    "makes a device": call("mknod", b"/tmp/disk", 0o060600, 0),
    "the host's name": call("sethostname", b"x", 1),
    "the clock": call("settimeofday", (ctypes.c_long * 2)(0, 0), None),
    "raises its limits": call("setrlimit", 7, (ctypes.c_ulong * 2)(1 << 40, 1 << 40)),
    "writes to the kernel": [read("/proc/sys/kernel/hostname") and str(os.access(path, os.W_OK)) for path in
        ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper")],
    "the node's disks": [name for name in os.listdir("/dev") if name.startswith(("vd", "sd", "nvme"))],
    "processes of others": [
        int(name) for name in os.listdir("/proc") if name.isdigit() and "kubelet" in read(f"/proc/{name}/comm")],
    "accounts": read("/etc/passwd"),
    "secrets": tried("sh", "-c", "ls -A /var/run/secrets /run/secrets"),
    "folders": {path: oct(os.stat(path).st_mode & 0o7777) for path in
        ("/etc", "/home", "/tmp", "/etc/shadow", "/etc/sshload/target.json")},
    "owners": {path: [os.stat(path).st_uid, os.stat(path).st_gid] for path in
        ("/etc", "/etc/passwd", "/etc/sshload/target.json", "/usr/bin/ls")},
}))
"""
SEEN_BY_A_USER = r"""
import json, os, pathlib, signal, subprocess, sys
os.setgid(int(sys.argv[2])); os.setgroups([]); os.setuid(int(sys.argv[1]))
def refused(act, *arguments):
    try:
        act(*arguments)
    except OSError as error:
        return error.strerror
    return "done"
others = "/home/user00002"
print(json.dumps({
    "another's home": refused(os.listdir, others),
    "another's keys": refused(pathlib.Path(others, ".ssh/authorized_keys").read_text),
    "renames another's home": refused(os.rename, others, "/home/gone"),
    "the target's files": refused(pathlib.Path("/etc/sshload/target.json").read_text),
    "what all keys are made of": refused(pathlib.Path("/etc/sshload/keys/population").read_text),
    "a host key": refused(pathlib.Path("/etc/sshload/keys/ssh_host_ed25519_key").read_text),
    "passwords": refused(pathlib.Path("/etc/shadow").read_text),
    "an account": refused(pathlib.Path("/etc/passwd").open, "a"),
    "a file of root's in /tmp": refused(os.rename, next(pathlib.Path("/tmp").glob("sshload-target-*")), "/tmp/x"),
    "ends sshd": refused(os.kill, 1, signal.SIGTERM),
    "environment of root": refused(pathlib.Path("/proc/1/environ").read_bytes),
    "becomes root": refused(os.setuid, 0),
    "programs with setuid": subprocess.run(["su", "user00002", "-c", "id"], capture_output=True,
        stdin=subprocess.DEVNULL).returncode,
}))
"""


@pytest.fixture(scope="module")
def lax(module_cluster: LiveCluster) -> LiveCluster:
    """The module's namespace, where root is admitted, with capabilities of a container."""
    allow_baseline(module_cluster.namespace)
    return module_cluster


@pytest.fixture(scope="module")
def pod(lax: LiveCluster) -> Iterator[dict[str, Any]]:
    """The target's pod of a run under load, until all have looked at it."""
    lax.apply(load_test("rooted", target=SYSTEM, load=LONG), load_test("neighbour", target=SYSTEM, load=LONG))
    for name in ("rooted", "neighbour"):
        lax.running(name)
    yield target_of(lax, "rooted")
    for name in ("rooted", "neighbour"):
        lax.kubectl("delete", "slt", name, "--wait=false")


def target_of(cluster: LiveCluster, test: str) -> dict[str, Any]:
    """Return the target's pod of a run."""
    (found,) = cluster.labelled("pods", f"sshload.dev/test={test},sshload.dev/role=target")
    return found


def asked(cluster: LiveCluster, pod: dict[str, Any], program: str, *arguments: str) -> dict[str, Any]:
    """Run a Python program as root of the pod, and return what it says."""
    said = cluster.kubectl("exec", pod["metadata"]["name"], "-c", "target", "--", "python", "-c", program, *arguments)
    found: dict[str, Any] = json.loads(said)
    return found


@pytest.fixture(scope="module")
def root(pod: dict[str, Any], lax: LiveCluster) -> dict[str, Any]:
    """What root of the pod sees and may do."""
    return asked(lax, pod, SEEN_BY_ROOT)


def test_root_of_the_pod_is_nobody_on_the_node_and_nobody_in_another_pod(
    root: dict[str, Any], lax: LiveCluster
) -> None:
    other = asked(lax, target_of(lax, "neighbour"), SEEN_BY_ROOT)
    assert (root["uid"], other["uid"]) == (0, 0)
    ranges = []
    for users, groups in (root["maps"], other["maps"]):
        assert users == groups
        inside, outside, length = map(int, users)
        assert inside == 0
        assert outside >= 65_536
        ranges.append(range(outside, outside + length))
    first, second = ranges
    assert max(first[0], second[0]) > min(first[-1], second[-1]), "the ids of two pods overlap"


def test_root_has_the_capabilities_that_it_needs_and_can_get_no_other(root: dict[str, Any]) -> None:
    assert BITS.keys() == CAPABILITIES.keys()
    needed = sum(1 << bit for bit in BITS.values())
    assert root["capabilities"] == {"CapEff": needed, "CapPrm": needed, "CapBnd": needed, "CapInh": 0, "CapAmb": 0}
    assert (root["no new privileges"].strip(), root["seccomp"].strip()) == ("1", "2")


@pytest.mark.parametrize(
    "act",
    [
        "mounts",
        "remounts",
        "unshares users",
        "unshares mounts",
        "joins the first process of the node",
        "makes a device",
        "the host's name",
        "the clock",
        "raises its limits",
    ],
)
def test_what_would_lead_out_of_the_pod_is_not_permitted_to_its_root(root: dict[str, Any], act: str) -> None:
    assert root[act] == "Operation not permitted"


def test_nothing_of_the_node_or_of_the_api_server_is_in_the_pod(root: dict[str, Any]) -> None:
    assert root["writes to the kernel"] == ["False"] * 3
    assert (root["the node's disks"], root["processes of others"]) == ([], [])
    assert root["accounts"] != Path("/etc/passwd").read_text(encoding="utf-8")
    assert "user00003:" in root["accounts"]
    assert root["secrets"][0] != 0
    assert "token" not in root["secrets"][1]


def test_folders_that_users_share_are_roots_and_keys_are_for_root_alone(root: dict[str, Any]) -> None:
    modes = root["folders"]
    assert (modes["/etc"], modes["/home"], modes["/tmp"]) == ("0o755", "0o755", "0o1777")
    assert (modes["/etc/shadow"], modes["/etc/sshload/target.json"]) == ("0o640", "0o400")
    assert set(map(tuple, root["owners"].values())) == {(0, 0)}


def test_a_user_reaches_nothing_of_another_user_of_root_or_of_the_run(
    root: dict[str, Any], pod: dict[str, Any], lax: LiveCluster
) -> None:
    account = next(line for line in root["accounts"].splitlines() if line.startswith("user00001:"))
    seen = asked(lax, pod, SEEN_BY_A_USER, *account.split(":")[2:4])
    assert seen.pop("programs with setuid") != 0
    refusals = {"Permission denied", "Operation not permitted"}
    assert {what: how for what, how in seen.items() if how not in refusals} == {}


def test_the_pod_was_given_no_secret_of_another_run_and_of_its_own_only_what_a_server_has(
    pod: dict[str, Any], lax: LiveCluster
) -> None:
    (config,) = (volume for volume in pod["spec"]["volumes"] if volume["name"] == "config")
    sources = [source["secret"] for source in config["projected"]["sources"] if "secret" in source]
    (own,) = lax.labelled("secrets", "sshload.dev/test=rooted")
    assert {source["name"] for source in sources} == {own["metadata"]["name"]}
    listed = lax.kubectl("exec", pod["metadata"]["name"], "-c", "target", "--", "ls", "/etc/sshload/keys").split()
    assert "id_ed25519" not in listed
    assert "run_token" not in listed
    token = b64decode(own["data"]["run_token"]).decode()
    search = f"! grep -rIlF {token} /etc /run /tmp /home /var /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2> /dev/null"
    lax.kubectl("exec", pod["metadata"]["name"], "-c", "target", "--", "sh", "-c", search)


def test_no_credential_of_its_accounts_is_in_what_the_cluster_shows_or_the_pods_say(
    pod: dict[str, Any], lax: LiveCluster
) -> None:
    assert pod["status"]["phase"] == "Running"
    (own,) = lax.labelled("secrets", "sshload.dev/test=rooted")
    text = b64decode(own["data"]["population"]).decode()
    population = read_population(text, 3)
    canary = Canary(
        {
            "secret of the population": text.encode(),
            "password": population.password.encode(),
            **{f"key of {name}": population.key_seed(name) for name in population.names},
            **{f"TOTP secret of {name}": population.totp_secret(name) for name in population.names},
        }
    )
    kinds = "slt,pods,configmaps,events,jobs,deployments,services,networkpolicies"
    said = {"the objects": lax.kubectl("get", kinds, "-o", "yaml")}
    for one in lax.labelled("pods", "sshload.dev/test=rooted"):
        name, role = one["metadata"]["name"], one["metadata"]["labels"]["sshload.dev/role"]
        said[f"the {role}'s log"] = lax.kubectl("logs", name, "--all-containers")
        said[f"a process of the {role}"] = lax.kubectl("exec", name, "-c", role, "--", "sh", "-c", PROCESSES)
    assert {"the target's log", "a process of the target", "a process of the worker"} <= said.keys()
    assert "sshload_target\0--config" in said["a process of the target"]
    assert [sentence for place, content in said.items() for sentence in canary.found_in(place, content)] == []


def test_the_policies_of_its_run_let_only_workers_and_the_master_in_and_nothing_out(lax: LiveCluster) -> None:
    (policy,) = lax.labelled("networkpolicies", "sshload.dev/test=rooted,sshload.dev/role=target")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert policy["spec"].get("egress", []) == []
    peers = [peer for rule in policy["spec"]["ingress"] for peer in rule["from"]]
    assert {peer["podSelector"]["matchLabels"]["sshload.dev/role"] for peer in peers} == {"worker", "master"}


DROPS_THE_FIELD = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAMESPACE-host-users}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
    - name: of-the-test
      expression: "has(object.spec.hostUsers) && object.metadata.labels['sshload.dev/test'] == 'dropped'"
  mutations:
    - patchType: JSONPatch
      jsonPatch: {expression: '[JSONPatch{op: "remove", path: "/spec/hostUsers"}]'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAMESPACE-host-users}
spec: {policyName: NAMESPACE-host-users}
"""


def test_where_the_api_server_drops_the_user_namespace_nothing_is_ever_root_and_the_run_says_so(
    lax: LiveCluster,
) -> None:
    """As API servers before 1.33 do, without a word."""
    objects = DROPS_THE_FIELD.replace("NAMESPACE", lax.namespace)
    lax.kubectl("apply", "--server-side", "-f", "-", stdin=objects)
    try:
        lax.gone(lambda: keeps_host_users(lax), "what keeps the field")
        seen: list[dict[str, Any]] = []
        lax.apply(lone_worker_test("dropped", target=SYSTEM))
        status = lax.wait(
            "dropped", lambda status: seen.extend(targets(lax)) or status.get("phase") == "Finished", "end"
        )
    finally:
        lax.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=objects)
    assert (status["verdict"], status["reason"]) == ("Error", "NoUserNamespace"), status["message"]
    assert "its uid_map is 0 0 4294967295" in status["message"]
    assert seen
    started = [one for pod in seen for one in statuses(pod) if one["name"] != "user-namespace" and has_run(one)]
    assert started == []


def keeps_host_users(cluster: LiveCluster) -> bool:
    """Tell whether the API server still makes pods as they are asked for."""
    spec = {"hostUsers": False, "containers": [{"name": "one", "image": "none"}]}
    labels = {"sshload.dev/test": "dropped"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "tried", "labels": labels}, "spec": spec}
    made = cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(pod))
    return "hostUsers" in json.loads(made)["spec"]


def targets(cluster: LiveCluster) -> list[dict[str, Any]]:
    """Return the target's pods of the test whose field is dropped."""
    return cluster.labelled("pods", "sshload.dev/test=dropped,sshload.dev/role=target")


def statuses(pod: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statuses of all containers of a pod."""
    status = pod["status"]
    return [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]


def has_run(container: dict[str, Any]) -> bool:
    """Tell whether a container was ever started."""
    return bool(
        container.get("restartCount") or {"running", "terminated"} & {*container["state"], *container["lastState"]}
    )


def test_a_system_without_a_user_namespace_is_refused_unless_the_installer_permits_it(lax: LiveCluster) -> None:
    target = {"managed": {"system": {"userNamespace": False}}}
    status = lax.run(lone_worker_test("unpermitted", target=target))
    assert (status["verdict"], status["reason"]) == ("Error", "NotPermitted")
    assert "permitted.systemTargets" in status["message"]
    assert lax.children("unpermitted") == []


@pytest.mark.full
def test_where_the_installer_permits_it_a_system_runs_without_a_user_namespace_and_with_no_other_rights(
    release_to_install: Release,
) -> None:
    cluster = release_to_install.cluster
    allow_baseline(cluster.namespace)
    release_to_install.install_for(cluster.namespace, values=("permitted.systemTargets=true",))
    cluster.apply(lone_worker_test("on-the-node", target={"managed": {"system": {"userNamespace": False}}}, load=LONG))
    cluster.running("on-the-node")
    seen = asked(cluster, target_of(cluster, "on-the-node"), SEEN_BY_ROOT)
    assert seen["maps"] == [["0", "0", "4294967295"]] * 2
    rights = sum(1 << bit for bit in (*BITS.values(), 29))
    assert [*WITHOUT_USER_NAMESPACE] == ["AUDIT_WRITE"]
    assert (seen["capabilities"]["CapEff"], seen["capabilities"]["CapBnd"]) == (rights, rights)
    assert (seen["no new privileges"].strip(), seen["seccomp"].strip()) == ("1", "2")
    for act in ("mounts", "remounts", "unshares mounts", "makes a device", "the host's name", "the clock"):
        assert seen[act] == "Operation not permitted", act


def systems() -> Iterator[Any]:
    """Yield the examples of systems; one of them is in every run."""
    for path in sorted(EXAMPLES.glob("*.yaml")):
        of_tests = [one["spec"] for one in safe_load_all(path.read_text()) if one["kind"] == "SSHLoadTest"]
        if any(map(is_of_a_system, of_tests)):
            yield pytest.param(path.stem, marks=() if path.stem == "28-system-target" else pytest.mark.full)


@pytest.mark.parametrize("name", list(systems()))
def test_the_logins_of_an_example_are_those_of_sshds_log_and_its_status_says_what_was_measured(
    lax: LiveCluster, name: str
) -> None:
    test = short_test(name)
    status = lax.run(test)
    assert status["verdict"] == "Passed", status["message"]
    target = status["results"]["target"]
    assert "loginDifference" not in target
    assert (target["asRoot"], target["pam"]) == (True, True)
    assert target["accounts"] == ("sss" if "ldap" in test["spec"]["target"]["managed"]["system"] else "files")
    assert target["distribution"].startswith("Debian GNU/Linux 13")
    lax.gone(lambda: lax.children(test["metadata"]["name"]), "children")
