"""A worker's report, as its master gets it."""

from runs import NEGOTIATED
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import (
    ArrivalCounts,
    ByteCount,
    EndCount,
    ErrorCount,
    Health,
    NegotiatedCount,
    Report,
    StageCounts,
)

REPORT = Report(
    run_id="test-run",
    worker=0,
    trial=0,
    sequence=1,
    until_s=0.5,
    final=False,
    in_flight=2,
    users=0,
    held=0,
    counts={Window.MEASURED: ArrivalCounts(9, 8, 6, 2, 6, 1, 0)},
    stages=(StageCounts(2, ArrivalCounts(4, 4, 3, 1, 3, 0, 0)),),
    histograms=(),
    ended=(EndCount("read", Window.MEASURED, 5),),
    moved=(ByteCount("read", Window.MEASURED, 700), ByteCount("read", None, 70)),
    errors=(ErrorCount("auth", Outcome.AUTH_REJECTED, Window.MEASURED, 2, "refused"),),
    negotiated=(NegotiatedCount(NEGOTIATED, 6),),
    health=Health(0.1, 0.0, None, 1, 1, 1, 2, 2, 3, 28_232, 0),
)
"""A report without latencies."""
