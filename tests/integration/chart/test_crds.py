"""The chart carries the API as crds/ has it, and upgrades it."""

import helm
import pytest
import yaml

EDITED = helm.ROOT / "crds"
CARRIED = helm.CHART / "files" / "crds"


def test_the_charts_crds_are_those_of_the_project() -> None:
    assert {path.name: path.read_text() for path in CARRIED.iterdir()} == {
        path.name: path.read_text() for path in EDITED.iterdir()
    }, "copy crds/*.yaml into charts/sshload/files/crds/"


def test_they_are_rendered_unchanged_but_for_the_order_to_keep_them() -> None:
    made = helm.objects_and_crds()
    rendered = {found["metadata"]["name"]: found for found in made if found["kind"] == "CustomResourceDefinition"}
    edited = [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in EDITED.iterdir()]
    assert set(rendered) == {crd["metadata"]["name"] for crd in edited}
    for crd in edited:
        found = rendered[crd["metadata"]["name"]]
        assert found["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        assert found == crd


@pytest.mark.parametrize("install", [True, False])
def test_they_can_be_left_to_somebody_else(install: bool) -> None:  # noqa: FBT001 - a parameter of pytest's
    kinds = {found["kind"] for found in helm.objects_and_crds("--set", f"crds.install={str(install).lower()}")}
    assert ("CustomResourceDefinition" in kinds) is install
