"""Which parts of the API server's answers the operator keeps."""

import asyncio
import gc
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_operator.control.api_server.lean_json import lean_event, read_json, read_page

OURS = "sshload.dev/v1alpha1"
WHOLE = 2  # the generation of a collection of all objects


def text(value: Any, **replaced: str) -> bytes:
    """Return a value as JSON, as the API server writes it, with texts in place of words."""
    written = json.dumps(value, separators=(",", ":"))
    for word, by in replaced.items():
        written = written.replace(f'"{word}"', by)
    return written.encode()


def read(value: Any, **replaced: str) -> Any:
    """Return a value as the operator reads it from JSON."""
    return read_text(text(value, **replaced))


def read_text(written: bytes) -> Any:
    """Return what the operator reads: kopf parses an event after it was made lean."""
    if written.startswith(b'{"type"'):
        kind, event = lean_event(written)
        found = json.loads(event)
        assert found["type"] == kind
        return found
    return asyncio.run(read_page(written))


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
    assert read(whole, FIELDS=fields) == without


@pytest.mark.slow
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


@pytest.mark.slow
def test_many_large_answers_share_a_collection_of_garbage() -> None:
    begun: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        begun.extend(["whole"] if phase == "start" and info["generation"] == WHOLE else [])

    gc.callbacks.append(note)
    try:
        for _ in range(20):
            read_json(text(manifest() | {"spec": {"a": "x" * 250_000}}))
    finally:
        gc.callbacks.remove(note)
    assert 1 <= len(begun) <= 10


def test_pods_and_jobs_lose_their_spec() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": []}, "status": {"phase": "Running"}}
    lean = {"metadata": {"name": "a"}, "status": {"phase": "Running"}}
    for head in ({"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "next"}}, {"apiVersion": "v1"}, {}):
        assert read({**head, "items": [pod, pod]}) == {**head, "items": [lean, lean]}
    event = read({"type": "ADDED", "object": {"apiVersion": "batch/v1", **pod}})
    assert event["object"] == {"apiVersion": "batch/v1", **lean}


@pytest.mark.slow
@pytest.mark.parametrize(
    "filled",
    [
        pytest.param('{"imagePullSecrets":[' + "{}," * 400_000 + "{}]}", id="objects"),
        pytest.param('{"args":["' + '","' * 400_000 + '"]}', id="texts"),
    ],
)
@pytest.mark.parametrize("place", ["alone", "in a list", "in an event"])
def test_a_spec_that_is_dropped_is_not_parsed_whatever_number_of_values_it_has(place: str, filled: str) -> None:
    kind = {"kind": "Pod", "apiVersion": "v1"}
    pod = {
        "metadata": {"name": "a", "annotations": {"spec": '"spec":{'}},
        "spec": "SPEC",
        "status": {"phase": "Running"},
    }
    whole: Any = {
        "alone": {**kind, **pod},
        "in a list": {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod] * 2},
        "in an event": {"type": "ADDED", "object": {**kind, **pod}},
    }[place]
    written = text(whole, SPEC=filled)
    without = json.loads(text(whole).replace(b'"spec":"SPEC",', b""))
    tracemalloc.start()
    try:
        found = read_text(written)
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == without
    assert most_bytes < 2 * len(written)


WORDS = st.sampled_from(["metadata", "items", "managedFields", "a"]) | st.text('"\\\\[]{},:aé\n', max_size=4)
VALUES = st.recursive(
    st.none() | st.integers(0, 9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)
KINDS = st.sampled_from([{"apiVersion": "v1"}, {"kind": "A", "apiVersion": "batch/v1"}, {"apiVersion": OURS}])
OBJECTS = st.fixed_dictionaries({"metadata": st.just({"name": "a"}), "spec": VALUES, "status": VALUES})


@pytest.mark.slow
@given(kind=KINDS, objects=st.lists(OBJECTS, max_size=3))
def test_objects_lists_and_events_are_read_as_in_any_other_form_of_json(
    kind: dict[str, Any], objects: list[Any]
) -> None:
    """In another form, with spaces, the whole text is parsed before anything is dropped."""
    events = [{"type": "ADDED", "object": {**kind, **found}} for found in objects]
    for whole in ({**kind, "metadata": {}, "items": objects}, *events, *(event["object"] for event in events)):
        written = text(whole)
        if b"managedFields" not in written:
            spaced = json.dumps(whole).encode()
            assert read_text(written) == read_text(spaced)


def test_while_a_page_is_read_others_have_their_turns() -> None:
    async def play() -> int:
        turns = 0
        reading = asyncio.create_task(read_page(text({"apiVersion": OURS, "items": [manifest(name="a")] * 5})))
        while not reading.done():
            turns += 1
            await asyncio.sleep(0)
        assert len(reading.result()["items"]) == 5
        return turns

    assert asyncio.run(play()) >= 5


@pytest.mark.parametrize(("items", "count"), [("]", 0), ("{}]", 1), (nested(200) + ",{}]", 2)])
def test_a_page_has_all_of_its_items(items: str, count: int) -> None:
    written = f'{{"apiVersion":"v1","items":[{items},"metadata":{{}}}}'.encode()
    assert len(asyncio.run(read_page(written))["items"]) == count


@pytest.mark.parametrize("items", ["[{},]", "{}", "[{]}]", "[[],{}]", "[1,2]", "null"])
def test_a_page_that_is_no_json_or_has_no_list_of_objects_is_refused(items: str) -> None:
    written = f'{{"apiVersion":"v1","items":{items},"metadata":{{}}}}'.encode()
    with pytest.raises(ValueError, match=r"malformed|Expected"):
        asyncio.run(read_page(written))


def test_half_a_character_in_managed_fields_refuses_no_object() -> None:
    """The API server copies managedFields from a client without reading them."""
    found = manifest(name="a", managedFields="FIELDS")
    assert read(found, FIELDS='[{"fieldsV1":{"f:\\ud800":{}}}]') == manifest(name="a")


def test_a_test_template_keeps_its_labels_and_spec() -> None:
    template = {"metadata": {"labels": {f"a{number}": "" for number in range(200)}}, "spec": {"warmUp": "1s"}}
    schedule = manifest(name="a") | {"kind": "SSHLoadTestSchedule", "spec": {"template": template}, "status": {}}
    assert read_json(text(schedule)) == schedule


def test_text_that_is_not_json_is_refused() -> None:
    with pytest.raises(ValueError, match="malformed"):
        read_json(b"upstream connect error")
