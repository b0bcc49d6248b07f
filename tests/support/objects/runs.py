"""What a run leaves to be judged: pods, snapshots and summaries that are sound unless a test says otherwise.

Also what the master of a played run prints, and the steps of logins as a summary has them.
"""

import zlib
from base64 import b64decode, b64encode
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any

from api_proxy import ApiProxy
from played_pods import PlayedPods
from sshload_contract.load.stats import LoadStats
from sshload_contract.percentiles import percentile_key
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Window
from sshload_contract.wire.master_log import Snapshot, Stage, snapshot_line, summary_lines
from sshload_contract.wire.report import EncodedHistogram, ErrorCount, Negotiated, NegotiatedCount
from sshload_contract.wire.run_summary import GeneratorStats, RunSummary, StepStats, Trial
from sshload_contract.wire.target import TargetStats
from sshload_operator.manifests.labels import Part, run_child_name
from sshload_operator.state import PodFacts, Role

RUN_ID = "a1b2c3d4e5"
MEASURED_S = 30.0
WARM_UP_LOGINS = 100
_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9)
_LATENCIES_US = (45_000, 60_000, 70_000, 90_000, 120_000)
_STEPS = (Timing.CONNECT, Timing.AUTH, Timing.LOGIN, Timing.EXEC, Timing.TOTAL)
NEGOTIATED = Negotiated("curve25519-sha256", "aes128-gcm@openssh.com", "", "ssh-ed25519", "SSH-2.0-OpenSSH_10.0")


def pod(role: Role, **changes: Any) -> PodFacts:
    """Return a pod that runs and is ready, of the run RUN_ID."""
    facts = PodFacts(
        name=f"quickstart-{role}",
        role=role,
        run_id=RUN_ID,
        controller_uid="",
        phase="Running",
        ready=True,
        deleting=False,
        restarts=0,
        waiting_reason="",
        waiting_message="",
        blocked_message="",
        exit_code=None,
        termination_message="",
    )
    return replace(facts, **changes)


def snapshot(stage: Stage = Stage.MEASURING, **changes: Any) -> Snapshot:
    """Return a snapshot of a run that goes well, in the middle of its load."""
    facts = Snapshot(
        run_id=RUN_ID,
        stage=stage,
        elapsed_s=15.0,
        remaining_s=20.0,
        workers_connected=2,
        users=0,
        held=0,
        in_flight=1,
        offered_rate=20.0,
        completed_rate=19.5,
        iterations=300,
        failures=3,
        p99_us=90_000,
        search=None,
        problem="",
    )
    return replace(facts, **changes)


def target_stats(accepted: int, **changes: Any) -> TargetStats:
    """Return what a managed target says of itself after so many logins."""
    facts = TargetStats(
        version=1,
        at_unix_s=1_800_000_000.0 + accepted,
        sshd_version="OpenSSH_10.0p1",
        accepted=accepted,
        auth_failed=0,
        dropped_max_startups=0,
        dropped_penalty=0,
        dropped_is_lower_bound=False,
        sessions=0,
        cpu_s=1.0 + 0.03 * accepted,
        cpu_throttled_s=0.0,
        cpu_limit_cores=None,
        machine_cpu=MachineCpu(100.0 + accepted, 1.0 + 0.02 * accepted),
        memory_bytes=20_000_000,
        memory_is_upper_bound=False,
        memory_peak_bytes=30_000_000,
        memory_limit_bytes=None,
        processes=3,
        processes_limit=None,
        oom_kills=0,
        refused_forks=0,
        listen_overflows=0,
    )
    return replace(facts, **changes)


