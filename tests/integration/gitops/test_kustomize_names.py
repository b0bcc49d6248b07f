"""A name that kustomize changes, by a generator, a prefix or a suffix, reaches every spec that names the object."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server import ApiServer
from kustomize_names import FILE, text
from live_cluster import LiveCluster
from sshload_operator.api.kinds import API_VERSION, KINDS, Kind

from crds import specs

NAMES = re.compile(
    r"The (object|ConfigMap|Secret|claim|test)'s name\.|The pods' (ServiceAccount|RuntimeClass)|class of the"
)
"""The beginning of the descriptions of fields that name another object."""
NAMED = {
    "PersistentVolumeClaim": "v1",
    "ServiceAccount": "v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "SSHLoadTest": API_VERSION,
}
KUSTOMIZATION = {
    "apiVersion": "kustomize.config.k8s.io/v1beta1",
    "kind": "Kustomization",
    "namePrefix": "staging-",
    "resources": ["objects.yaml"],
    "configMapGenerator": [{"name": "one", "literals": ["a=b"]}],
    "secretGenerator": [{"name": "one", "literals": ["a=b"]}],
    "configurations": [FILE.name],
}


@pytest.fixture
def kubectl(api_server: ApiServer) -> LiveCluster:
    """Return kubectl, which has kustomize built in."""
    return LiveCluster(api_server.kubectl_path, api_server.kubeconfig, "default")


def filled(schema: Mapping[str, Any]) -> Any:
    """Return a value with every field of a schema, in which each field that names an object has the name `one`."""
    if "properties" in schema:
        return {name: filled(field) for name, field in schema["properties"].items()}
    if "items" in schema:
        return [filled(schema["items"])]
    return "one" if is_name(schema) else "x"


def is_name(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and NAMES.search(schema.get("description", "")) is not None


def names(value: Any, schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Yield each field that names an object, by its path, with what it says."""
    if "properties" in schema:
        for name, field in schema["properties"].items():
            yield from names(value[name], field, f"{path}.{name}")
    elif "items" in schema:
        yield from names(value[0], schema["items"], f"{path}[0]")
    elif is_name(schema):
        yield path, value


def test_the_file_is_as_the_script_writes_it() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "run make generate"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_that_names_an_object_gets_its_new_name(kind: Kind, kubectl: LiveCluster, tmp_path: Path) -> None:
    schema = with_descriptions_of_the_base(specs()[kind.plural])
    named = [{"apiVersion": version, "kind": one, "metadata": {"name": "one"}} for one, version in NAMED.items()]
    ours = {"apiVersion": API_VERSION, "kind": kind.name, "metadata": {"name": "ours"}, "spec": filled(schema)}
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all([*named, ours]))
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(KUSTOMIZATION))
    shutil.copy(FILE, tmp_path)
    made = list(yaml.safe_load_all(kubectl.kubectl("kustomize", str(tmp_path))))
    (found,) = (one["spec"] for one in made if one["metadata"]["name"] == "staging-ours")
    said = dict(names(found, schema, "spec"))
    assert len(said) > 20
    assert {path: name for path, name in said.items() if not re.fullmatch(r"staging-one(-[a-z0-9]{10})?", name)} == {}


def with_descriptions_of_the_base(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a spec whose patches are described as the base, of which they have the fields."""
    if "variants" not in spec["properties"]:
        return spec
    return {
        **spec,
        "properties": {
            **spec["properties"],
            "variants": {"items": {"properties": {"patch": spec["properties"]["base"]}}},
        },
    }
