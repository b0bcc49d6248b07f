"""Write the reference pages of the kinds from the CRDs, which have the only descriptions of fields."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]

WRITING = """\
Durations are written as `30s`, `1m30s` or `500ms`; sizes as `26Ki` or `11Mi`; percentages as `1%`. sshload refuses
unknown fields and names them. `[]` marks the items of a list, `{}` the values of a map, **bold** a required field. The
spec of a test may have 32 KiB as compact JSON; a test with a larger one ends in Error (`InvalidSpec`).
"""

Schema = Mapping[str, Any]


# The text for fields whose own fields are described elsewhere.
_AS_A_SPEC = "As the [spec of an SSHLoadTest](sshloadtest.md#spec)."
_AS_PART_OF_A_SPEC = "Its fields are those of the [spec of an SSHLoadTest](sshloadtest.md#spec)."
_KUBERNETES = "https://kubernetes.io/docs/concepts/scheduling-eviction"
_OF_PODS = {
    f"{pods}.{field}": f"Its fields are those of [Kubernetes]({_KUBERNETES}/{page}/)."
    for pods in ("target.managed", "workers")
    for field, page in (
        ("affinity", "assign-pod-node"),
        ("topologySpreadConstraints", "topology-spread-constraints"),
    )
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind's page. `elsewhere` has the paths of fields whose own fields are described elsewhere, and where."""

    name: str
    page: Path
    crd: Path
    elsewhere: Mapping[str, str]


KINDS = (
    Kind("SSHLoadTest", ROOT / "docs/reference/sshloadtest.md", ROOT / "crds/sshloadtests.yaml", _OF_PODS),
    Kind(
        "SSHLoadTestSchedule",
        ROOT / "docs/reference/sshloadtestschedule.md",
        ROOT / "crds/sshloadtestschedules.yaml",
        elsewhere={"testTemplate.spec": _AS_A_SPEC},
    ),
    Kind(
        "SSHLoadTestComparison",
        ROOT / "docs/reference/sshloadtestcomparison.md",
        ROOT / "crds/sshloadtestcomparisons.yaml",
        elsewhere={"base": _AS_A_SPEC, "variants[].patch": _AS_PART_OF_A_SPEC},
    ),
)


def page(kind: Kind) -> str:
    """Return the whole page of a kind."""
    crd = yaml.load(kind.crd.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    names = crd["spec"]["names"]
    top = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return (
        "\n".join(
            [
                f"# {kind.name}",
                "",
                (
                    f"`apiVersion: sshload.dev/v1alpha1`, short name `{names['shortNames'][0]}`."
                    f" `kubectl explain {names['singular']}.spec --recursive` shows the same."
                ),
                "This page is made from the CRD by `scripts/reference.py`.",
                (
                    f"[A JSON schema](schemas/{kind.name.lower()}.json) lets an editor complete and check a file: with"
                    " the YAML language server, begin it with"
                    f" `# yaml-language-server: $schema=PATH/{kind.name.lower()}.json`."
                ),
                "",
                WRITING,
                *_section("spec", top["spec"], kind.elsewhere),
                "",
                *_section("status", top["status"], {}),
            ]
        )
        + "\n"
    )


def _section(name: str, schema: Schema, elsewhere: Mapping[str, str]) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    yield _text(schema)
    yield ""
    yield "| field | type | |"
    yield "|---|---|---|"
    yield from _rows(schema, "", elsewhere)


def _rows(schema: Schema, above: str, elsewhere: Mapping[str, str]) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        path = f"{above}{name}"
        shown = f"**`{path}`**" if name in schema.get("required", ()) else f"`{path}`"
        said = f"{_text(field)} {elsewhere.get(path, '')}".rstrip()
        yield f"| {shown} | {_type(field)} | {said} |"
        if path not in elsewhere:
            yield from _rows(field, f"{path}.", elsewhere)
            yield from _rows(field.get("items", {}), f"{path}[].", elsewhere)


def _type(field: Schema) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if "enum" in field:
        return " \\| ".join(f"`{word}`" for word in field["enum"])
    if field.get("type") == "array":
        items = field["items"]
        return f"list of {_type(items)}s" if "properties" not in items else "list of objects"
    return str(field.get("type", "any"))


def _text(field: Schema) -> str:
    return " ".join(field.get("description", "").split()).replace("|", "\\|")


if __name__ == "__main__":
    for written in KINDS:
        written.page.write_text(page(written), encoding="utf-8")
