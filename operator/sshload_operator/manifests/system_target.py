"""The pod of a managed system: sshd as root with PAM, in a user namespace, where root is nobody on the node.

A first container without any privilege proves that there is one, by an image that no test chooses, before anything is
root: Kubernetes may ignore `hostUsers: false` without a word. Pod Security "baseline" admits the pod.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from sshload_contract.names import IMAGE_USER_ID

from sshload_operator.manifests.mounts import empty_dir
from sshload_operator.manifests.pod import RESTRICTED, Confinement, Container
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Role

PROOF_CONTAINER: Final = "user-namespace"
CAPABILITIES: Final[Mapping[str, str]] = {
    "CHOWN": "homes, keys and terminals are given to their users",
    "DAC_OVERRIDE": "root makes fixtures in homes that only their users may enter",
    "KILL": "root ends the processes of all users with the target",
    "SETGID": "a session gets its user's groups",
    "SETUID": "a session becomes its user",
    "SYS_CHROOT": "sshd speaks to who has not logged in from an empty directory (PrivilegeSeparationPath)",
}
"""What root is left with, each with what it is for. Nothing of this holds outside of the user namespace."""
WITHOUT_USER_NAMESPACE: Final[Mapping[str, str]] = {
    "AUDIT_WRITE": "sshd closes a session with a terminal if it may not write that to the node's audit log",
}
"""What it has besides where there is none. In a user namespace the kernel has no audit log for it."""
_COPIES: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER")
"""What copies files of any owner, with their owners and modes, whatever the image has in /etc."""
_ROOT: Final = {"runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
_OWN_LAYER_MIB: Final = 1024
"""What root may write besides the homes: accounts, logs and databases, in a layer that goes with the pod."""


_PRIVATE_ETC: Final = "private-etc"
_ETC: Final = "/etc"
_COPY: Final = f"/{_PRIVATE_ETC}"
_ETC_MIB: Final = 128
"""Of /etc: what the image has there, and five lines in all for each of the most accounts that a system can have."""


def of_system(plan: Plan, container: Container, home_mib: int, *, user_namespace: bool) -> Container:
    """Return the container of a target, which has so much room for homes, as that of a system.

    Programs with setuid gain nothing in its sessions. Its root file system is writable, and is the pod's own, and so is
    its /etc, whose mark says that it may be written (sshload_target.system.private_etc).
    """
    before, capabilities = [_private_etc(plan)], [*CAPABILITIES, *WITHOUT_USER_NAMESPACE]
    pod: dict[str, Any] = {"securityContext": _ROOT, "initContainers": before}
    if user_namespace:
        pod = {"hostUsers": False, **pod, "initContainers": [_proof(plan), *before]}
        capabilities = [*CAPABILITIES]
    limits = {"ephemeral-storage": f"{home_mib + _ETC_MIB + _OWN_LAYER_MIB}Mi"}
    return replace(
        container,
        mounts=({"name": _PRIVATE_ETC, "mountPath": _ETC}, *container.mounts),
        volumes=(*container.volumes, empty_dir(_PRIVATE_ETC, f"{_ETC_MIB}Mi")),
        confinement=Confinement(pod, _root_with(capabilities, read_only=False), limits),
    )


def _proof(plan: Plan) -> dict[str, Any]:
    user_id = plan.installation.run_pods.user_id or IMAGE_USER_ID
    security = {"runAsNonRoot": True, "runAsUser": user_id, "runAsGroup": user_id, **RESTRICTED}
    return _first(plan, PROOF_CONTAINER, plan.installation.system_image, "sshload_target.user_namespace", security)


def _private_etc(plan: Plan) -> dict[str, Any]:
    """Return the container that copies /etc of the target's image to where the target finds it as its own."""
    security = _root_with(_COPIES, read_only=True)
    module = "sshload_target.system.private_etc"
    copying = _first(plan, _PRIVATE_ETC, plan.image(Role.TARGET), module, security, _COPY)
    return {**copying, "volumeMounts": [{"name": _PRIVATE_ETC, "mountPath": _COPY}]}


def _first(
    plan: Plan, name: str, image: str, module: str, security: Mapping[str, Any], *arguments: str
) -> dict[str, Any]:
    """Return a container that has to succeed before the target starts."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": plan.installation.image_pull_policy,
        "command": ["python", "-m", module, *arguments],
        "resources": dict(plan.resources(Role.TARGET)),
        "securityContext": dict(security),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _root_with(capabilities: Iterable[str], *, read_only: bool) -> dict[str, Any]:
    return {
        **RESTRICTED,
        "capabilities": {"drop": ["ALL"], "add": list(capabilities)},
        "readOnlyRootFilesystem": read_only,
    }
