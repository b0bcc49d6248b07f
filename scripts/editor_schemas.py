"""Write a JSON schema for each kind, with which editors complete and check YAML (yaml-language-server and others).

They are the CRDs' schemas without what only the API server uses: CEL rules, list types, statuses.
"""

import json
from pathlib import Path
from typing import Any, Final

from sshload_operator.api.kinds import API_VERSION, KINDS, Kind

from crds import specs

ROOT: Final = Path(__file__).resolve().parents[1]
SCHEMAS: Final = ROOT / "docs/reference/schemas"

Schema = dict[str, Any]


def written() -> dict[Path, str]:
    """Return the text of each kind's schema."""
    of_specs = specs()
    return {
        SCHEMAS / f"{kind.name.lower()}.json": json.dumps(_document(kind, of_specs[kind.plural]), indent=1) + "\n"
        for kind in KINDS
    }


def _document(kind: Kind, spec: Schema) -> Schema:
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": kind.name,
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind.name},
            "metadata": {"type": "object", "required": ["name"]},
            "spec": _for_editors(spec),
            "status": {"type": "object"},
        },
        "additionalProperties": False,
    }


def _for_editors(schema: Schema) -> Schema:
    """Return a structural schema of Kubernetes as a JSON schema. Unknown fields are refused, as by the API server."""
    found = {word: said for word, said in schema.items() if not word.startswith("x-kubernetes-")}
    found.pop("format", None)
    if schema.get("x-kubernetes-int-or-string"):
        text = {word: found.pop(word) for word in ("maxLength", "pattern") if word in found}
        whole = {word: found.pop(word) for word in ("minimum", "maximum") if word in found}
        return {**found, "anyOf": [{"type": "string", **text}, {"type": "integer", **whole}]}
    if found.pop("exclusiveMinimum", False):
        found["exclusiveMinimum"] = found.pop("minimum")
    if found.pop("nullable", False) and "type" in found:
        found["type"] = [found["type"], "null"]
    if "properties" in found:
        found["properties"] = {name: _for_editors(one) for name, one in schema["properties"].items()}
        found["additionalProperties"] = False
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            found[inner] = _for_editors(schema[inner])
    return found


def main() -> None:
    """Write all schemas."""
    SCHEMAS.mkdir(exist_ok=True)
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
