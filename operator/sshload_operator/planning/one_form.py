"""One form of all ways to write the same spec, for its hash: what a spec means decides whether a test runs again.

What only looks different: amounts (`1000m`, `1`), the letters of a host's name, an address of IPv6, the order of what
is found by its name, and what Kubernetes takes for absent in its own objects.
"""

import json
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final

from sshload_contract.quantities import resource_amount

_NAMES_OF_THE_AUTHOR: Final = {"annotations", "extraConfig", "labels", "matchLabels", "nodeSelector", "triggers"}
"""Maps whose keys are no fields."""
_OF_KUBERNETES: Final = {"affinity", "tolerations", "topologySpreadConstraints"}
"""Objects that Kubernetes reads. The order of each list in them means nothing."""
_IN_ANY_ORDER: Final = {
    *("directories", "env", "files", "imagePullSecrets", "repositories", "thresholds", "volumes"),
    *_OF_KUBERNETES,
}
_MAY_BE_NOTHING: Final = {"requests", "limits", "resources", "workers"}
_ABSENT: Final[tuple[Any, ...]] = (None, "", [])
_DEFAULTS: Final = {"operator": "Equal", "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}
"""Kubernetes' own defaults of fields that a spec passes on. No other field of these objects has such a value."""


def in_one_form(stated: Any, field: str = "") -> Any:
    """Return what a spec states so that what means the same is equal. `field` is the field that states it."""
    if field in _NAMES_OF_THE_AUTHOR:
        return stated
    if field in _OF_KUBERNETES:
        return _of_kubernetes(stated, field)
    if isinstance(stated, Mapping):
        if field in ("requests", "limits"):
            return {name: str(resource_amount(amount)) for name, amount in stated.items()}
        found = {name: in_one_form(item, name) for name, item in stated.items()}
        return _without_steady_end(found) if field == "stages" else _without_nothing(found)
    if isinstance(stated, list):
        items = [in_one_form(item, field if field == "stages" else "") for item in stated]
        return _sorted(items) if field in _IN_ANY_ORDER else items
    return _host(stated) if field == "host" else stated


def _without_nothing(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields without resources that ask for nothing. Such an affinity stays: it replaces the run's own."""
    return {name: item for name, item in found.items() if item != {} or name not in _MAY_BE_NOTHING}


def _without_steady_end(stage: dict[str, Any]) -> dict[str, Any]:
    """Return a stage without an end that is its beginning."""
    ends = {"toRate": "rate", "toUsers": "users"}
    return {name: item for name, item in stage.items() if name not in ends or item != stage.get(ends[name])}


def _of_kubernetes(value: Any, field: str) -> Any:
    """Return an object of Kubernetes without what is as if absent, and with its lists in one order."""
    if field in _NAMES_OF_THE_AUTHOR:
        return value or None
    if isinstance(value, Mapping):
        items = {name: _of_kubernetes(item, name) for name, item in value.items()}
        found = {name: item for name, item in items.items() if item not in _ABSENT and _DEFAULTS.get(name) != item}
        return {name: item for name, item in found.items() if item != {}} if field == "affinity" else found
    if isinstance(value, list | tuple):
        return _sorted([_of_kubernetes(item, "") for item in value])
    return value


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _host(name: str) -> str:
    try:
        return str(ip_address(name))
    except ValueError:
        return name.lower()
