"""The installation, as the chart writes it for the operator."""

from ipaddress import ip_network
from typing import Any

import yaml
from sshload_contract.allow_list import AllowedTarget, AllowList, DeniedRange, entry_problem, range_problem

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import object_name, read_resources
from sshload_operator.api.parse.readers import choice, duration, entries, flag, items, mapping, text, whole
from sshload_operator.api.parse.scheduling import LABEL_VALUE, TOLERATION
from sshload_operator.planning.limits import Limits
from sshload_operator.planning.plan import UNPRIVILEGED, Installation, Permitted, Resolvers, RunPods

_IMAGE = text(shortest=1, longest=500)
_HOST_PATTERN = text(shortest=1, longest=253, pattern=r"[A-Za-z0-9.:*?/_\[\]!-]+", wanted="a host pattern or a CIDR")
_CIDR = text(shortest=1, longest=50)
_TARGETS_MOST = 1_000
_PORTS_MOST = 100
_RANGES_MOST = 100
_RESOLVERS_MOST = 20
_PORT = whole(1, 65_535)
_RULES_MOST = 20
_LABELS_MOST = 50
_TOLERATIONS_MOST = 20
_ANNOTATION = text(longest=10_000)
_USER_ID = whole(1, 2**31 - 1)
_COUNT = whole(1, 1_000_000_000)
_RANGES = {
    "pods": "the cluster's pods",
    "services": "the cluster's services",
    "nodes": "the cluster's nodes",
    "others": "denied by the installer",
}


def read_installation(text_yaml: str) -> Installation:
    """Return the installation that a YAML text spells; raises SpecError naming the field.

    Absent `externalTargets` allow none, absent `permitted` permits all. Pods whose test and installation name no
    resources ask for none.
    """
    try:
        value = yaml.safe_load(text_yaml)
    except yaml.YAMLError as error:
        raise SpecError("", f"is not YAML: {error}") from error
    fields = Fields(value, "")
    targets = fields.defaulted("externalTargets", items(_read_allowed_target, most=_TARGETS_MOST), [])
    installation = Installation(
        worker_image=fields.required("workerImage", _IMAGE),
        target_image=fields.required("targetImage", _IMAGE),
        image_pull_policy=fields.defaulted(
            "imagePullPolicy", choice("Always", "IfNotPresent", "Never"), "IfNotPresent"
        ),
        image_pull_secrets=fields.defaulted("imagePullSecrets", items(object_name, most=10), []),
        worker_resources=fields.defaulted("workerResources", read_resources, {}),
        allow_list=AllowList(targets, fields.defaulted("deniedRanges", _read_denied_ranges, {})),
        permitted=fields.defaulted("permitted", _read_permitted, {}),
        resolvers=fields.defaulted("dns", _read_resolvers, {}),
        one_address=False,
        run_pods=fields.optional("runPods", _read_run_pods) or UNPRIVILEGED,
        limits=fields.defaulted("limits", _read_limits, {}),
        paused=fields.defaulted("paused", flag, default=False),
    )
    fields.end()
    return installation


def _read_run_pods(value: Any, path: str) -> RunPods:
    fields = Fields(value, path)
    run_pods = RunPods(
        user_id=fields.optional("userId", _USER_ID),
        labels=fields.defaulted("labels", entries(LABEL_VALUE, most=_LABELS_MOST), {}),
        annotations=fields.defaulted("annotations", entries(_ANNOTATION, most=_LABELS_MOST), {}),
        node_selector=fields.defaulted("nodeSelector", entries(LABEL_VALUE, most=_LABELS_MOST), {}),
        tolerations=fields.defaulted("tolerations", items(TOLERATION, most=_TOLERATIONS_MOST), []),
        master_resources=fields.defaulted("masterResources", read_resources, {}),
        target_resources=fields.defaulted("targetResources", read_resources, {}),
        network_policies=fields.defaulted("networkPolicies", flag, default=True),
        extra_egress=fields.defaulted("extraEgress", items(mapping, most=_RULES_MOST), []),
    )
    fields.end()
    return run_pods


def _read_limits(value: Any, path: str) -> Limits:
    fields = Fields(value, path)
    per_test = Fields(fields.defaulted("perTest", mapping, {}), fields.at("perTest"))
    limits = Limits(
        worker_pods=per_test.optional("workerPods", _COUNT),
        rate=per_test.optional("rate", _COUNT),
        connections=per_test.optional("connections", _COUNT),
        duration_s=per_test.optional("duration", duration("1s", "8760h")),
        tests_per_namespace=fields.optional("concurrentTestsPerNamespace", _COUNT),
        tests=fields.optional("concurrentTests", _COUNT),
    )
    per_test.end()
    fields.end()
    return limits


def _read_allowed_target(value: Any, path: str) -> AllowedTarget:
    fields = Fields(value, path)
    target = AllowedTarget(
        host=fields.required("host", _read_host_pattern),
        ports=fields.required("ports", items(_PORT, least=1, most=_PORTS_MOST)),
    )
    fields.end()
    return target


def _read_host_pattern(value: Any, path: str) -> str:
    """Read a pattern of names, an address or a range: one that is wrong would silently allow nothing."""
    pattern = _HOST_PATTERN(value, path)
    problem = entry_problem(pattern)
    if problem:
        raise SpecError(path, f"must be a host pattern, an address or a CIDR: {problem}")
    return pattern


def _read_denied_ranges(value: Any, path: str) -> tuple[DeniedRange, ...]:
    fields = Fields(value, path)
    cidrs = {name: fields.defaulted(name, items(_read_denied_cidr, most=_RANGES_MOST), []) for name in _RANGES}
    fields.end()
    return tuple(DeniedRange(cidr, what) for name, what in _RANGES.items() for cidr in cidrs[name])


def _read_denied_cidr(value: Any, path: str) -> str:
    cidr = _CIDR(value, path)
    problem = range_problem(cidr)
    if problem:
        raise SpecError(path, f"must be a CIDR such as 10.96.0.0/12: {problem}")
    return cidr


def _read_permitted(value: Any, path: str) -> Permitted:
    fields = Fields(value, path)
    permitted = Permitted(
        custom_images=fields.defaulted("customImages", flag, default=True),
        locustfiles=fields.defaulted("locustfiles", flag, default=True),
        forward_steps=fields.defaulted("forwardSteps", flag, default=True),
    )
    fields.end()
    return permitted


def _read_resolvers(value: Any, path: str) -> Resolvers:
    fields = Fields(value, path)
    resolvers = Resolvers(
        peers=fields.defaulted("pods", items(_read_peer, most=_RESOLVERS_MOST), []),
        cidrs=fields.defaulted("addresses", items(_read_cidr, most=_RESOLVERS_MOST), []),
        ports=fields.defaulted("ports", items(_PORT, most=_RESOLVERS_MOST), []),
    )
    fields.end()
    return resolvers


def _read_peer(value: Any, path: str) -> dict[str, Any]:
    """Read which pods a NetworkPolicy means; the API server checks the selectors when a policy is made."""
    fields = Fields(value, path)
    peer = {
        "namespaceSelector": fields.required("namespaceSelector", mapping),
        "podSelector": fields.required("podSelector", mapping),
    }
    fields.end()
    return peer


def _read_cidr(value: Any, path: str) -> str:
    """Read an address or a CIDR, and return a CIDR."""
    try:
        return str(ip_network(_CIDR(value, path)))
    except ValueError as error:
        raise SpecError(path, f"must be an address or a CIDR: {error}") from error
