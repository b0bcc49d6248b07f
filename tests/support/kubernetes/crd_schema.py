"""The status schemas of the CRDs, and what of a status would be refused or silently dropped by the API server."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

CRDS = Path(__file__).parents[3] / "crds"
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@cache
def crd_document(plural: str) -> Mapping[str, Any]:
    """Return a kind's CRD. Callers do not change it."""
    text = (CRDS / f"{plural}.yaml").read_text()
    found: Mapping[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)  # in Python it takes a second
    return found


def crd_version(plural: str) -> Mapping[str, Any]:
    """Return the one version of a kind's CRD. Callers do not change it."""
    version: Mapping[str, Any]
    (version,) = crd_document(plural)["spec"]["versions"]
    return version


def status_schema(plural: str = "sshloadtests") -> Mapping[str, Any]:
    """Return the schema of a kind's `status`."""
    schema: Mapping[str, Any] = crd_version(plural)["schema"]["openAPIV3Schema"]["properties"]["status"]
    return schema


def status_problems(status: Mapping[str, Any], plural: str = "sshloadtests") -> tuple[str, ...]:
    """Return what is wrong with a status as its JSON has it. One that is looked at again costs nothing.

    Raises ValueError for what JSON cannot say: NaN and infinities.
    """
    return _status_problems(json.dumps(status, allow_nan=False), plural)


@lru_cache(maxsize=64)
def _status_problems(text: str, plural: str) -> tuple[str, ...]:
    return tuple(problems(json.loads(text), status_schema(plural)))


def problems(value: Any, schema: Mapping[str, Any], path: str = "status") -> Iterator[str]:
    """Yield every place in which `value` is not as the schema says, unknown fields included."""
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{path}: {value!r} is no {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: {value!r} is below {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        yield f"{path}: {value!r} is above {schema['maximum']}"
    yield from _text_problems(value, schema, path)
    yield from _member_problems(value, schema, path)


def _text_problems(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if not isinstance(value, str):
        return
    if len(value) > schema.get("maxLength", len(value)):
        yield f"{path}: longer than {schema['maxLength']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: {value!r} does not match {schema['pattern']}"


def _member_problems(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)):
            yield f"{path}: more than {schema['maxItems']} items"
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], f"{path}[{index}]")
    if isinstance(value, dict):
        yield from (f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            known = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if known is None:
                yield f"{path}.{name}: unknown field"
            else:
                yield from problems(item, known, f"{path}.{name}")
