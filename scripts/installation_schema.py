"""Write the parts of the chart's schema that say what the operator reads, as they are declared for it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sshload_contract.declared import Absent
from sshload_operator.api.shapes.objects import Member, ObjectShape
from sshload_operator.api.shapes.reading import shape_of
from sshload_operator.api.shapes.values import ListShape, RuledShape, Shape, ValuedShape
from sshload_operator.planning.installation import Installation

SCHEMA = Path(__file__).resolve().parents[1] / "charts/sshload/values.schema.json"
_VALUES: Final = ("externalTargets", "deniedRanges", "permitted", "dns", "limits", "paused")
"""What the chart hands on as it is written."""
_SHORT: Final = 60
_CIDR: Final = {"$ref": "#/definitions/cidr"}
_ADDRESS_OR_CIDR: Final = {"anyOf": [_CIDR, {"$ref": "#/definitions/address"}]}
_RANGES: Final = {"$ref": "#/definitions/cidrs"}
_SELECTOR: Final = {"$ref": "#/definitions/selector"}
_CLOSER: Final[Mapping[str, Mapping[str, Any]]] = {
    "externalTargets[].host": {
        "allOf": [
            {
                "if": {"pattern": "^[0-9.*?\\[\\]!/-]*[0-9][0-9.*?\\[\\]!/-]*$"},
                "then": {"$ref": "#/definitions/ipv4"},
            },
            {"if": {"pattern": ":"}, "then": _ADDRESS_OR_CIDR},
        ]
    },
    **{f"deniedRanges.{what}": _RANGES for what in ("pods", "services", "nodes", "others")},
    "dns.pods[].namespaceSelector": _SELECTOR,
    "dns.pods[].podSelector": _SELECTOR,
    "dns.addresses[]": _ADDRESS_OR_CIDR,
    "limits.perTest.duration": {
        "description": "Hours, minutes and seconds, in this order.",
        "allOf": [{"pattern": "^([0-9]{1,4}h)?([0-9]{1,4}m)?([0-9]{1,4}s)?$"}, {"pattern": "[1-9]"}],
    },
}
"""What the operator checks in Python, as a schema, beside the declared form or in place of it (`$ref`, `anyOf`)."""


def schema() -> str:
    """Return the text of the chart's schema with the present declarations."""
    text = SCHEMA.read_text(encoding="utf-8")
    installation = shape_of(Installation)
    assert isinstance(installation, ObjectShape)  # noqa: S101 - it is declared so
    for member in installation.members():
        if member.name in _VALUES:
            block = f'    "{member.name}": {_laid_out(_of_field(member, member.name), 4)}'
            found = re.search(rf'^    "{member.name}": (\{{.*\}}|\{{\n(.*\n)*?    \}})(?=,?\n)', text, re.MULTILINE)
            if found is None:
                raise ValueError(f"the chart's schema has no value {member.name}")
            text = text[: found.start()] + block + text[found.end() :]
    return text


def _laid_out(value: Any, indent: int) -> str:
    """Return JSON whose objects and lists take a line each where they fit into one."""
    line, margin = json.dumps(value), " " * (indent + 2)
    if len(line) <= _SHORT or not isinstance(value, dict | list):
        return line
    if isinstance(value, list):
        items = [_laid_out(item, indent + 2) for item in value]
    else:
        items = [f'"{name}": {_laid_out(item, indent + 2)}' for name, item in value.items()]
    opened, closed = "[]" if isinstance(value, list) else "{}"
    inner = f",\n{margin}".join(items)
    return f"{opened}\n{margin}{inner}\n{' ' * indent}{closed}"


def _of_field(member: Member, place: str) -> dict[str, Any]:
    """Return the schema of a field, which may be null if that means something else than an absent one."""
    found = _of(member.shape, place)
    return {**found, "type": [found["type"], "null"]} if _is_none_if_absent(member) else found


def _is_none_if_absent(member: Member) -> bool:
    return isinstance(member.absent, Absent) and member.absent.value is None


def _of(shape: Shape, place: str) -> dict[str, Any]:
    closer = dict(_CLOSER.get(place, {}))
    if {"$ref", "anyOf"} & closer.keys():
        return closer
    match shape:
        case RuledShape() | ValuedShape():
            return _of(shape.of, place)
        case ListShape():
            bounds = shape.bounds
            return {
                "type": "array",
                **({"minItems": bounds.least} if bounds.least else {}),
                "maxItems": bounds.most,
                **({"uniqueItems": True} if bounds.distinct else {}),
                "items": _of(shape.item, f"{place}[]"),
            }
        case ObjectShape():
            members = list(shape.members())
            required = [member.name for member in members if member.absent is None]
            return {
                "type": "object",
                "additionalProperties": False,
                **({"required": required} if required else {}),
                "properties": {member.name: _of_field(member, f"{place}.{member.name}") for member in members},
            }
        case _:
            plain = {key: value for key, value in shape.schema().items() if not key.startswith("x-")}
            return {**({"type": "string"} if "allOf" in closer and place.endswith("duration") else plain), **closer}


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
