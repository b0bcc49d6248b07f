"""The master's standard output: a Snapshot each second, and at the end the summary, with a hash of its lines.

The lines of a summary have 12 KiB, because the kubelet's log is split into fragments of 16 KiB, and the API server's
`tailLines` counts fragments. Other lines (warnings, tracebacks of the interpreter) may be between them, and are
ignored.

A tenant can print anything (a custom image, a locustfile), so a reader limits everything before it parses it: the
length of a line, the number of parts, the unpacked text, and the number of JSON values in it, because the memory that
parsed JSON takes depends on that number more than on its length.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, unique

from sshload_contract.bounds import WIRE_VERSION, Amount, ContractError, Count
from sshload_contract.vocabulary import Outcome
from sshload_contract.wire.codec import from_json, from_plain, parse_json, to_json
from sshload_contract.wire.run_summary import RunSummary, shortened_summaries

PROBLEM_LIMIT_CHARACTERS = 200
MOST_FAILURE_KINDS = 3

_MARK = '{"sshload":'
_CHUNK_CHARACTERS = 12_000
_LINE_LIMIT_CHARACTERS = _CHUNK_CHARACTERS + 100
SNAPSHOT_LINE_LIMIT_BYTES = 4_096
_PARTS_LIMIT = 200
# Several times what the largest run prints: 60 trials, 200 kinds of error, 600 points of time, 80 steps.
_UNPACKED_LIMIT_BYTES = 4_194_304
_VALUES_LIMIT = 400_000
SUMMARY_LINES_LIMIT = _PARTS_LIMIT + 1
"""The largest number of lines of a summary, including its closing line."""


@unique
class Stage(StrEnum):
    """The stage of a run, as its master sees it. `SETTLING`: between two trials, until the target is idle."""

    WAITING_FOR_WORKERS = "waitingForWorkers"
    WARM_UP = "warmUp"
    MEASURING = "measuring"
    DRAINING = "draining"
    SETTLING = "settling"


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The progress of a search for the capacity: the present trial, its amount of load, and the bounds so far."""

    trial: Count
    amount: Amount
    lower: Amount | None
    upper: Amount | None


@dataclass(frozen=True, slots=True)
class FailureKind:
    """The number of steps that ended in one outcome other than `ok`."""

    outcome: Outcome
    count: Count


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run, without its workers' reports. `elapsed_s` is since the start of its first trial."""

    stage: Stage
    elapsed_s: Amount
    remaining_s: Amount
    workers_connected: Count
    search: SearchProgress | None
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(RunState):
    """The state of a run by its workers' last reports, and its remaining time. Percentiles are of successful totals.

    `recent_p50_us` covers the same time as the rates. `failure_kinds` are the most frequent ones.

    Rates are per second of the most recently reported load: of at least half a second, and usually of one or two.

    In a search the figures are those of the trial, and `search` is the progress; it is None in any other run.
    `elapsed_s` then counts from the start of the first trial, and `remaining_s` is the longest that trials can still
    take. `problem` says why the target cannot be reached yet, in at most PROBLEM_LIMIT_CHARACTERS; else it is empty.
    """

    version: int = WIRE_VERSION
    run_id: str
    users: Count
    held: Count
    in_flight: Count
    offered_rate: Amount
    completed_rate: Amount
    iterations: Count
    failures: Count
    p99_us: Count | None
    p50_us: Count | None = None
    recent_p50_us: Count | None = None
    failure_kinds: tuple[FailureKind, ...] = ()


@dataclass(frozen=True, slots=True)
class MasterLog:
    """The content of a part of the master's log.

    `summary_lines` is the number of lines of the summary including its closing line, 0 while there is none: if it is
    set and `summary` is None, the part was too short, and so many more lines must be read. `proof_sha256` is the
    SHA-256 of the proof below the summary that its printer has the run's token, empty while there is none. `problem`
    says why a complete summary could not be used; else it is empty.
    """

    snapshot: Snapshot | None
    summary: RunSummary | None
    summary_lines: int
    problem: str
    proof_sha256: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of a packed summary."""

    number: int
    data: str


@dataclass(frozen=True, slots=True)
class _End:
    """The closing line of a summary: how many parts there are, their SHA-256, and the proof of the run's token."""

    parts: int
    sha256: str
    proof: str


