"""Write the CRDs from the declarations in sshload_operator.api.

The chart has links to them; a packaged chart has copies.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from applied_schema import applied_schema
from merge_patch_schema import merge_patch_schema
from sshload_contract.declared import Rule
from sshload_operator.api.comparison.spec import WrittenComparison
from sshload_operator.api.kinds import COMPARISON, GROUP, SCHEDULE, TEST, VERSION, Kind
from sshload_operator.api.load_test import NOT_ITS_OWN_BASELINE, spec_schema
from sshload_operator.api.schedule.spec import WrittenSchedule
from sshload_operator.api.shapes.reading import schema
from sshload_operator.api.shapes.values import description_of, rule_schemas
from sshload_operator.api.spec import WrittenSpec
from sshload_operator.api.status.comparison import ComparisonStatus
from sshload_operator.api.status.head import UNSEEN, Column, written
from sshload_operator.api.status.load_test import TestStatus
from sshload_operator.api.status.schedule import ScheduleStatus

ROOT: Final = Path(__file__).resolve().parents[1]
CRDS: Final = ROOT / "crds"
_SENTENCE: Final = re.compile(r"(?<=\.) (?=[A-Z`])")
_STEPS: Final = re.compile(r"\.(\w+)|\['(\w+)'[^]]*\]|\[[^]]*\]")

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Declared:
    """A kind with the content of its CRD besides the spec. `rules` apply to the whole object."""

    kind: Kind
    description: str
    status: type[TestStatus] | type[ScheduleStatus] | type[ComparisonStatus]
    rules: tuple[Rule, ...] = ()


_DECLARED: Final = (
    _Declared(
        TEST,
        "A load test of one SSH server. Applying it runs it once; changing its spec runs it again.",
        TestStatus,
        (NOT_ITS_OWN_BASELINE,),
    ),
    _Declared(
        SCHEDULE,
        "Load tests at set times, as a CronJob makes Jobs. Each run is an SSHLoadTest of its own.",
        ScheduleStatus,
    ),
    _Declared(
        COMPARISON,
        "Compares variants of one load test, such as two settings of sshd. Applying it runs the tests of all variants"
        " in rounds, one test after the other; changing its spec runs them again.",
        ComparisonStatus,
    ),
)


def specs() -> Mapping[str, Schema]:
    """Return the schema of each kind's spec, by the plural of the kind."""
    test = spec_schema()
    schedules, comparisons = schema(WrittenSchedule), schema(WrittenComparison)
    schedules["properties"]["testTemplate"]["properties"]["spec"] = _described(WrittenSpec, test)
    comparisons["properties"]["base"] = _described(WrittenSpec, test)
    patch = comparisons["properties"]["variants"]["items"]["properties"]["patch"]
    patch |= {"properties": merge_patch_schema(test)["properties"]}
    del patch["x-kubernetes-preserve-unknown-fields"]
    tests, schedules, comparisons = (
        applied_schema(_described(written, found), [column.path for column in status.columns], within)
        for written, found, status, within in (
            (WrittenSpec, test, TestStatus, ()),
            (WrittenSchedule, schedules, ScheduleStatus, [("testTemplate",), ("testTemplate", "spec")]),
            (WrittenComparison, comparisons, ComparisonStatus, [("base",)]),
        )
    )
    return {TEST.plural: tests, SCHEDULE.plural: schedules, COMPARISON.plural: comparisons}


def _described(written: type, of_spec: Schema) -> Schema:
    return {"description": description_of(written), **of_spec}


def crds() -> dict[Path, Schema]:
    """Return every CRD by its file. Writing the texts of all takes a second of CPU."""
    of_specs = {**(found := specs()), COMPARISON.plural: _with_short_base(found[COMPARISON.plural])}
    return {
        CRDS / f"{declared.kind.plural}.yaml": _crd(declared, of_specs[declared.kind.plural]) for declared in _DECLARED
    }


def _with_short_base(comparison: Schema) -> Schema:
    """Return the spec with the first sentence of each description in its base: of three CRDs it is the largest.

    The descriptions of an SSHLoadTest's own CRD are whole, and so is what an editor shows.
    """
    properties = comparison["properties"]
    return {**comparison, "properties": {**properties, "base": _in_short(properties["base"])}}


def _in_short(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_in_short(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _SENTENCE.split(said)[0] if name == "description" and isinstance(said, str) else _in_short(said)
        for name, said in schema.items()
    }


def _text(crd: Schema) -> str:
    text = yaml.dump(crd, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    return f"# Written by scripts/crds.py.\n{text}"


def _crd(declared: _Declared, spec: Schema) -> Schema:
    kind = declared.kind
    fields = {"spec": spec, "status": _status(declared.status)}
    names = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
        "shortNames": [kind.short],
        "categories": ["sshload"],
    }
    whole = {
        "description": declared.description,
        "type": "object",
        "required": ["spec"],
        **({"x-kubernetes-validations": rule_schemas(declared.rules)} if declared.rules else {}),
        "properties": fields,
    }
    age = {
        "name": "Age",
        "type": "date",
        "jsonPath": ".metadata.creationTimestamp",
        "description": f"Time since the {kind.word} was created.",
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [*(_column(column, fields) for column in declared.status.columns), age],
        "schema": {"openAPIV3Schema": whole},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _status(shape: type) -> Schema:
    return {"description": description_of(shape), **schema(shape), "default": written(UNSEEN)}


def _column(column: Column, fields: Mapping[str, Schema]) -> Schema:
    """Return a printer column, with the type and the description of the field that it shows."""
    shown: Schema = {"properties": fields}
    for name, first_of_several in _STEPS.findall(column.path):
        shown = shown["properties"][name or first_of_several] if name or first_of_several else shown["items"]
    return {
        "name": column.name,
        "type": "date" if shown.get("format") == "date-time" and not column.as_text else shown["type"],
        "jsonPath": column.path,
        **({"priority": 1} if column.wide else {}),
        "description": column.description or shown["description"],
    }


class _Dumper(yaml.SafeDumper):
    """Writes a repeated part in full each time, because kubectl should not find YAML anchors."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def main() -> None:
    """Write all CRDs."""
    for path, crd in crds().items():
        path.write_text(_text(crd), encoding="utf-8")


if __name__ == "__main__":
    main()