def steps(succeeded: int, failed: int, window: Window = Window.MEASURED) -> tuple[StepStats, ...]:
    """Return the figures of every step of so many iterations, those that failed having failed in exec."""
    shown = dict(zip(map(percentile_key, _PERCENTILES), _LATENCIES_US, strict=True))
    timed = (
        StepStats(
            step=str(step),
            window=window,
            count=succeeded,
            failures=failed if step in (Timing.EXEC, Timing.TOTAL) else 0,
            rate=succeeded / MEASURED_S,
            min_us=40_000,
            mean_us=50_000.0,
            max_us=130_000,
            bytes_per_second=None,
            percentiles_us=shown if succeeded else dict.fromkeys(shown),
            percentiles_low_us={key: value * 95 // 100 if succeeded else None for key, value in shown.items()},
            percentiles_high_us={key: value * 106 // 100 if succeeded else None for key, value in shown.items()},
        )
        for step in _STEPS
    )
    return (_start_delay(succeeded + failed, window), *timed)


def _start_delay(begun: int, window: Window) -> StepStats:
    """Return the figures of prompt starts."""
    return StepStats(
        step=str(Timing.START_DELAY),
        window=window,
        count=begun,
        failures=0,
        rate=begun / MEASURED_S,
        min_us=20,
        mean_us=60.0,
        max_us=400,
        bytes_per_second=None,
        percentiles_us={percentile_key(percentile): 150 if begun else None for percentile in _PERCENTILES},
        percentiles_low_us={percentile_key(percentile): 140 if begun else None for percentile in _PERCENTILES},
        percentiles_high_us={percentile_key(percentile): 160 if begun else None for percentile in _PERCENTILES},
    )


def held_step(name: str, succeeded: int, failed: int) -> StepStats:
    """Return the figures of a step of the held sessions, which alone are long."""
    return replace(
        steps(succeeded, failed)[-1], step=name, count=succeeded, failures=failed, min_us=29_000_000, max_us=31_000_000
    )


def errors(failed: int, outcome: Outcome = Outcome.EXIT_CODE, message: str = "exit code 1") -> tuple[ErrorCount, ...]:
    """Return the errors of so many iterations that failed alike."""
    return (ErrorCount(Timing.TOTAL, outcome, Window.MEASURED, failed, message),) if failed else ()


def load(succeeded: int = 600, failed: int = 0, **changes: Any) -> LoadStats:
    """Return the counts of a measured window in which everything that was due began and ended."""
    due = succeeded + failed
    facts = LoadStats(
        duration_s=MEASURED_S,
        scheduled=due,
        started=due,
        succeeded=succeeded,
        failed=failed,
        late=0,
        dropped=0,
        offered_rate=due / MEASURED_S,
        achieved_rate=due / MEASURED_S,
        completed_rate=succeeded / MEASURED_S,
        held_most=None,
        held_least=None,
    )
    return replace(facts, **changes)


def generator(**changes: Any) -> GeneratorStats:
    """Return the figures of two workers at ease."""
    facts = GeneratorStats(
        workers_expected=2,
        workers_connected=2,
        workers_lost=0,
        reports_missing=0,
        cpu_share=0.2,
        cpu_cores=0.2,
        run_delay_share=0.02,
        stolen_share=0.01,
        loop_lag_mean_us=200,
        loop_lag_p50_us=100,
        loop_lag_p99_us=1_500,
        loop_lag_p999_us=4_000,
        loop_lag_max_us=9_000,
        ports_used=700,
        ports_available=28_232,
        overflows=0,
    )
    return replace(facts, **changes)


_OF_SUMMARY = frozenset(field.name for field in fields(RunSummary))


def trial(succeeded: int = 600, failed: int = 0, **changes: Any) -> Trial:
    """Return the trial of so many iterations, after a warm-up of WARM_UP_LOGINS; all logins succeed."""
    logins = succeeded + failed
    facts = Trial(
        number=1,
        amount=20.0,
        end=RunEnd.COMPLETED,
        state=None,
        message="",
        invalidity=None,
        thresholds=(),
        started_s=0.0,
        load=load(succeeded, failed),
        steps=(*steps(WARM_UP_LOGINS, 0, Window.WARM_UP), *steps(succeeded, failed)),
        errors=errors(failed),
        negotiated=(NegotiatedCount(NEGOTIATED, logins + WARM_UP_LOGINS),),
        generator=generator(),
        target_before=target_stats(0),
        target_held=None,
        target_after=target_stats(logins + WARM_UP_LOGINS),
    )
    return replace(facts, **changes)


def summary(succeeded: int = 600, failed: int = 0, **changes: Any) -> RunSummary:
    """Return the summary of a run of that trial. `changes` are fields of the trial or of the summary."""
    logins = succeeded + failed
    facts = RunSummary(
        run_id=RUN_ID,
        end=RunEnd.COMPLETED,
        message="",
        login_failure=None,
        early_end=None,
        started_unix_s=1_800_000_000.0,
        finished_unix_s=1_800_000_035.0,
        trial=trial(succeeded, failed),
        search=None,
        series_interval_s=1.0,
        series=(),
        histograms=(
            EncodedHistogram(Timing.AUTH, Window.WARM_UP, Outcome.OK, WARM_UP_LOGINS, ""),
            EncodedHistogram(Timing.AUTH, Window.MEASURED, Outcome.OK, logins, ""),
        ),
        omitted=(),
    )
    return retold(facts, **changes)


def retold(told: RunSummary, **changes: Any) -> RunSummary:
    """Return the summary with these fields of it or of its trial; an `end` is that of both."""
    own = {name: value for name, value in changes.items() if name in _OF_SUMMARY}
    of_trial = {name: value for name, value in changes.items() if name == "end" or name not in _OF_SUMMARY}
    return replace(told, trial=replace(own.pop("trial", told.trial), **of_trial), **own)


def says_running(proxy: ApiProxy, pods: PlayedPods) -> None:
    """Let the master print a snapshot in the middle of the load."""
    (name,) = pods.names("master")
    proxy.logs[name] = running_words(_run_id(pods))


def says_summary(proxy: ApiProxy, pods: PlayedPods, found: RunSummary | None = None) -> None:
    """Let the master print what it found, after all else; without that, the summary of a run that went well."""
    (name,) = pods.names("master")
    words = summary_words(found or summary(), _run_id(pods), run_token(pods))
    proxy.logs[name] = proxy.logs.get(name, "") + words


def running_words(run_id: str) -> str:
    """Return what a master prints in the middle of its load."""
    return f"a warning of some library\n{snapshot_line(replace(snapshot(), run_id=run_id))}\n"


def summary_words(found: RunSummary, run_id: str, token: str) -> str:
    """Return what a master prints last."""
    return "".join(f"{line}\n" for line in summary_lines(replace(found, run_id=run_id), token))


def packed_words(text: bytes, token: str) -> str:
    """Return the log of a master whose summary unpacks to `text`."""
    data = b64encode(zlib.compress(text)).decode()
    chunks = [data[start : start + 12_000] for start in range(0, len(data), 12_000)]
    parts = [f'{{"sshload":"part","number":{number},"data":"{chunk}"}}' for number, chunk in enumerate(chunks)]
    proof = sha256(f"sshload results {token}".encode()).hexdigest()
    digest = sha256(data.encode()).hexdigest()
    end = f'{{"sshload":"end","parts":{len(chunks)},"sha256":"{digest}","proof":"{proof}"}}'
    return "\n".join([*parts, end, ""])


def run_token(pods: PlayedPods) -> str:
    """Return the token of the run, which its pods find in the run's Secret."""
    data: dict[str, str] = pods.cluster.get("secret", run_child_name(pods.test, _run_id(pods), Part.KEYS))["data"]
    return b64decode(data["run_token"]).decode()


def _run_id(pods: PlayedPods) -> str:
    (name,) = pods.names("master")
    run_id: str = pods.cluster.get("pod", name)["metadata"]["labels"]["sshload.dev/run-id"]
    return run_id


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
