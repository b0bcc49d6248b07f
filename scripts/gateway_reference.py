"""Write the reference page of the gateway: its API from the OpenAPI document, its configuration, its metrics."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from sshload_gateway.api.app import make_app
from sshload_gateway.api.guard import RequestMetrics
from sshload_gateway.config import Config
from sshload_gateway.metrics import PoolGauges, PoolMetrics, commands_counter

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/gateway.md"
_HEAD = """\
# The gateway

This page is made by `scripts/gateway_reference.py` from the gateway itself. [Run commands over
HTTP](../how-to/gateway.md) shows how to use it; `/openapi.json` of a running gateway is the whole OpenAPI document.

Every path but `/sshapi/v2/` and `/openapi.json` needs `Authorization: Bearer TOKEN`. Errors are
`application/problem+json` with `title`, `status`, `detail`, and `kind`, a word for programs; `problems` has each fault
of a request that is not valid. 429 and 503 have `Retry-After`. Fields in **bold** are required.
"""


class _Nothing:
    connections = sessions = waiting = 0


def page() -> str:
    """Return the whole page."""
    document = make_app(None).openapi()
    api = "".join(_operations(document))
    return f"{_HEAD}{api}\n## Configuration\n\n{''.join(_configuration())}\n## Metrics\n\n{''.join(_metrics())}"


def _operations(document: Mapping[str, Any]) -> Iterator[str]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"\n## {operation['summary']}\n\n`{method.upper()} {path}`\n\n{operation['description']}\n"
            rows = [*_parameters(operation), *_fields(_body(operation), document)]
            if rows:
                yield "\n| in | field | type | |\n|---|---|---|---|\n"
                yield from rows
            yield "\n| status | |\n|---|---|\n"
            for status, answer in sorted(operation["responses"].items()):
                yield f"| {status} | {answer['description']} |\n"
            rows = list(dict.fromkeys(_answers(operation, document)))
            if rows:
                yield "\n| answer | type | |\n|---|---|---|\n"
                yield from rows


def _parameters(operation: Mapping[str, Any]) -> Iterator[str]:
    for one in operation.get("parameters", ()):
        name = f"**`{one['name']}`**" if one.get("required") else f"`{one['name']}`"
        yield f"| {one['in']} | {name} | {_kind(one['schema'])} | {one.get('description', '')} |\n"


def _body(operation: Mapping[str, Any]) -> Mapping[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    schema: Mapping[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


def _fields(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    resolved = _resolved(schema, document)
    for name, field in resolved.get("properties", {}).items():
        shown = f"**`{name}`**" if name in resolved.get("required", ()) else f"`{name}`"
        yield f"| body | {shown} | {_kind(field)} | {field.get('description', '')} |\n"


def _answers(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    for answer in operation["responses"].values():
        yield from _said(answer.get("content", {}).get("application/json", {}).get("schema", {}), document, "")


def _said(schema: Mapping[str, Any], document: Mapping[str, Any], above: str) -> Iterator[str]:
    for name, field in _resolved(schema, document).get("properties", {}).items():
        inner = field.get("items", field)
        if "$ref" in inner and "properties" in _resolved(inner, document):
            yield from _said(inner, document, f"{above}{name}{'[]' if 'items' in field else ''}.")
        else:
            words = field.get("description", "")
            yield f"| `{above}{name}` | {_kind(_resolved(field, document))} | {words} |\n"


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return {**document["components"]["schemas"][name], **schema} if name else schema


def _kind(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_kind(schema['items'])}"
    bounds = [
        f"{words} {schema[key]:g}"
        for key, words in (
            ("minimum", "from"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "to"),
            ("minLength", "at least"),
            ("maxLength", "at most"),
        )
        if key in schema
    ]
    default = [f"default `{schema['default']}`"] if schema.get("default") not in (None, "") else []
    kind = schema.get("format") or schema.get("type", "object")
    return ", ".join([str(kind), *bounds, *default])


def _configuration() -> Iterator[str]:
    yield "One YAML file. Unknown fields and values of other types are refused, all at once.\n\n"
    yield "| field | default | |\n|---|---|---|\n"
    yield from _sections(Config, "")


def _sections(section: type[BaseModel], above: str) -> Iterator[str]:
    for field in section.model_fields.values():
        name = f"{above}{field.alias}"
        inner = next((one for one in _models(field.annotation)), None)
        if inner is None:
            shown = f"`{name}`" if not field.is_required() else f"**`{name}`**"
            yield f"| {shown} | {_default(field)} | {field.description or ''} |\n"
        else:
            is_list = inner is not field.annotation
            yield from _sections(inner, f"{name}{'[]' if is_list else ''}.")


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in get_args(annotation):
        yield from _models(one)


def _default(field: FieldInfo) -> str:
    if field.default in (None, PydanticUndefined):
        return ""
    return f"`{'[]' if field.default == () else field.default}`"


def _metrics() -> Iterator[str]:
    registry = CollectorRegistry()
    PoolMetrics(registry)
    RequestMetrics(registry)
    registry.register(PoolGauges(_Nothing()))
    commands_counter(registry)
    yield "At `/metrics` of the management port, beside `/healthz` and `/readyz`.\n\n"
    yield "| metric | type | |\n|---|---|---|\n"
    for metric in sorted(registry.collect(), key=lambda one: one.name):
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        yield f"| `{name}` | {metric.type} | {metric.documentation} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
