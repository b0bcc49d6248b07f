"""Which parts of the API server's answers the operator keeps."""

import gc
import json
from typing import Any

import pytest
from sshload_operator.control.lean_json import read_json

OURS = "sshload.dev/v1alpha1"
WHOLE = 2  # the generation of a collection of all objects


def text(value: Any, **replaced: str) -> bytes:
    """Return a value as JSON, as the API server writes it, with texts in place of words."""
    written = json.dumps(value, separators=(",", ":"))
    for word, by in replaced.items():
        written = written.replace(f'"{word}"', by)
    return written.encode()


def nested(levels: int, name: str = "f:a") -> str:
    return f'{{"{name}":' * levels + "{}" + "}" * levels


def manifest(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": OURS, "kind": "SSHLoadTest", "metadata": metadata, "spec": {"warmUp": "1s"}}


def test_an_ordinary_object_loses_only_its_managed_fields() -> None:
    entries = {"labels": {"a": "b"}, "annotations": {"c": "]"}, "finalizers": ["d"], "ownerReferences": [{"uid": "e"}]}
    assert read_json(text(manifest(**entries, managedFields=[{"fieldsV1": {"f:g": {}}}]))) == manifest(**entries)


@pytest.mark.parametrize("place", ["alone", "in a list", "in an event"])
def test_managed_fields_are_cut_from_objects_lists_and_events(place: str) -> None:
    found = manifest(name="a", managedFields="FIELDS")
    whole: Any = {
        "alone": found,
        "in a list": {"apiVersion": OURS, "items": [found], "metadata": {"continue": "next"}},
        "in an event": {"type": "ADDED", "object": found},
    }[place]
    fields = '[{"fieldsV1":' + nested(9_000) + '},{"fieldsV1":{"k:{\\"a\\":\\"]\\\\\\"\\"}":{"f:b":{}}}}]'
    without = json.loads(text(whole).replace(b',"managedFields":"FIELDS"', b""))
    assert read_json(text(whole, FIELDS=fields)) == without


@pytest.mark.parametrize("levels", [900, 9_000, 200_000])
def test_what_is_nested_too_deep_is_null(levels: int) -> None:
    found = read_json(
        text(manifest(name="a") | {"spec": "SPEC", "status": {"b": ["}"]}}, SPEC=nested(levels, "deeper"))
    )
    assert (found["metadata"], found["status"]) == ({"name": "a"}, {"b": ["}"]})
    assert json.dumps(found["spec"]).count("deeper") == 99
    assert json.dumps(found["spec"]).count("null") == 1


def test_a_field_named_managed_fields_elsewhere_is_kept() -> None:
    """An older CRD lets anything pass."""
    spec = {"managedFields": [["a"], ["]"]], "other": [1], "x": 'managedFields":['}
    assert read_json(text(manifest() | {"spec": spec}))["spec"] == spec


def test_an_object_with_over_100_labels_or_annotations_keeps_our_own_only() -> None:
    ours = {"sshload.dev/test": "a"}
    many = {**{f"a{number}": "" for number in range(1_000)}, **ours}
    assert read_json(text(manifest(labels=many, annotations=many)))["metadata"] == {"labels": ours, "annotations": ours}


def test_an_object_with_over_100_owners_keeps_its_controller_only() -> None:
    owners = [{"uid": str(number)} for number in range(1_000)]
    controller = {"uid": "a", "controller": True}
    found = read_json(text(manifest(ownerReferences=[*owners, controller], finalizers=["a/b"] * 1_000)))
    assert found["metadata"] == {"ownerReferences": [controller], "finalizers": []}


@pytest.mark.parametrize("name", ["labels", "annotations"])
@pytest.mark.parametrize(
    "marks",
    [
        {f"sshload.dev/a{number}": "" for number in range(10_000)},
        {"sshload.dev/a": "x" * 250_000},
        {f"a{number}": "x" * 5_000 for number in range(50)},
    ],
    ids=["many with our prefix", "a long one with our prefix", "fifty long ones"],
)
def test_labels_and_annotations_without_end_cost_little(name: str, marks: dict[str, str]) -> None:
    found = read_json(text(manifest(**{name: marks})))
    assert len(json.dumps(found)) < 30_000


def test_a_long_annotation_takes_none_that_is_read_with_it() -> None:
    read = {"sshload.dev/proof-sha256": "a", "argocd.argoproj.io/tracking-id": "b"}
    found = read_json(text(manifest(annotations={**read, "kubectl.kubernetes.io/last-applied": "c" * 20_000})))
    assert found["metadata"] == {"annotations": read}


def test_an_owner_with_a_name_without_end_is_dropped() -> None:
    controller = {"uid": "a", "controller": True}
    endless = [{"name": "a" * 1_000_000, "uid": "b"}, {"name": "a" * 1_000_000, "uid": "b", "controller": True}]
    found = read_json(text(manifest(ownerReferences=[*endless, controller])))
    assert found["metadata"] == {"ownerReferences": [controller]}


def test_many_large_answers_share_a_collection_of_garbage() -> None:
    begun: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        begun.extend(["whole"] if phase == "start" and info["generation"] == WHOLE else [])

    gc.callbacks.append(note)
    try:
        for _ in range(20):
            read_json(text(manifest(annotations={"a": "x" * 250_000})))
    finally:
        gc.callbacks.remove(note)
    assert 1 <= len(begun) <= 10


def test_pods_and_jobs_lose_their_spec() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": []}, "status": {"phase": "Running"}}
    lean = {"metadata": {"name": "a"}, "status": {"phase": "Running"}}
    assert read_json(text({"apiVersion": "v1", "kind": "PodList", "items": [pod]}))["items"] == [lean]
    event = read_json(text({"type": "ADDED", "object": {"apiVersion": "batch/v1", **pod}}))
    assert event["object"] == {"apiVersion": "batch/v1", **lean}


def test_a_test_template_keeps_its_labels_and_spec() -> None:
    template = {"metadata": {"labels": {f"a{number}": "" for number in range(200)}}, "spec": {"warmUp": "1s"}}
    schedule = manifest(name="a") | {"kind": "SSHLoadTestSchedule", "spec": {"template": template}, "status": {}}
    assert read_json(text(schedule)) == schedule


def test_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        read_json(b"upstream connect error")
