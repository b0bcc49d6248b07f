"""Which image a pod runs, where, and with what."""

import re
from typing import Any

from sshload_operator.api.errors import SpecError
from sshload_operator.api.parse.fields import Fields
from sshload_operator.api.parse.readers import Reader, entries, items, shown, text, whole
from sshload_operator.api.parse.scheduling import AFFINITY, LABEL_VALUE, SPREAD_CONSTRAINT, TOLERATION, Object
from sshload_operator.api.spec import Placement

_AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_AMOUNT_CHARACTERS = 32
_INT64_MOST = 2**63 - 1

object_name: Reader[str] = text(
    longest=253, pattern=r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", wanted="the name of a Kubernetes object"
)


def read_image(fields: Fields) -> str:
    """Return the image, empty where it is the installation's."""
    return (
        fields.optional("image", text(longest=500, pattern=r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", wanted="an image")) or ""
    )


def read_image_pull_secrets(fields: Fields) -> tuple[str, ...]:
    """Return the names of the Secrets that may pull the image."""
    names = fields.optional("imagePullSecrets", items(read_reference, most=10)) or ()
    refuse_repeated(names, fields.at("imagePullSecrets"))
    return names


def read_reference(value: Any, path: str) -> str:
    """Read `{name: ...}` and return the name."""
    fields = Fields(value, path)
    name = fields.required("name", object_name)
    fields.end()
    return name


def read_placement(fields: Fields) -> Placement:
    """Return the placement whose fields stand beside others in `fields`."""
    return Placement(
        resources=fields.optional("resources", read_resources) or {},
        node_selector=fields.optional("nodeSelector", entries(LABEL_VALUE, most=20)) or {},
        tolerations=fields.optional("tolerations", items(TOLERATION, most=20)) or (),
        affinity=fields.optional("affinity", AFFINITY) or {},
        topology_spread_constraints=_read_spread(fields),
        priority_class_name=fields.optional("priorityClassName", text(longest=253)) or "",
    )


def _read_spread(fields: Fields) -> tuple[Object, ...]:
    """Return the constraints; no two say the same of the same places, for a pod cannot have them."""
    spread = fields.optional("topologySpreadConstraints", items(SPREAD_CONSTRAINT, most=10)) or ()
    places = tuple(f"{one['whenUnsatisfiable']} over {one['topologyKey']}" for one in spread)
    refuse_repeated(places, fields.at("topologySpreadConstraints"))
    return spread


def refuse_repeated(names: tuple[str, ...], path: str) -> None:
    """Refuse a name that stands twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise SpecError(f"{path}[{index}]", f"{shown(name)} stands there twice")


def read_resources(value: Any, path: str) -> dict[str, Any]:
    """Read `{requests: ..., limits: ...}`."""
    fields = Fields(value, path)
    resources = {name: fields.optional(name, entries(_read_amount, most=10)) for name in ("requests", "limits")}
    fields.end()
    return {name: amounts for name, amounts in resources.items() if amounts is not None}


def _read_amount(value: Any, path: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise SpecError(path, f"is {shown(value)}, but must be a whole number, or an amount in quotes such as 500m")
    if isinstance(value, int):
        whole(0, _INT64_MOST)(value, path)
    elif len(value) > _AMOUNT_CHARACTERS or _AMOUNT.fullmatch(value) is None:
        raise SpecError(path, "must be an amount, such as 500m or 256Mi")
    return value
