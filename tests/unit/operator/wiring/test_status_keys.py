"""Statuses are read and written by their declarations: no other code spells the names of their JSON."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from crd_schema import status_schema
from sshload_operator import __file__ as package

OPERATOR = Path(package).parent
KINDS = ("sshloadtests", "sshloadtestschedules", "sshloadtestcomparisons")
OF_KUBERNETES = {"observedGeneration", "startTime", "completionTime", "lastTransitionTime", "lastScheduleTime"}
"""Names that other objects have in their statuses too."""


def names(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        yield name
        yield from names(field)
        yield from names(field.get("items", {}))


def keys(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each string by which something is looked up, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str(key))):
                yield key, node.lineno
            case ast.Call(
                func=ast.Attribute(attr="get" | "pop" | "setdefault"), args=[ast.Constant(value=str(key)), *_]
            ):
                yield key, node.lineno
            case ast.Compare(left=ast.Constant(value=str(key)), ops=[ast.In() | ast.NotIn()]):
                yield key, node.lineno


@pytest.mark.slow
def test_no_name_of_a_status_is_a_key_outside_of_its_declaration() -> None:
    declared = {name for kind in KINDS for name in names(status_schema(kind))}
    distinct = {name for name in declared if name != name.lower()} - OF_KUBERNETES
    assert {"completedRate", "lastVerdict", "memoryPeakBytes", "p50RatioLow"} <= distinct
    spelled = [
        f"{path.relative_to(OPERATOR)}:{line}: {key}"
        for path in OPERATOR.rglob("*.py")
        for key, line in keys(ast.parse(path.read_text(encoding="utf-8")))
        if key in distinct
    ]
    assert spelled == []


@pytest.mark.slow
def test_nothing_looks_into_the_status_of_an_object_of_ours_by_a_key() -> None:
    """The statuses of pods, Deployments and reviews are Kubernetes' own."""
    spelled = [
        f"{path.relative_to(OPERATOR)}:{line}"
        for path in OPERATOR.rglob("*.py")
        if path.name not in {"pod_facts.py", "cluster.py", "observe.py"}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (line := _looked_into(node))
    ]
    assert spelled == []


def _looked_into(node: ast.AST) -> int:
    """Return the line of `body["status"]["x"]`, `body["status"].get("x")` and the like; 0 for anything else."""
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=str())) if _is_status(inner):
            return node.lineno
        case ast.Call(func=ast.Attribute(value=inner, attr="get")) if _is_status(inner):
            return node.lineno
        case _:
            return 0


def _is_status(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(slice=ast.Constant(value="status")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="status"), *_]):
            return True
        case ast.BoolOp(values=[inner, *_]):
            return _is_status(inner)
        case ast.Name(id="status"):
            return True
        case _:
            return False
