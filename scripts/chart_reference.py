"""Write the reference page of the chart's values: defaults and descriptions from values.yaml, types from its schema."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/chart-values.md"
_VALUES = ROOT / "charts/sshload/values.yaml"
_SCHEMA = ROOT / "charts/sshload/values.schema.json"
_HEAD = """\
# Values of the chart

This page is made from `charts/sshload/values.yaml` and its schema by `scripts/chart_reference.py`. The chart
refuses other values.

| value | type | default | |
|---|---|---|---|
"""


def page() -> str:
    """Return the whole page: a row for each value, with the comment above it."""
    text, schema = _VALUES.read_text(encoding="utf-8"), json.loads(_SCHEMA.read_text(encoding="utf-8"))
    lines = text.splitlines()
    values = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(values, yaml.MappingNode)  # noqa: S101 - the chart's own file
    return _HEAD + "".join(f"{row}\n" for row in _rows(values, schema, schema, "", lines))


def _rows(
    values: yaml.MappingNode, part: Mapping[str, Any], schema: Mapping[str, Any], above: str, lines: list[str]
) -> Iterator[str]:
    for key, value in values.value:
        path, said = f"{above}{key.value}", _comment_above(lines, key.start_mark.line)
        field = _resolved(part.get("properties", {}).get(key.value, {}), schema)
        if isinstance(value, yaml.MappingNode) and value.value and "properties" in field:
            if said:
                yield f"| `{path}` | object | | {said} |"
            yield from _rows(value, field, schema, f"{path}.", lines)
        else:
            yield f"| `{path}` | {_type(field, schema)} | `{_default(value)}` | {said} |"


def _comment_above(lines: list[str], line: int) -> str:
    """Return the text of the comment above a line, without the YAML in it."""
    said: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        said.insert(0, lines[line].lstrip().removeprefix("#"))
    words = (word.strip() for word in said if not word.startswith("   "))
    return " ".join(words).replace("|", "\\|")


def _resolved(field: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a field's schema, or the definition that it names."""
    name = field.get("$ref", "").rpartition("/")[2]
    return schema["definitions"][name] if name else field


def _type(field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " \\| ".join(f"`{json.dumps(word)}`" for word in field["enum"])
    kinds = field.get("type", "any")
    if kinds == "array":
        return f"list of {_type(_resolved(field.get('items', {}), schema), schema)}s"
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _default(value: yaml.Node) -> str:
    """Return a default as it would be written after --set-json."""
    return json.dumps(yaml.safe_load(yaml.serialize(value)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
