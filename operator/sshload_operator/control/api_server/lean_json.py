"""Parse answers of the API server, and drop what the operator never reads.

Any client may fill an object's metadata. The API server stores managedFields as a client wrote them: up to 1.5 MB,
which take twenty times as much memory once parsed, or 10,000 levels deep, where json.loads gives up at about 1,000. A
user who may create pods can fill a pod's spec with 500,000 values. What is dropped is cut from the text before it is
parsed, because parsing blocks the event loop, which all tests share.
"""

import asyncio
import gc
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sshload_operator.api.kinds import API_VERSION, LEASE_API_VERSION

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# managedFields is a list. No list is nested in it: its fields are objects.
_MANAGED_FIELDS: Final = re.compile(rb'"managedFields":\[(?:[^"\]]++|' + _STRING + rb")*+\]", re.DOTALL)
# Where it begins, the API server says which kind of object an answer or an event has.
_KIND: Final = rb'(?:"kind":"[A-Za-z]+",)?"apiVersion":"([^"\\]*)"'
_OBJECT: Final = re.compile(rb'\{(?:"type":"[A-Z]+","object":\{)?' + _KIND)
_PAGE: Final = re.compile(rb"\{" + _KIND + rb',(?:"metadata":\{[^{}]*\},)?"items":\[')
_ALL_BUT_BRACKETS: Final = re.compile(_STRING + rb'|[^\[\]{}"]++', re.DOTALL)
_STRINGS_AND_BRACKETS: Final = re.compile(_STRING + rb"|[\[\]{}]", re.DOTALL)
# Our own objects have 20. An older CRD let deeper ones pass: the rest is read, so that the object can be refused.
_LEVELS: Final = 100
# No object needs more labels, annotations, finalizers or owners than this, nor longer ones.
_MOST_ENTRIES: Final = 100
_MOST_CHARACTERS: Final = 16_384
# sshload's own marks, and those of GitOps controllers.
_READ_PREFIXES: Final = ("sshload.dev/", "argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/")
_MOST_READ: Final = 20
_MARK_CHARACTERS: Final = 1_024
_WITH_SPEC: Final = (API_VERSION, LEASE_API_VERSION)
_WITH_SPEC_AS_BYTES: Final = tuple(version.encode() for version in _WITH_SPEC)
_LARGE_BYTES: Final = 16 * 1024
# A garbage collection blocks the event loop, which all tests share, as long as reading 512 KiB does.
_COLLECTED_EVERY_BYTES: Final = 512 * 1024


@dataclass(slots=True)
class _LargeAnswers:
    """Large answers since the last collection of garbage.

    Reference cycles may still hold them. Python's own collector counts objects, not their bytes.
    """

    bytes_read: int = 0

    def take_in(self, size_bytes: int) -> None:
        self.bytes_read += size_bytes
        if self.bytes_read >= _COLLECTED_EVERY_BYTES:
            gc.collect()
            self.bytes_read = 0


_LARGE_ANSWERS: Final = _LargeAnswers()


def _bracketed(levels: int) -> bytes:
    """Return a pattern for an object or list of at most so many levels: `re` has no recursion."""
    pattern = rb"[\[{][^\[\]{}]*+[\]}]"
    for _ in range(levels):
        pattern = rb'[\[{](?:[^\[\]{}"]++|' + _STRING + rb"|" + pattern + rb")*+[\]}]"
    return pattern


_BRACKETED: Final = re.compile(_bracketed(_LEVELS), re.DOTALL)
# This cannot match inside a string: there a backslash precedes each quotation mark.
_SPEC: Final = re.compile(rb'"spec":' + _bracketed(_LEVELS), re.DOTALL)


def read_json(text: bytes) -> Any:
    """Return an answer of the API server (an object or an event of a watch) with a lean object.

    A lean object has no managedFields. It has a spec only if it is of one of our kinds or a Lease. If it has more than
    100 labels or annotations, or 16 KiB of them, it keeps at most 20 of sshload and of GitOps controllers, none longer
    than 1 KiB. Values nested deeper than 100 levels become null. Raises ValueError if the text is not JSON.
    """
    _take_in(text)
    lean = _MANAGED_FIELDS.sub(b'"managedFields":[]', text)
    kind = _OBJECT.match(lean)
    if kind is None:
        return _read_unusual(text)
    lean = _without_spec(lean, kind[1])
    whole = _BRACKETED.match(lean)
    if whole is None or lean[whole.end() :].strip():
        return _read_unusual(text)
    try:
        found = _parse(lean)
    except ValueError:
        return _read_unusual(text)
    return _read_unusual(text) if "items" in found else found


