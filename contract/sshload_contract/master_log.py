"""The master's standard output: snapshots as lines, and the summary as numbered lines that prove themselves whole.

Why lines of 12 KiB: the kubelet's log is cut into fragments of 16 KiB, and the API server's `tailLines` counts those.
Lines that are not ours (warnings, tracebacks of the interpreter) may stand between them, and are passed over.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sshload_contract.codec import from_json, to_json
from sshload_contract.errors import ContractError
from sshload_contract.run_summary import RunSummary
from sshload_contract.snapshot import Snapshot

_MARK = '{"sshload":'
_CHUNK_CHARACTERS = 12_000
SNAPSHOT_LINE_LIMIT_BYTES = 4_096


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
    end: tuple[int, str] | None = None
    problem = ""
    for line in _our_lines(text.splitlines()):
        try:
            record = json.loads(line)
            match record["sshload"]:
                case "snapshot":
                    snapshot = from_json(Snapshot, json.dumps(record["data"]))
                case "part":
                    parts[record["number"]] = record["data"]
                case "end":
                    end = (record["parts"], record["sha256"])
        except (ContractError, ValueError, KeyError, TypeError) as error:
            problem = f"a line of the master's log cannot be read: {error}"
    if end is None:
        return MasterLog(snapshot=snapshot, summary=None, summary_lines=0, problem=problem)
    count, digest = end
    if any(number not in parts for number in range(count)):
        return MasterLog(snapshot=snapshot, summary=None, summary_lines=count + 1, problem=problem)
    summary, problem = _unpack("".join(parts[number] for number in range(count)), digest)
    return MasterLog(snapshot=snapshot, summary=summary, summary_lines=count + 1, problem=problem)


def _our_lines(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if line.startswith(_MARK))


def _unpack(packed: str, digest: str) -> tuple[RunSummary | None, str]:
    if hashlib.sha256(packed.encode()).hexdigest() != digest:
        return None, "the summary in the master's log does not have the SHA-256 that it states"
    try:
        return from_json(RunSummary, zlib.decompress(base64.b64decode(packed)).decode()), ""
    except (ContractError, ValueError, zlib.error) as error:
        return None, f"the summary in the master's log cannot be read: {error}"
