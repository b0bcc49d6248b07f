"""Parse answers of the API server, and drop what the operator never reads.

Any client may fill an object's metadata. The API server stores managedFields as a client wrote them: up to 1.5 MB,
which take twenty times as much memory once parsed, or 10,000 levels deep, where json.loads gives up at about 1,000.
"""

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
_LARGE_BYTES: Final = 16 * 1024
# A collection holds up the event loop, which all tests share, for as long as reading 512 KiB does.
_COLLECTED_EVERY_BYTES: Final = 512 * 1024


@dataclass(slots=True)
class _LargeAnswers:
    """Large answers since the last collection of garbage.

    They may still hang in reference cycles. Python's own collector counts objects, not their bytes.
    """

    bytes_read: int = 0

    def take_in(self, size_bytes: int) -> None:
        self.bytes_read += size_bytes
        if self.bytes_read >= _COLLECTED_EVERY_BYTES:
            gc.collect()
            self.bytes_read = 0


_LARGE_ANSWERS: Final = _LargeAnswers()


def read_json(text: bytes) -> Any:
    """Return an answer of the API server (an object, a list, or an event of a watch) with lean objects.

    A lean object has no managedFields. It has a spec only if it is of one of our kinds or a Lease. If it has more than
    100 labels or annotations, or 16 KiB of them, it keeps at most 20 of sshload and of GitOps controllers, none longer
    than 1 KiB. null stands for what is nested deeper than 100 levels. Each object of a list is made lean before the
    next is parsed. Raises ValueError if the text is not JSON.
    """
    if len(text) > _LARGE_BYTES:
        _LARGE_ANSWERS.take_in(len(text))
    try:
        return json.loads(_shallow(_MANAGED_FIELDS.sub(b'"managedFields":[]', text)), object_hook=_lean)
    except ValueError:  # an older CRD lets a field of this name with nested lists pass
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
    """Tell whether a list or map has more than 100 entries, or 16 KiB: nothing bounds how long an owner's name is."""
    return bool(entries) and (len(entries) > _MOST_ENTRIES or len(str(entries)) > _MOST_CHARACTERS)


def _read_ones(marks: Mapping[str, str]) -> dict[str, str]:
    """Return the marks that the operator may read; whoever makes more of them than it knows loses some."""
    known = (key for key in marks if key.startswith(_READ_PREFIXES) and len(str(marks[key])) <= _MARK_CHARACTERS)
    return {key: marks[key] for key in islice(known, _MOST_READ)}


def _shallow(text: bytes) -> bytes:
    """Return the JSON with null in place of what is nested too deep."""
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