async def read_page(text: bytes) -> Any:
    """Return a page of a list with lean objects, or what `read_json` returns of any other answer.

    Each object is made lean before the next one is parsed, and other tasks run in between.
    """
    lean = _MANAGED_FIELDS.sub(b'"managedFields":[]', text)
    page = _PAGE.match(lean)
    if page is None:
        return read_json(text)
    items, position = [], page.end() - 1
    while lean[position : position + 1] in (b"[", b","):
        item = _BRACKETED.match(lean, position + 1)
        if item is None or lean[item.start() : item.start() + 1] != b"{":
            break
        _take_in(item[0])
        try:
            items.append(_parse(_without_spec(item[0], page[1])))
        except ValueError:
            return _read_unusual(text)
        position = item.end()
        await asyncio.sleep(0)
    try:
        around = json.loads(lean[: page.end()] + lean[max(position, page.end()) :])
    except (ValueError, RecursionError):
        return _read_unusual(text)
    return _read_unusual(text) if around["items"] else {**around, "items": items}


def _take_in(text: bytes) -> None:
    if len(text) > _LARGE_BYTES:
        _LARGE_ANSWERS.take_in(len(text))


def _without_spec(text: bytes, api_version: bytes) -> bytes:
    """Return the text of an object; if that is not of our kinds, each `spec` in it is emptied, at any depth."""
    return text if api_version in _WITH_SPEC_AS_BYTES else _SPEC.sub(b'"spec":{}', text)


def _parse(text: bytes) -> dict[str, Any]:
    """Return an object, or an event with one, and that object lean."""
    found: dict[str, Any] = json.loads(text)
    for place in (found, found.get("object")):
        if isinstance(place, dict):
            _lean(place)
    return found


def _read_unusual(text: bytes) -> Any:
    """Parse an answer that is nested too deep or not formatted as the API server does. This takes longer.

    An older CRD accepts a field that is named managedFields and has nested lists.
    """
    try:
        return json.loads(_shallow(_MANAGED_FIELDS.sub(b'"managedFields":[]', text)), object_hook=_lean)
    except ValueError:
        return json.loads(_shallow(text), object_hook=_lean)


def _lean(found: dict[str, Any]) -> dict[str, Any]:
    """Make a whole object lean. A pod or Job in a list has no apiVersion, a template has neither that nor a status."""
    metadata = found.get("metadata")
    if isinstance(metadata, dict) and ("apiVersion" in found or "status" in found):
        _shorten(metadata)
        if found.get("apiVersion") not in _WITH_SPEC:
            found.pop("spec", None)
    return found


def _shorten(metadata: dict[str, Any]) -> None:
    metadata.pop("managedFields", None)
    for name in ("labels", "annotations"):
        if _is_long(metadata.get(name)):
            metadata[name] = _read_ones(metadata[name])
    if _is_long(metadata.get("finalizers")):
        metadata["finalizers"] = []
    if _is_long(metadata.get("ownerReferences")):
        owners = metadata["ownerReferences"]
        metadata["ownerReferences"] = [owner for owner in owners if owner.get("controller") and not _is_long([owner])]


def _is_long(entries: Any) -> bool:
    """Tell whether a list or map has more than 100 entries, or 16 KiB: the length of an owner's name has no limit."""
    return bool(entries) and (len(entries) > _MOST_ENTRIES or len(str(entries)) > _MOST_CHARACTERS)


def _read_ones(marks: Mapping[str, str]) -> dict[str, str]:
    """Return the labels or annotations that the operator may read. A user who adds too many of them loses some."""
    known = (key for key in marks if key.startswith(_READ_PREFIXES) and len(str(marks[key])) <= _MARK_CHARACTERS)
    return {key: marks[key] for key in islice(known, _MOST_READ)}


def _shallow(text: bytes) -> bytes:
    """Return the JSON with null in place of values that are nested too deep."""
    if not _is_deep(text):
        return text
    kept, kept_to, level = [], 0, 0
    for token in _STRINGS_AND_BRACKETS.finditer(text):
        if token[0] in (b"[", b"{"):
            level += 1
            if level == _LEVELS + 1:
                kept.append(text[kept_to : token.start()])
        elif token[0] in (b"]", b"}"):
            if level == _LEVELS + 1:
                kept.append(b"null")
                kept_to = token.end()
            level -= 1
    return b"".join([*kept, text[kept_to:]])


def _is_deep(text: bytes) -> bool:
    """Return whether something is nested too deep: remove the innermost pairs of brackets, level by level."""
    if text.count(b"{") + text.count(b"[") <= _LEVELS:
        return False
    brackets = _ALL_BUT_BRACKETS.sub(b"", text)
    levels = 0
    while brackets and levels < _LEVELS:
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
        levels += 1
    return bool(brackets)
