"""Parse answers of the API server, and drop what the operator never reads.

Any client may fill an object's metadata. The API server stores managedFields as a client wrote them: up to 1.5 MB,
which take twenty times as much memory once parsed, or 10,000 levels deep, where json.loads gives up at about 1,000.
"""

import gc
import json
import re
from typing import Any, Final

from sshload_operator.api.kinds import API_VERSION, LEASE_API_VERSION

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# managedFields is a list. No list is nested in it: its fields are objects.
_MANAGED_FIELDS: Final = re.compile(rb'"managedFields":\[(?:[^"\]]++|' + _STRING + rb")*+\]", re.DOTALL)
_ALL_BUT_BRACKETS: Final = re.compile(_STRING + rb'|[^\[\]{}"]++', re.DOTALL)
_STRINGS_AND_BRACKETS: Final = re.compile(_STRING + rb"|[\[\]{}]", re.DOTALL)
# Our own objects have 20. An older CRD let deeper ones pass: the rest is read, so that the object can be refused.
_LEVELS: Final = 100
# No object needs more labels, annotations, finalizers or owners than this.
_MOST_ENTRIES: Final = 100
_OWN_PREFIX: Final = "sshload.dev/"
_WITH_SPEC: Final = (API_VERSION, LEASE_API_VERSION)
_LARGE_BYTES: Final = 128 * 1024


def read_json(text: bytes) -> Any:
    """Return an answer of the API server (an object, a list, or an event of a watch) with lean objects.

    A lean object has no managedFields. It has a spec only if it is of one of our kinds or a Lease. If it has more than
    100 labels or annotations, it keeps those of sshload. null stands for what is nested deeper than 100 levels. Each
    object of a list is made lean before the next is parsed. Raises ValueError if the text is not JSON.
    """
    if len(text) > _LARGE_BYTES:
        # Earlier answers may still hang in reference cycles. The collector counts objects, not their bytes.
        gc.collect()
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
        marks = metadata.get(name) or {}
        if len(marks) > _MOST_ENTRIES:
            metadata[name] = {key: value for key, value in marks.items() if key.startswith(_OWN_PREFIX)}
    if len(metadata.get("finalizers") or ()) > _MOST_ENTRIES:
        metadata["finalizers"] = []
    owners = metadata.get("ownerReferences") or ()
    if len(owners) > _MOST_ENTRIES:
        metadata["ownerReferences"] = [owner for owner in owners if owner.get("controller")]


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
