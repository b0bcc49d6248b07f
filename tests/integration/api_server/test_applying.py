"""Whoever applies a spec, client-side or server-side, in whatever order: the cluster has it as it was written last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from api_server import ApiServer
from circles import draws
from live_cluster import LiveCluster
from specs.tables import GOOD, WHOLE
from sshload_operator.api.kinds import API_VERSION, COMPARISON, SCHEDULE, TEST

ROOT: Final = Path(__file__).parents[3]
KINDS: Final = {kind.name: kind for kind in (TEST, SCHEDULE, COMPARISON)}
CLIENT, SERVER = ("apply",), ("apply", "--server-side")
FLUX = (*SERVER, "--field-manager=kustomize-controller", "--force-conflicts")
ARGO_CLIENT = (*CLIENT, "--field-manager=argocd-controller")
ARGO = (*SERVER, "--field-manager=argocd-controller", "--force-conflicts")
FORCED = (*SERVER, "--force-conflicts")
REPLACE = ("replace",)
FIRST, EDITED = 0, 1

Step = tuple[Sequence[str], int]
SEQUENCES: Final[Mapping[str, tuple[Step, ...]]] = {
    "kubectl moves to the server's side": (
        *((CLIENT, FIRST), (SERVER, FIRST), (SERVER, FIRST), (SERVER, EDITED), (SERVER, FIRST)),
    ),
    "Flux takes over from kubectl": ((CLIENT, FIRST), (FLUX, FIRST), (FLUX, EDITED), (FLUX, FIRST)),
    "Argo CD takes over from kubectl": ((CLIENT, FIRST), (ARGO, FIRST), (ARGO, EDITED), (ARGO, FIRST)),
    "Argo CD moves to the server's side": ((ARGO_CLIENT, FIRST), (ARGO_CLIENT, EDITED), (ARGO, EDITED), (ARGO, EDITED)),
    "Flux hands over to Argo CD": ((FLUX, FIRST), (FLUX, EDITED), (ARGO, EDITED), (FLUX, EDITED)),
    "people edit and replace": ((CLIENT, FIRST), (REPLACE, EDITED), (REPLACE, FIRST), (FORCED, FIRST), (CLIENT, FIRST)),
}


def objects() -> list[dict[str, Any]]:
    """Return the objects of all examples, and those of specs that are known to be good; some in `make test`."""
    files = (path for path in sorted((ROOT / "examples").rglob("*.yaml")) if path.name != "kustomization.yaml")
    found = [one for path in files for one in yaml.safe_load_all(path.read_text()) if one and one.get("kind") in KINDS]
    found += [{"kind": "SSHLoadTest", "spec": spec} for spec in (*WHOLE.values(), *list(GOOD.values())[::5])]
    found += [
        {"kind": "SSHLoadTestSchedule", "spec": {"schedule": "@daily", "testTemplate": {**metadata, "spec": spec}}}
        for metadata, spec in zip(cycle(({}, {"metadata": {"labels": {"a": "b"}}}, {"metadata": {}})), WHOLE.values())
    ]
    return [
        {
            "apiVersion": API_VERSION,
            "kind": one["kind"],
            "metadata": {"name": f"one-{place}"},
            "spec": given(one["spec"]),
        }
        for place, one in enumerate(found)
        if place % draws(12, 1) == 0
    ]


def given(value: Any) -> Any:
    """Return a spec without nulls: kubectl sends none, and server-side apply takes none of a custom resource."""
    if isinstance(value, dict):
        return {key: given(item) for key, item in value.items() if item is not None}
    return [given(item) for item in value] if isinstance(value, list) else value


def edited(written: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects with each one's spec given to the next of its kind: as different as an edit can be."""
    before = {kind: [one["spec"] for one in written if one["kind"] == kind] for kind in KINDS}
    nexts = {kind: iter([*specs[1:], *specs[:1]]) for kind, specs in before.items()}
    return [{**one, "spec": next(nexts[one["kind"]])} for one in written]


@dataclass(frozen=True, slots=True)
class Applied:
    """All objects in one namespace, with the files of both versions of them."""

    cluster: LiveCluster
    files: tuple[Path, Path]
    versions: tuple[list[dict[str, Any]], list[dict[str, Any]]]

    def kubectl(self, how: Sequence[str], version: int, *more: str) -> str:
        """Run one verb on all objects."""
        return self.cluster.kubectl(*how, "-f", str(self.files[version]), *more)

    def found(self) -> dict[str, dict[str, Any]]:
        """Return the objects as the server has them, by their names."""
        kinds = ",".join(kind.plural for kind in KINDS.values())
        return {one["metadata"]["name"]: one for one in self.cluster.labelled(kinds)}


@pytest.fixture
def applied(api_server: ApiServer, tmp_path: Path) -> Applied:
    """Return a namespace without the objects, and the files of them."""
    first = objects()
    versions = (first, edited(first))
    files = (tmp_path / "first.json", tmp_path / "edited.json")
    for file, version in zip(files, versions, strict=True):
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": version}))
    return Applied(api_server.namespace(), files, versions)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_cluster_has_each_spec_as_it_was_applied_last(applied: Applied, sequence: str) -> None:
    for how, version in SEQUENCES[sequence]:
        applied.kubectl(how, version)
        found = applied.found()
        for one in applied.versions[version]:
            assert without_defaults(found[one["metadata"]["name"]]) == without_defaults(one), (how, one)
    generations = {name: one["metadata"]["generation"] for name, one in found.items()}
    how, version = SEQUENCES[sequence][-1]
    applied.kubectl(how, version, "--dry-run=server")
    assert applied.kubectl(("diff", *how[1:]), version) == ""
    applied.kubectl(how, version)
    assert {name: one["metadata"]["generation"] for name, one in applied.found().items()} == generations


def without_defaults(one: Mapping[str, Any]) -> Any:
    """Return an object's spec without the few values that the server writes into it, so that columns show them."""
    spec = dict(one["spec"])
    for name, default in (("triggers", {}), ("suspend", False), ("timeZone", "UTC")):
        if spec.get(name) == default:
            del spec[name]
    for name in ("base", "testTemplate"):
        if name in spec:
            inner = spec[name] if name == "base" else spec[name]["spec"]
            cleaned = without_defaults({"spec": inner})
            spec[name] = cleaned if name == "base" else {**spec[name], "spec": cleaned}
    return spec
