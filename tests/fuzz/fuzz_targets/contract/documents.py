"""The documents that processes hand each other as JSON, as `from_json` reads them.

Input: the name of a document's type and a line end, then its JSON.
Oracle: only ContractError is raised. What is read is text that UTF-8 can write, and is the same when it is written and
read again.
"""

from collections.abc import Iterator
from contextlib import suppress

from fuzz_texts import assert_plain_text
from json_mutation import mutate_json
from reports import REPORT
from run_configs import NOWHERE, arrivals, run_config
from runs import snapshot, summary, target_stats
from sshload_contract.bounds import ContractError
from sshload_contract.wire.codec import from_json, to_json
from sshload_contract.wire.master_log import SearchProgress, Snapshot
from sshload_contract.wire.program import ProgramConfig, ProgramStats
from sshload_contract.wire.report import Report
from sshload_contract.wire.run_config import RunConfig
from sshload_contract.wire.run_summary import RunSummary
from sshload_contract.wire.target import DirectoryFixture, FileFixture, RepositoryFixture, TargetConfig, TargetStats

_KINDS: dict[bytes, type] = {
    kind.__name__.encode(): kind
    for kind in (RunSummary, Snapshot, Report, RunConfig, TargetConfig, TargetStats, ProgramConfig, ProgramStats)
}
_TARGET = TargetConfig(
    user="load",
    home="/home/load",
    keys_dir="/keys",
    sshd_config="MaxStartups 10\n",
    sshd_port=2222,
    stats_port=9200,
    files=(FileFixture("a", 1),),
    directories=(DirectoryFixture("d", 2),),
    repositories=(RepositoryFixture("r", 3, 4),),
)


_PROGRAM = ProgramConfig(("haproxy", "-f"), "maxconn 5\n", "target", port=2222, stats_port=9202, open_files=210)
_PROGRAM_STATS = ProgramStats(cpu_s=1.5, cpu_throttled_s=0.25, memory_peak_bytes=None)


def seeds() -> Iterator[bytes]:
    """Yield a document of each type."""
    searching = snapshot(search=SearchProgress(trial=2, amount=20.0, lower=10.0, upper=None))
    shared = (summary(20, 2), searching, REPORT, run_config(NOWHERE, arrivals(5, 2)))
    for document in (*shared, _TARGET, target_stats(7), _PROGRAM, _PROGRAM_STATS):
        yield type(document).__name__.encode() + b"\n" + to_json(document).encode()


def mutate(data: bytes, seed: int) -> bytes:
    """Change the document as JSON."""
    name, end, said = data.partition(b"\n")
    return name + end + mutate_json(said, seed)


def check(data: bytes) -> None:
    """Read a document, and write and read it again."""
    name, _, said = data.partition(b"\n")
    kind = _KINDS.get(name, RunSummary)
    with suppress(ContractError):
        document: object = from_json(kind, said.decode("utf-8", "replace"))
        assert_plain_text(document)
        assert from_json(kind, to_json(document)) == document
