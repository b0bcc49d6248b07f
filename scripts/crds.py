"""Write the CRDs: what is declared in sshload_operator.api gives the schemas of the specs, and scripts/crds the rest.

The chart links to them, and has them whole once it is packaged.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from merge_patch_schema import merge_patch_schema
from sshload_operator.api.comparison.spec import WrittenComparison
from sshload_operator.api.load_test import spec_schema
from sshload_operator.api.schedule.spec import WrittenSchedule
from sshload_operator.api.shapes import description_of, schema
from sshload_operator.api.spec import WrittenSpec

ROOT: Final = Path(__file__).resolve().parents[1]
CRDS: Final = ROOT / "crds"
_OTHERWISE: Final = ROOT / "scripts/crds"

Schema = dict[str, Any]


def specs() -> Mapping[str, Schema]:
    """Return the schema of each kind's spec, by the plural of the kind."""
    tests = {"description": description_of(WrittenSpec), **spec_schema()}
    schedules = {"description": description_of(WrittenSchedule), **schema(WrittenSchedule)}
    comparisons = {"description": description_of(WrittenComparison), **schema(WrittenComparison)}
    schedules["properties"]["testTemplate"]["properties"]["spec"] = tests
    comparisons["properties"]["base"] = tests
    patch = comparisons["properties"]["variants"]["items"]["properties"]["patch"]
    patch |= {"properties": merge_patch_schema(tests)["properties"]}
    del patch["x-kubernetes-preserve-unknown-fields"]
    return {"sshloadtests": tests, "sshloadtestschedules": schedules, "sshloadtestcomparisons": comparisons}


def written() -> dict[Path, str]:
    """Return the text of every CRD."""
    return {CRDS / f"{plural}.yaml": _crd(plural, spec) for plural, spec in specs().items()}


def _crd(plural: str, spec: Schema) -> str:
    crd = yaml.safe_load((_OTHERWISE / f"{plural}.yaml").read_text(encoding="utf-8"))
    whole = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    whole["properties"] = {"spec": spec, **whole["properties"]}
    text = yaml.dump(crd, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    return f"# Written by scripts/crds.py.\n{text}"


class _Dumper(yaml.SafeDumper):
    """Writes a repeated part in full each time, because kubectl should find no YAML anchors."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def main() -> None:
    """Write all CRDs."""
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
