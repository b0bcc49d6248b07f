from collections.abc import Iterator, Mapping
from typing import Any

from chaos_fields import subjects
from chaos_mutations import Path, spec_schema

IN_NO_SPEC = ("matchExpressions", 0)
"""Selectors of namespaces are empty in the specs that tests have: what may stand in them is put in as a whole."""


def fields(schema: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    for name, field in schema.get("properties", {}).items():
        yield (*path, name)
        yield from fields(field, (*path, name))
    if "items" in schema:
        yield from fields(schema["items"], (*path, 0))


def of_items(path: Path) -> Path:
    return tuple(0 if isinstance(step, int) else step for step in path)


def test_chaos_changes_every_field_of_a_test() -> None:
    changed = {of_items(path) for subject in subjects() if subject.kind == "SSHLoadTest" for path in subject.places()}
    missing = set(fields(spec_schema("sshloadtests"))) - changed
    assert {path[-3:-1] for path in missing} <= {IN_NO_SPEC}
