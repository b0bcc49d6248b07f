"""A finished run as it is saved: the test with its status, and the whole summary if there is one.

In a cluster these are the SSHLoadTest and the ConfigMap of its results; `sshload run --save` writes both into one file.
Anybody who can write there decides what is read here. So the size is limited, and malformed content is refused.
"""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sshload_contract.bounds import ContractError
from sshload_contract.wire.codec import from_json, from_plain, parse_json, to_plain
from sshload_contract.wire.run_summary import RunSummary

from sshload_operator.api.kinds import TEST
from sshload_operator.api.load_test import check_size
from sshload_operator.api.names import check_name
from sshload_operator.api.shapes.errors import SpecError
from sshload_operator.api.status.load_test import head_of
from sshload_operator.manifests.results import SUMMARY_FILE

SAVED_RUN_LIMIT_BYTES: Final = 64 * 1024 * 1024
_SUMMARY_LIMIT_BYTES: Final = 40_000_000
_MOST_LEVELS: Final = 50
"""No spec has half as many. The writer of YAML recurses at each level."""

_VERSION: Final = "savedRun.v1"
_GZIP: Final = 16 + zlib.MAX_WBITS


class ReportError(Exception):
    """The input is not a finished run; the text says what is wrong, and what to do."""


@dataclass(frozen=True, slots=True)
class KeptObject:
    """An object of one of the kinds, with its spec and its status as they were written."""

    name: str
    namespace: str
    spec: Mapping[str, Any]
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SavedRun(KeptObject):
    """A finished test; `summary` is None if none was kept."""

    summary: RunSummary | None


def saved_run_text(test: Mapping[str, Any], summary: RunSummary | None) -> str:
    """Return a finished test and its summary as the text of a file, which `saved_run_of` reads."""
    plain = None if summary is None else to_plain(summary)
    return json.dumps({"version": _VERSION, "test": test, "summary": plain}, separators=(",", ":"), allow_nan=False)


def saved_json(text: bytes) -> Any:
    """Return the value of the JSON of a saved file; raises ReportError."""
    if len(text) > SAVED_RUN_LIMIT_BYTES:
        raise ReportError(f"is larger than {SAVED_RUN_LIMIT_BYTES} bytes, which is more than any run has")
    try:
        return parse_json(text.decode())
    except (ContractError, UnicodeDecodeError) as error:
        raise ReportError(f"is not a run: {error}. sshload run --save writes one") from error


def saved_run_of(found: Any) -> SavedRun:
    """Return the run in the JSON of a file, or of what `sshload run -o json` printed; raises ReportError."""
    try:
        if isinstance(found, dict) and found.get("kind") == TEST.name:
            return finished_run(found, None)
        if not isinstance(found, dict) or found.get("version") != _VERSION:
            raise ReportError(f"is not a run: sshload run --save writes one ({_VERSION})")
        plain = found.get("summary")
        return finished_run(found.get("test"), None if plain is None else from_plain(RunSummary, plain))
    except ContractError as error:
        raise ReportError(f"is not a run: {error}. sshload run --save writes one") from error


def finished_run(test: Any, summary: RunSummary | None) -> SavedRun:
    """Return a test with its summary; raises ReportError if it is not a test, or not finished."""
    kept = kept_object(test)
    try:
        check_size(kept.spec)
    except SpecError as error:
        raise ReportError(f"is not a run: {error}") from error
    if not head_of({"status": kept.status}).is_finished:
        raise ReportError("is not finished: sshload watch waits for it")
    return SavedRun(kept.name, kept.namespace, kept.spec, kept.status, summary)


def kept_object(found: Any) -> KeptObject:
    """Return an object of a cluster or a file; raises ReportError if it is not an object, or has no status yet."""
    parts = found if isinstance(found, dict) else {}
    metadata, spec, status = (parts.get(name) for name in ("metadata", "spec", "status"))
    if not (isinstance(metadata, dict) and isinstance(spec, dict) and isinstance(status, dict)):
        raise ReportError("has no metadata, spec or status: wait until it is finished")
    name, namespace = metadata.get("name"), metadata.get("namespace", "")
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise ReportError("has no name or namespace that is a text")
    try:
        check_name(name)
    except SpecError as error:
        raise ReportError(f"is not a run: {error}") from error
    if _is_nested_too_deeply(spec):
        raise ReportError(f"is not a run: its spec is nested more than {_MOST_LEVELS} levels deep")
    return KeptObject(name, namespace, spec, status)


def _is_nested_too_deeply(spec: Any) -> bool:
    level = [spec]
    for _ in range(_MOST_LEVELS):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
    return bool(level)


def summary_in(config_map: Mapping[str, Any]) -> RunSummary:
    """Return the summary that a ConfigMap of results holds; raises ReportError."""
    packed = config_map.get("binaryData")
    try:
        raw = base64.b64decode(packed[SUMMARY_FILE] if isinstance(packed, dict) else "", validate=True)
        unpacking = zlib.decompressobj(_GZIP)
        text = unpacking.decompress(raw, _SUMMARY_LIMIT_BYTES)
        if unpacking.unconsumed_tail:
            raise ReportError(
                f"the summary is larger than {_SUMMARY_LIMIT_BYTES} bytes, which is more than any summary has"
            )
        return from_json(RunSummary, text.decode())
    except (KeyError, TypeError, ValueError, binascii.Error, zlib.error) as error:
        raise ReportError(f"the summary in the ConfigMap cannot be read: {error}. Run the test again") from error
