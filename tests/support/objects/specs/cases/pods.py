"""What a test adds to its pods, and what hostile tenants would add."""

from typing import Any

from specs.bad import Bad, bad
from specs.permitted import EVERYTHING
from specs.small import SMALL
from specs.spec import Spec, changed


def _env(**variable: Any) -> Bad:
    return bad("workers.env", [{"name": "A", **variable}], "spec.workers.env")


def _volume(**volume: Any) -> Bad:
    return bad("workers.volumes", [{"mountPath": "/mnt/a", **volume}], "spec.workers.volumes")


def _source(kind: str, **source: Any) -> Bad:
    return _volume(**{kind: source})


_OURS = (
    "LOCUST_MASTER_NODE_HOST", "SSHLOAD_RUN", "PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "LD_LIBRARY_PATH", "PATH",
    "HOME", "BASH_ENV", "OPENSSL_CONF", "GCONV_PATH", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "RSYNC_RSH", "TMPDIR",
    "JOB_COMPLETION_INDEX", "KUBERNETES_SERVICE_HOST", "GEVENT_RESOLVER", "GLIBC_TUNABLES", "HOSTALIASES",
)  # fmt: skip
_RESERVED = (
    "sshload.dev/test", "sshload.dev/role", "own.sshload.dev/a", "kubernetes.io/a", "app.kubernetes.io/name",
    "pod-security.kubernetes.io/enforce", "k8s.io/a", "seccomp.security.alpha.kubernetes.io/pod", "node.k8s.io/a",
)  # fmt: skip
_ELSEWHERE = (
    "/", "/mnt", "/mnt/", "/etc/sshload", "/etc/sshload/keys", "/tmp", "/home", "/usr/lib", "/mntx/a", "mnt/a",
    "/mnt/../etc", "/mnt/a/..", "/mnt/./a", "/mnt//a", "/mnt/a/", "/mnt/a:b", "/mnt/a\n", "/proc/self", "",
)  # fmt: skip

