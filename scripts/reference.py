"""Write docs/reference/sshloadtest.md from the CRD, which is the one place where fields are described."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CRD = ROOT / "crds/sshloadtests.yaml"
PAGE = ROOT / "docs/reference/sshloadtest.md"

INTRODUCTION = """\
# SSHLoadTest

`apiVersion: sshload.dev/v1alpha1`, short name `slt`. `kubectl explain sshloadtest.spec --recursive` shows the same.
This page is made from the CRD by `scripts/reference.py`.

Durations are written as `30s`, `1m30s` or `500ms`; sizes as `26Ki` or `11Mi`; percentages as `1%`. An unknown field is
refused by its name. `[]` marks the items of a list, **bold** a field that must be given.
"""

Schema = Mapping[str, Any]


def page() -> str:
    """Return the whole page."""
    crd = yaml.safe_load(CRD.read_text(encoding="utf-8"))
    top = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return "\n".join([INTRODUCTION, *_section("spec", top["spec"]), "", *_section("status", top["status"])]) + "\n"


def _section(name: str, schema: Schema) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield _text(schema)
    yield ""
    yield "| field | type | default | |"
    yield "|---|---|---|---|"
    yield from _rows(schema, "")


def _rows(schema: Schema, above: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        path = f"{above}{name}"
        shown = f"**`{path}`**" if name in schema.get("required", ()) else f"`{path}`"
        yield f"| {shown} | {_type(field)} | {_default(field)} | {_text(field)} |"
        yield from _rows(field, f"{path}.")
        yield from _rows(field.get("items", {}), f"{path}[].")


def _type(field: Schema) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if "enum" in field:
        return " \\| ".join(f"`{word}`" for word in field["enum"])
    if field.get("type") == "array":
        items = field["items"]
        return f"list of {_type(items)}s" if "properties" not in items else "list of objects"
    return str(field.get("type", "any"))


def _default(field: Schema) -> str:
    default = field.get("default")
    if default is None or isinstance(default, dict | list):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _text(field: Schema) -> str:
    return " ".join(field.get("description", "").split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
