"""Write the part of the chart's schema for `gateway.config`: the configuration that the gateway itself reads."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sshload_gateway.config import Config
from sshload_gateway.identity.tokens import ALGORITHMS

SCHEMA = Path(__file__).resolve().parents[1] / "charts/sshload/values.schema.json"
_BLOCK: Final = re.compile(r'^    "gatewayConfig": \{\n.*?^    \},\n', re.MULTILINE | re.DOTALL)
_OF_THE_CHART: Final = {
    "": {"listen", "management", "database", "sealingKeys", "credentials"},
    "tokens": {"jwksFile"},
    "load": {"apiServer", "tokenFile", "caFile"},
}
"""What the chart sets itself, by section: addresses, and paths of mounted files. It mounts no credential files."""
_WORDS: Final = {"title", "description", "default", "format"}
_CLOSER: Final[Mapping[tuple[str, ...], Mapping[str, Any]]] = {
    ("tokens", "algorithms"): {"type": "array", "minItems": 1, "items": {"enum": list(ALGORITHMS)}},
    ("tokens", "jwksUrl"): {"type": ["string", "null"], "pattern": "^https?://[^\\s/]+"},
    ("destinations", "allowed"): {"$ref": "#/properties/externalTargets"},
    ("destinations", "denied"): {"$ref": "#/definitions/cidrs"},
}
"""The checks in the gateway's code, as a schema."""


def schema() -> str:
    """Return the text of the chart's schema with the definition for the present configuration of the gateway."""
    whole = Config.model_json_schema(by_alias=True)
    definition = _plain(whole, whole["$defs"], ())
    lines = json.dumps({"gatewayConfig": definition}, indent=2).splitlines()[1:-1]
    block = "".join(f"  {line}\n" for line in lines).rstrip("\n") + ",\n"
    return _BLOCK.sub(lambda _: block, SCHEMA.read_text(encoding="utf-8"))


def _plain(part: Mapping[str, Any], named: Mapping[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    """Return a part of pydantic's schema without descriptions, references, and what the chart sets itself."""
    if place in _CLOSER:
        return dict(_CLOSER[place])
    part = {**named[part["$ref"].rpartition("/")[2]], **part} if "$ref" in part else part
    if any("$ref" in one for one in part.get("anyOf", ())):  # or null, which Helm takes for an absent value
        return _plain(part["anyOf"][0], named, place)
    plain = {key: value for key, value in part.items() if key not in _WORDS | {"$defs", "$ref"}}
    left_out = _OF_THE_CHART.get(".".join(place), set())
    if "properties" in plain:
        plain["properties"] = {
            name: _plain(field, named, (*place, name))
            for name, field in part["properties"].items()
            if name not in left_out
        }
        plain["required"] = [name for name in part.get("required", ()) if name not in left_out]
    if "items" in plain:
        plain["items"] = _plain(part["items"], named, (*place, "items"))
    return plain


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
