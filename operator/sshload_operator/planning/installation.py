"""The installation, as the chart writes it for the operator."""

from ipaddress import ip_network
from typing import Any

import yaml

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.placement import object_name, read_resources
from sshload_operator.api.parse.readers import choice, duration, flag, items, mapping, text, whole
from sshload_operator.planning.limits import Limits
from sshload_operator.planning.plan import AllowedTarget, Installation

_IMAGE = text(shortest=1, longest=500)
_HOST_PATTERN = text(shortest=1, longest=253, pattern=r"[A-Za-z0-9.:*?/_\[\]!-]+", wanted="a host pattern or a CIDR")
_PULL_POLICY = choice("Always", "IfNotPresent", "Never")
_TARGETS_MOST = 10_000
_COUNT = whole(1, 1_000_000_000)


def read_installation(text_yaml: str) -> Installation:
    """Return the installation that a YAML text spells; raises SpecError naming the field.

    Absent `externalTargets` allow none. Without `workerResources`, worker pods that name no resources ask for none.
    """
    try:
        value = yaml.safe_load(text_yaml)
    except yaml.YAMLError as error:
        raise SpecError("", f"is not YAML: {error}") from error
    fields = Fields(value, "")
    installation = Installation(
        worker_image=fields.required("workerImage", _IMAGE),
        target_image=fields.required("targetImage", _IMAGE),
        image_pull_policy=fields.defaulted(
            "imagePullPolicy", choice("Always", "IfNotPresent", "Never"), "IfNotPresent"
        ),
        image_pull_secrets=fields.defaulted("imagePullSecrets", items(object_name, most=10), []),
        worker_resources=fields.defaulted("workerResources", read_resources, {}),
        allowed_targets=fields.defaulted("externalTargets", items(_read_allowed_target, most=_TARGETS_MOST), []),
        one_address=False,
        limits=fields.defaulted("limits", _read_limits, {}),
        paused=fields.defaulted("paused", flag, default=False),
    )
    fields.end()
    return installation


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
        ports=fields.defaulted("ports", items(whole(1, 65_535), most=_TARGETS_MOST), []),
    )
    fields.end()
    return target


def _read_host_pattern(value: Any, path: str) -> str:
    """Read a pattern, or a CIDR: with a slash it must be right, or it would silently allow nothing."""
    pattern = _HOST_PATTERN(value, path)
    if "/" in pattern:
        try:
            ip_network(pattern)
        except ValueError as error:
            raise SpecError(path, f"must be a host pattern or a CIDR: {error}") from error
    return pattern
