"""The steps of logins as a summary has them: 10 ms each of connecting, banner, kex and auth at least, 20 on average."""

from dataclasses import replace

from runs import steps
from sshload_contract.vocabulary import Outcome, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import StepStats

_PARTS = ("connect", "banner", "kex", "auth")


def logins(connections: int, dropped: int, prefix: str = "") -> tuple[StepStats, ...]:
    """Return the steps of so many connections, some of which were dropped before the banner."""
    one = replace(steps(connections, 0)[-1], min_us=10_000, mean_us=20_000.0)
    counts = (connections, *[connections - dropped] * 3)
    failures = (0, dropped, 0, 0)
    return tuple(
        replace(one, step=f"{prefix}{part}", count=count, failures=failed)
        for part, count, failed in zip(_PARTS, counts, failures, strict=True)
    )


def throttled(count: int, prefix: str = "") -> tuple[ErrorCount, ...]:
    """Return the error of so many connections that MaxStartups dropped."""
    error = ErrorCount(f"{prefix}banner", Outcome.THROTTLED, Window.MEASURED, count, "Exceeded MaxStartups")
    return (error,) if count else ()
