"""The chart carries the API as crds/ has it, and upgrades it."""

import helm
import pytest
import yaml

CRDS = helm.ROOT / "crds"


def test_they_are_rendered_unchanged_but_for_the_order_to_keep_them() -> None:
    made = helm.objects_and_crds()
    rendered = {found["metadata"]["name"]: found for found in made if found["kind"] == "CustomResourceDefinition"}
    written = [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in CRDS.iterdir()]
    assert set(rendered) == {crd["metadata"]["name"] for crd in written}
    for crd in written:
        found = rendered[crd["metadata"]["name"]]
        assert found["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        assert found == crd


@pytest.mark.parametrize("install", [True, False])
def test_they_can_be_left_to_somebody_else(install: bool) -> None:  # noqa: FBT001 - a parameter of pytest's
    kinds = {found["kind"] for found in helm.objects_and_crds("--set", f"crds.install={str(install).lower()}")}
    assert ("CustomResourceDefinition" in kinds) is install


def test_they_may_have_annotations_of_the_installer() -> None:
    option = "crds.annotations.argocd\\.argoproj\\.io/sync-options=ServerSideApply=true"
    found = helm.objects_and_crds("--set-string", option)
    assert [one["metadata"]["annotations"] for one in found if one["kind"] == "CustomResourceDefinition"] == [
        {"argocd.argoproj.io/sync-options": "ServerSideApply=true", "helm.sh/resource-policy": "keep"}
    ] * 3
