"""Parse answers of the API server, and drop what the operator never reads.

Any client may fill an object's metadata. The API server stores managedFields as a client wrote them: up to 1.5 MB,
which take twenty times as much memory once parsed, or 10,000 levels deep, where json.loads gives up at about 1,000. A
user who may create pods can fill a pod's spec with 500,000 values. Parsing blocks the event loop, which all tests
share. So msgspec skips over what is dropped, and makes no objects of it: of a pod with 1.4 MB that takes 1 to 3 ms and
no memory, where json.loads takes 40 ms. A test with results takes 0.05 ms, a page of 500 of them 34 ms in 500 parts.
Only for values that are nested 1,000 levels deep the text is read in Python: 1.4 MB of them take 70 ms.
"""

import asyncio
import gc
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, TypedDict

import msgspec

from sshload_operator.api.kinds import API_VERSION, LEASE_API_VERSION

# What the operator and kopf read of an object's metadata, and of a list's.
_Metadata = TypedDict(
    "_Metadata",
    {
        "annotations": Any,
        "continue": Any,
        "creationTimestamp": Any,
        "deletionTimestamp": Any,
        "finalizers": Any,
        "generation": Any,
        "labels": Any,
        "name": Any,
        "namespace": Any,
        "ownerReferences": Any,
        "resourceVersion": Any,
        "uid": Any,
    },
    total=False,
)
_Fields = dict[str, msgspec.Raw]
_FIELDS: Final = msgspec.json.Decoder(_Fields)
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_METADATA: Final = msgspec.json.Decoder(_Metadata)
_VALUE: Final = msgspec.json.Decoder()
_ENCODER: Final = msgspec.json.Encoder()

# Our own objects have 20. An older CRD let deeper ones pass: the rest is read, so that the object can be refused.
_LEVELS: Final = 100
_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_TO_BRACKET: Final = re.compile(rb'(?:[^\[\]{}"]++|' + _STRING + rb")*+([\[\]{}]|\Z)", re.DOTALL)
# The API server writes UTF-8. Only managedFields can have an escaped half of a character, which msgspec refuses.
_HALF_CHARACTER: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
# No object needs more labels, annotations, finalizers or owners than this, nor longer ones.
_MOST_ENTRIES: Final = 100
_MOST_CHARACTERS: Final = 16_384
# sshload's own marks, and those of GitOps controllers.
_READ_PREFIXES: Final = ("sshload.dev/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/")
_MOST_READ: Final = 20
_MARK_CHARACTERS: Final = 1_024
_WITH_SPEC: Final = tuple(f'"{version}"'.encode() for version in (API_VERSION, LEASE_API_VERSION))
_NOT_COPIED: Final = ("metadata", "spec")
_LARGE_BYTES: Final = 16 * 1024
_COLLECTED_EVERY_BYTES: Final = 512 * 1024


@dataclass(slots=True)
class _LargeObjects:
    """Large lean objects since the last collection of garbage.

    kopf's own objects, which are in reference cycles, may still hold them. Python's collector does not count bytes.
    """

    bytes_read: int = 0

    def take_in(self, size_bytes: int) -> None:
        self.bytes_read += size_bytes
        if self.bytes_read >= _COLLECTED_EVERY_BYTES:
            gc.collect()
            self.bytes_read = 0


_LARGE_OBJECTS: Final = _LargeObjects()


def _bracketed(levels: int) -> bytes:
    """Return a pattern for an object or list of at most so many levels: `re` has no recursion."""
    pattern = rb"[\[{][^\[\]{}]*+[\]}]"
    for _ in range(levels - 1):
        pattern = rb'[\[{](?:[^\[\]{}"]++|' + _STRING + rb"|" + pattern + rb")*+[\]}]"
    return pattern


_SHALLOW: Final = re.compile(rb'[^\[{"]++|' + _STRING + rb"|" + _bracketed(_LEVELS - 1), re.DOTALL)


def read_json(text: bytes) -> dict[str, Any]:
    """Return an answer of the API server, a lean object.

    A lean object has of its metadata what is read. It has a spec only if it is of one of our kinds or a Lease. If it
    has more than 100 labels or annotations, or 16 KiB of them, it keeps at most 20 of sshload and of GitOps
    controllers, none longer than 1 KiB. Values nested deeper than 100 levels become null. Raises ValueError if the text
    is not JSON.
    """
    return _parsed(_lean(_fields(text)))