BAD: dict[str, Bad] = {
    **{f"variable-of-ours-{name}": _env(name=name, value="a") for name in _OURS},
    "variable-without-a-name": bad("workers.env", [{"value": "a"}], "spec.workers.env"),
    "variable-of-no-name": _env(name="", value="a"),
    "variable-of-a-digit": _env(name="1A", value="a"),
    "variable-with-an-equals-sign": _env(name="A=B", value="a"),
    "variable-without-a-value": _env(),
    "variable-of-two-values": _env(value="a", valueFrom={"configMapKeyRef": {"name": "a", "key": "b"}}),
    "variable-that-is-too-long": _env(value="a" * 4097),
    "variable-with-a-null": _env(value="a\x00"),
    "variable-of-a-number": _env(value=1),
    "variable-of-a-secret": _env(valueFrom={"secretKeyRef": {"name": "login", "key": "password"}}),
    "variable-of-the-pod": _env(valueFrom={"fieldRef": {"fieldPath": "spec.nodeName"}}),
    "variable-of-resources": _env(valueFrom={"resourceFieldRef": {"resource": "limits.cpu"}}),
    "variable-of-nothing": _env(valueFrom={}),
    "variable-of-a-config-map-without-a-key": _env(valueFrom={"configMapKeyRef": {"name": "a"}}),
    "variable-that-stands-there-twice": bad(
        "workers.env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}], "spec.workers.env[1]"
    ),
    "too-many-variables": bad("workers.env", [{"name": f"A{n}", "value": ""} for n in range(51)]),
    "variables-of-a-config-map": bad("workers.envFrom", [{"configMapRef": {"name": "a"}}]),
    **{f"label-of-ours-{key}": bad("workers.labels", {key: "a"}) for key in _RESERVED},
    **{f"annotation-of-ours-{key}": bad("target.managed.annotations", {key: "a"}) for key in _RESERVED},
    "label-without-a-key": bad("workers.labels", {"": "a"}),
    "label-with-a-space": bad("workers.labels", {"a b": "a"}),
    "label-of-two-prefixes": bad("workers.labels", {"a/b/c": "a"}),
    "label-with-a-long-key": bad("workers.labels", {"a" * 64: "a"}),
    "label-with-a-value-of-two-lines": bad("workers.labels", {"a": "b\nc"}, "spec.workers.labels"),
    "label-with-a-long-value": bad("workers.labels", {"a": "b" * 64}, "spec.workers.labels"),
    "too-many-labels-of-pods": bad("workers.labels", {f"a{n}": "" for n in range(21)}),
    "annotation-that-is-too-long": bad("workers.annotations", {"a": "b" * 4097}, "spec.workers.annotations"),
    "service-account-of-another-namespace": bad("workers.serviceAccountName", "kube-system/default"),
    "token-of-the-service-account": bad("workers.automountServiceAccountToken", True),
    "runtime-class-with-a-space": bad("workers.runtimeClassName", "a b"),
    **{f"volume-at-{path!r}": _volume(mountPath=path, configMap={"name": "a"}) for path in _ELSEWHERE},
    "volume-at-no-path": bad("workers.volumes", [{"configMap": {"name": "a"}}], "spec.workers.volumes"),
    "volume-of-nothing": _volume(),
    "volume-of-two-kinds": _volume(configMap={"name": "a"}, secret={"secretName": "a"}),
    "volume-of-the-node": _source("hostPath", path="/"),
    "volume-of-tokens": _source("projected", sources=[{"serviceAccountToken": {"path": "token"}}]),
    "volume-of-a-driver": _source("csi", driver="secrets-store.csi.k8s.io"),
    "volume-of-the-network": _source("nfs", server="192.0.2.1", path="/"),
    "volume-of-the-pod": _source("downwardAPI", items=[]),
    "volume-of-an-image": _source("image", reference="a"),
    "volume-that-is-made": _source("ephemeral", volumeClaimTemplate={}),
    "volume-of-a-secret-without-a-name": _source("secret"),
    "volume-of-a-secret-of-another-namespace": _source("secret", secretName="other/login"),
    "volume-of-a-secret-that-others-may-read": _source("secret", secretName="a", defaultMode=511),
    "volume-in-memory": _source("emptyDir", sizeLimit="1Gi", medium="Memory"),
    "volume-without-a-limit": _source("emptyDir"),
    "volume-of-no-room": _source("emptyDir", sizeLimit="0"),
    "volume-of-too-much-room": _source("emptyDir", sizeLimit="101Gi"),
    "volume-with-a-sub-path": _volume(configMap={"name": "a"}, subPath="../a"),
    "volumes-at-one-path": bad(
        "workers.volumes", [{"mountPath": "/mnt/a", "configMap": {"name": "a"}}] * 2, "spec.workers.volumes[1]"
    ),
    "too-many-volumes": bad(
        "workers.volumes", [{"mountPath": f"/mnt/{n}", "configMap": {"name": "a"}} for n in range(11)]
    ),
    "own-security-context": bad("workers.securityContext", {"runAsUser": 0}),
    "own-host-network": bad("workers.hostNetwork", True),
}

GOOD: dict[str, Spec] = {
    "workers-with-all-that-can-be-permitted": changed(SMALL, "workers", EVERYTHING),
    "target-with-all-that-can-be-permitted": changed(SMALL, "target.managed", EVERYTHING),
    "variable-of-the-longest": changed(SMALL, "workers.env", [{"name": "A" * 100, "value": "a" * 4096}]),
    "variable-that-only-looks-like-ours": changed(
        SMALL, "workers.env", [{"name": name, "value": "a"} for name in ("MY_PATH", "HOMEPAGE", "ENVIRONMENT", "path")]
    ),
    "label-of-the-longest": changed(SMALL, "workers.labels", {f"{'a' * 253}/{'b' * 63}": "c" * 63}),
    "keys-that-only-look-reserved": changed(
        SMALL, "workers.annotations", {"kubernetes.io": "a", "mykubernetes.io/a": "b", "k8s.io.example.com/a": "c"}
    ),
}
