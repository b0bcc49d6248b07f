"""The log of a master, which is whatever a tenant's pod prints, as `read_master_log` reads it.

Input: `raw` and a line end, then a log; or `packed` and a line end, then a summary's JSON, which is printed here as a
master prints one, with the SHA-256 that proves it whole.
Oracle: nothing is raised. What is found is within its stated bounds, is text that UTF-8 can write, and is the same when
it is printed and read again.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterator

from fuzz_texts import assert_plain_text
from json_mutation import mutate_json
from runs import snapshot, summary
from sshload_contract.wire.codec import to_json
from sshload_contract.wire.master_log import (
    SUMMARY_LINES_LIMIT,
    MasterLog,
    read_master_log,
    snapshot_line,
    summary_lines,
)

_TOKEN = "0f" * 32
_CHUNK_CHARACTERS = 12_000


def seeds() -> Iterator[bytes]:
    """Yield a whole log, and the summary that stands in it."""
    lines = [snapshot_line(snapshot()), "a warning", *summary_lines(summary(20, 2), _TOKEN)]
    yield b"raw\n" + "\n".join(lines).encode()
    yield b"packed\n" + to_json(summary(20, 2)).encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the JSON of a summary as JSON."""
    kind, end, said = data.partition(b"\n")
    return kind + end + mutate_json(said, seed)


def check(data: bytes) -> None:
    """Read a log, and what was read of it once more."""
    kind, _, said = data.partition(b"\n")
    log = read_master_log(_printed(said) if kind == b"packed" else said.decode("utf-8", "replace"))
    assert 0 <= log.summary_lines <= SUMMARY_LINES_LIMIT
    assert_plain_text(log)
    if log.summary is not None:
        assert not log.problem
        _assert_printed_again(log)


def _assert_printed_again(log: MasterLog) -> None:
    again = read_master_log("\n".join(summary_lines(log.summary, _TOKEN))) if log.summary is not None else log
    assert again.summary == log.summary
    assert again.proof_sha256


def _printed(text: bytes) -> str:
    packed = base64.b64encode(zlib.compress(text)).decode("ascii")
    chunks = [packed[start : start + _CHUNK_CHARACTERS] for start in range(0, len(packed), _CHUNK_CHARACTERS)]
    lines = [f'{{"sshload":"part","number":{number},"data":"{chunk}"}}' for number, chunk in enumerate(chunks)]
    digest = hashlib.sha256(packed.encode()).hexdigest()
    return "\n".join([*lines, f'{{"sshload":"end","parts":{len(chunks)},"sha256":"{digest}","proof":"p"}}'])