def snapshot_line(snapshot: Snapshot) -> str:
    """Return the line that prints a snapshot, of at most SNAPSHOT_LINE_LIMIT_BYTES."""
    return f'{_MARK}"snapshot","data":{to_json(snapshot)}}}'


def without_records(text: str) -> str:
    """Return the lines of a text without those of snapshots and summaries: warnings, and why the master ended."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(_MARK)).strip()


def summary_lines(summary: RunSummary, token: str) -> Iterator[str]:
    """Yield the lines that print a summary: its parts, then their count, their SHA-256, and a proof of the token.

    If the summary exceeds the limits of `read_master_log`, part of it is left out (RunSummary.omitted).
    """
    packed = next(packed for packed in map(_pack, shortened_summaries(summary)) if packed is not None)
    chunks = [packed[start : start + _CHUNK_CHARACTERS] for start in range(0, len(packed), _CHUNK_CHARACTERS)]
    for number, chunk in enumerate(chunks):
        yield f'{_MARK}"part","number":{number},"data":"{chunk}"}}'
    digest = hashlib.sha256(packed.encode("ascii")).hexdigest()
    yield f'{_MARK}"end","parts":{len(chunks)},"sha256":"{digest}","proof":"{_proof(token)}"}}'


def _pack(summary: RunSummary) -> str | None:
    """Return the summary as it is printed, None if it is too large."""
    text = to_json(summary).encode()
    if len(text) > _UNPACKED_LIMIT_BYTES or _too_many_values(text):
        return None
    packed = base64.b64encode(zlib.compress(text, level=9)).decode("ascii")
    return packed if len(packed) <= _PARTS_LIMIT * _CHUNK_CHARACTERS else None


def read_master_log(text: str) -> MasterLog:
    """Return the newest snapshot and the summary in `text`, a whole log or its tail."""
    snapshot: Snapshot | None = None
    parts: dict[int, str] = {}
    end: _End | None = None
    problem = ""
    for line in _our_lines(text):
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
    return MasterLog(snapshot, summary, end.parts + 1, problem, _sha256(end.proof))


def proof_sha256(token: str) -> str:
    """Return the SHA-256 of the proof below the summary of the run with this token.

    The operator keeps this hash. The log contains the proof. Neither reveals the token.
    """
    return _sha256(_proof(token))


def _proof(token: str) -> str:
    return _sha256(f"sshload results {token}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _our_lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith(_MARK))


def _read_line(line: str) -> Snapshot | _Part | _End | None:
    if len(line) > _LINE_LIMIT_CHARACTERS:
        raise ContractError("", f"has {len(line)} characters, and {_LINE_LIMIT_CHARACTERS} is the most")
    record = parse_json(line)
    match record.pop("sshload"):
        case "snapshot":
            return from_plain(Snapshot, record.get("data"))
        case "part":
            return from_plain(_Part, record)
        case "end":
            end = from_plain(_End, record)
            if not 1 <= end.parts <= _PARTS_LIMIT:
                raise ContractError("parts", f"is {end.parts}: a summary has 1 to {_PARTS_LIMIT}")
            return end
    return None


def _unpack(packed: str, digest: str) -> tuple[RunSummary | None, str]:
    if hashlib.sha256(packed.encode()).hexdigest() != digest:
        return None, "the summary in the master's log does not have the SHA-256 that it states"
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(base64.b64decode(packed), _UNPACKED_LIMIT_BYTES)
        if unpacking.unconsumed_tail:
            return None, f"the summary in the master's log is too large: over {_UNPACKED_LIMIT_BYTES} bytes"
        if _too_many_values(text):
            return None, f"the summary in the master's log is too large: over {_VALUES_LIMIT} values"
        return from_json(RunSummary, text.decode()), ""
    except (ContractError, ValueError, zlib.error) as error:
        return None, f"the summary in the master's log cannot be read: {error}"


def _too_many_values(text: bytes) -> bool:
    return sum(map(text.count, (b",", b":", b"[", b"{"))) > _VALUES_LIMIT
