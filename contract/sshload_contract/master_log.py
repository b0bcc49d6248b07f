"""The master's standard output: snapshots as lines, and the summary as numbered lines that prove themselves whole.

Why lines of 12 KiB: the kubelet's log is cut into fragments of 16 KiB, and the API server's `tailLines` counts those.
Lines that are not ours (warnings, tracebacks of the interpreter) may stand between them, and are passed over.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sshload_contract.codec import from_json, from_plain, parse_json, to_json
from sshload_contract.errors import ContractError
from sshload_contract.run_summary import RunSummary
from sshload_contract.snapshot import Snapshot

_MARK = '{"sshload":'
_CHUNK_CHARACTERS = 12_000
SNAPSHOT_LINE_LIMIT_BYTES = 4_096
_UNPACKED_LIMIT_BYTES = 67_108_864  # a log is 10 MiB at most, and may be anybody's


@dataclass(frozen=True, slots=True)
class MasterLog:
    """What a stretch of the master's log says.

    `summary_lines` is the number of lines that the summary takes with its closing line, 0 while there is none: where
    it is set and `summary` is None, the stretch was too short, and one of that many lines more is to be read.
    `problem` says why a complete summary could not be used, and is empty otherwise.
    """

    snapshot: Snapshot | None
    summary: RunSummary | None
    summary_lines: int
    problem: str


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a packed summary."""

    number: int
    data: str


@dataclass(frozen=True, slots=True)
class _End:
    """The closing line of a summary: how many parts there are, and the SHA-256 of them all."""

    parts: int
    sha256: str


def snapshot_line(snapshot: Snapshot) -> str:
    """Return the line that prints a snapshot, of at most SNAPSHOT_LINE_LIMIT_BYTES."""
    return f'{_MARK}"snapshot","data":{to_json(snapshot)}}}'


def summary_lines(summary: RunSummary) -> Iterator[str]:
    """Yield the lines that print a summary: its parts, then their count and the SHA-256 of the whole."""
    packed = base64.b64encode(zlib.compress(to_json(summary).encode(), level=9)).decode("ascii")
    chunks = [packed[start : start + _CHUNK_CHARACTERS] for start in range(0, len(packed), _CHUNK_CHARACTERS)]
    for number, chunk in enumerate(chunks):
        yield f'{_MARK}"part","number":{number},"data":"{chunk}"}}'
    digest = hashlib.sha256(packed.encode("ascii")).hexdigest()
    yield f'{_MARK}"end","parts":{len(chunks)},"sha256":"{digest}"}}'


def read_master_log(text: str) -> MasterLog:
    """Return the newest snapshot and the summary that `text`, a whole log or its tail, holds."""
    snapshot: Snapshot | None = None
    parts: dict[int, str] = {}
    end: _End | None = None
    problem = ""
    for line in _our_lines(text.splitlines()):
        try:
            match _read_line(line):
                case Snapshot() as snapshot:
                    pass
                case _Part(number, data):
                    parts[number] = data
                case _End() as end:
                    pass
        except ContractError as error:
            problem = f"a line of the master's log cannot be read: {error}"
    if end is None:
        return MasterLog(snapshot=snapshot, summary=None, summary_lines=0, problem=problem)
    if any(number not in parts for number in range(end.parts)):
        return MasterLog(snapshot=snapshot, summary=None, summary_lines=end.parts + 1, problem=problem)
    summary, problem = _unpack("".join(parts[number] for number in range(end.parts)), end.sha256)
    return MasterLog(snapshot=snapshot, summary=summary, summary_lines=end.parts + 1, problem=problem)


def _our_lines(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.startswith(_MARK))


def _read_line(line: str) -> Snapshot | _Part | _End | None:
    record = parse_json(line)
    match record.pop("sshload"):
        case "snapshot":
            return from_plain(Snapshot, record.get("data"))
        case "part":
            return from_plain(_Part, record)
        case "end":
            end = from_plain(_End, record)
            if end.parts < 1:
                raise ContractError("parts", f"is {end.parts}: a summary has one part at least")
            return end
    return None


def _unpack(packed: str, digest: str) -> tuple[RunSummary | None, str]:
    if hashlib.sha256(packed.encode(errors="replace")).hexdigest() != digest:
        return None, "the summary in the master's log does not have the SHA-256 that it states"
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(base64.b64decode(packed), _UNPACKED_LIMIT_BYTES)
        if unpacking.unconsumed_tail:
            return None, f"the summary in the master's log is too large: over {_UNPACKED_LIMIT_BYTES} bytes"
        return from_json(RunSummary, text.decode()), ""
    except (ContractError, ValueError, zlib.error) as error:
        return None, f"the summary in the master's log cannot be read: {error}"