async def read_page(text: bytes) -> dict[str, Any]:
    """Return a page of a list with lean objects, or what `read_json` returns of any other answer.

    Other tasks run after each object.
    """
    page = _fields(text)
    if "items" not in page:
        return _parsed(_lean(page))
    items = []
    for item in _ITEMS.decode(page.pop("items")):
        items.append(_parsed(_lean(_fields(item), page)))
        await asyncio.sleep(0)
    return {**_parsed(_lean(page)), "items": items}


def lean_event(line: bytes) -> tuple[str, bytes]:
    """Return the type of an event of a watch, and the event with a lean object, which is copied and not parsed."""
    event = _fields(line)
    lean = msgspec.Raw(_lean(_fields(event["object"])))
    return _VALUE.decode(event["type"]), _ENCODER.encode({"type": event["type"], "object": lean})


def _fields(text: bytes | msgspec.Raw) -> _Fields:
    """Return the fields of an object, each as JSON. msgspec gives up at some depth; then deep values become null."""
    try:
        return _FIELDS.decode(text)
    except (RecursionError, msgspec.DecodeError):
        return _FIELDS.decode(_shallow(_HALF_CHARACTER.sub(b"?", bytes(text))))


def _lean(fields: _Fields, page: Mapping[str, msgspec.Raw] = MappingProxyType({})) -> bytes:
    """Return a lean object as JSON. Where an item of a page does not say of which kind it is, the page does."""
    lean: dict[str, Any] = {name: _as_shallow(value) for name, value in fields.items() if name not in _NOT_COPIED}
    if "metadata" in fields:
        lean["metadata"] = _shortened(_METADATA.decode(fields["metadata"]))
    if "spec" in fields and bytes({**page, **fields}.get("apiVersion", b"")) in _WITH_SPEC:
        lean["spec"] = _as_shallow(fields["spec"])
    text = _ENCODER.encode(lean)
    if len(text) > _LARGE_BYTES:
        _LARGE_OBJECTS.take_in(len(text))
    return text


def _parsed(lean: bytes) -> dict[str, Any]:
    found: dict[str, Any] = _VALUE.decode(lean)
    return found


def _shortened(metadata: Any) -> Any:
    for name in ("labels", "annotations"):
        if _is_long(metadata.get(name)):
            metadata[name] = _read_ones(metadata[name])
    if _is_long(metadata.get("finalizers")):
        metadata["finalizers"] = []
    if _is_long(metadata.get("ownerReferences")):
        owners = metadata["ownerReferences"]
        metadata["ownerReferences"] = [owner for owner in owners if owner.get("controller") and not _is_long([owner])]
    return metadata


def _is_long(entries: Any) -> bool:
    """Tell whether a list or map has more than 100 entries, or 16 KiB: the length of an owner's name has no limit."""
    return bool(entries) and (len(entries) > _MOST_ENTRIES or len(str(entries)) > _MOST_CHARACTERS)


def _read_ones(marks: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations that the operator may read. A user who adds too many of them loses some."""
    known = (key for key in marks if key.startswith(_READ_PREFIXES) and len(str(marks[key])) <= _MARK_CHARACTERS)
    return {key: marks[key] for key in islice(known, _MOST_READ)}


def _as_shallow(value: msgspec.Raw) -> msgspec.Raw:
    text = bytes(value)
    if text.count(b"{") + text.count(b"[") < _LEVELS or _SHALLOW.fullmatch(text):
        return value
    return msgspec.Raw(_shallow(text, within=1))


def _shallow(text: bytes, within: int = 0) -> bytes:
    """Return the JSON, which is nested in so many levels, with null in place of values that are nested too deep."""
    kept, kept_to, level = [], 0, within
    for found in _TO_BRACKET.finditer(text):
        if found[1] in (b"[", b"{"):
            level += 1
            if level == _LEVELS + 1:
                kept.append(text[kept_to : found.start(1)])
        elif found[1]:
            if level == _LEVELS + 1:
                kept.append(b"null")
                kept_to = found.end()
            level -= 1
    return b"".join([*kept, text[kept_to:]])
