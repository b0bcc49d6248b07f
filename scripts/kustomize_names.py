"""Write what kustomize has to know so that names that it generates or prefixes reach the specs that name them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from sshload_operator.api.kinds import GROUP, KINDS, TEST

from crds import specs

FILE: Final = Path(__file__).resolve().parents[1] / "charts/sshload/kustomize/name-references.yaml"
_HEAD: Final = """\
# Written by scripts/kustomize_names.py.
# Tells kustomize which fields of sshload's kinds name another object. In a kustomization.yaml:
#   configurations: [name-references.yaml]
"""
_NAMED: Final[Mapping[str, tuple[str, ...]]] = {
    "ConfigMap": ("configMapRef/name", "configMapKeyRef/name", "configMap/name"),
    "Secret": ("SecretRef/name", "/secretRef/name", "imagePullSecrets/name", "secret/secretName"),
    "PersistentVolumeClaim": ("persistentVolumeClaim/claimName",),
    "ServiceAccount": ("/serviceAccountName",),
    "PriorityClass": ("/priorityClassName",),
    "RuntimeClass": ("/runtimeClassName",),
    TEST.name: ("testRef/name",),
}
"""What the ends of a field's path say about the kind of the object that it names."""
_GROUPS: Final = {
    "PriorityClass": "scheduling.k8s.io",
    "RuntimeClass": "node.k8s.io",
    TEST.name: GROUP,
}


def references() -> list[dict[str, Any]]:
    """Return the references as kustomize has them: for each kind that can be named, the fields that name it."""
    of_specs = specs()
    fields = [(kind.name, path) for kind in KINDS for path in _paths(of_specs[kind.plural], "spec")]
    return [
        {
            "kind": named,
            **({"group": _GROUPS[named]} if named in _GROUPS else {}),
            "fieldSpecs": [
                {"group": GROUP, "kind": kind, "path": path} for kind, path in fields if path.endswith(ends)
            ],
        }
        for named, ends in _NAMED.items()
    ]


def text() -> str:
    """Return the text of the file."""
    return _HEAD + yaml.safe_dump({"nameReference": references()}, sort_keys=False, default_flow_style=None, width=200)


def _paths(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the paths of all texts in a schema, with those in lists as kustomize writes them."""
    if schema.get("type") == "string":
        yield path
    for name, field in schema.get("properties", {}).items():
        yield from _paths(field, f"{path}/{name}")
    if "items" in schema:
        yield from _paths(schema["items"], path)


def main() -> None:
    """Write the file."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
