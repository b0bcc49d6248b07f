"""The verdict on a whole summary: how the run ended, whether it can be trusted, and only then its thresholds.

The generator's own delay does not make a whole run Invalid: each threshold is judged by what the delay can change.
"""

from sshload_contract.judgement.error_rate import attempts, held_sessions, unsure_failures
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.trial import Asked, JudgedTrial
from sshload_contract.judgement.trial import judge as judge_trial
from sshload_contract.judgement.validity import figures_spoiled
from sshload_contract.thresholds import Judged
from sshload_contract.vocabulary import Invalidity, Outcome, RunEnd, TrialReason, Verdict, Window
from sshload_contract.wire.run_summary import EarlyEnd, RunSummary

from sshload_operator.api.targets.access import MADE_BY_THE_RUN
from sshload_operator.decision.capacity.generator_limit import by_generator_limit
from sshload_operator.decision.capacity.trials import measured_load
from sshload_operator.decision.capacity.verdict import (
    by_search,
    capacity_broken,
    capacity_kept,
    capacity_results,
    search_so_far,
)
from sshload_operator.decision.judgement import Conclusion, Judgement
from sshload_operator.decision.load_test.login_failure import by_login_failure
from sshload_operator.planning.plan import Plan
from sshload_operator.state import Reason

_ENDS: dict[RunEnd, tuple[Verdict, Reason, str]] = {
    RunEnd.WORKER_LOST: (
        Verdict.INVALID,
        Reason.WORKER_LOST,
        "a worker was lost while the load ran, so the load was not the one asked for; see why its pod ended",
    ),
    RunEnd.GENERATOR_FAULT: (Verdict.INVALID, Reason.GENERATOR_FAULT, "the load generator had a fault of its own"),
    RunEnd.WORKERS_MISSING: (
        Verdict.ERROR,
        Reason.WORKERS_MISSING,
        "not all workers connected to the master in time (spec.startTimeout)",
    ),
    RunEnd.TARGET_UNREACHABLE: (Verdict.ERROR, Reason.TARGET_UNREACHABLE, "the workers could not reach the target"),
    RunEnd.TARGET_NOT_ALLOWED: (
        Verdict.ERROR,
        Reason.TARGET_NOT_ALLOWED,
        "the load was not begun, because the chart value externalTargets does not allow its destination",
    ),
    RunEnd.LOGIN_FAILED: (Verdict.ERROR, Reason.LOGIN_FAILED, "the load was not begun, because a worker cannot log in"),
    RunEnd.STOPPED: (Verdict.ERROR, Reason.MASTER_LOST, "the master was stopped before the end of the load"),
}


_SAID_BY_ERRORS = "; status.results.errors says why"
_ADVICE: dict[TrialReason | Invalidity, str] = {
    Invalidity.NO_REQUESTS: (
        ", so there is nothing to judge. Lengthen the load, raise its rate, or shorten spec.warmUp"
    ),
    TrialReason.ALL_FAILED: _SAID_BY_ERRORS,
    TrialReason.MANY_FAILED: _SAID_BY_ERRORS,
    TrialReason.TOO_FEW_SAMPLES: ". Lengthen the load or raise its rate",
}


def judge(plan: Plan, summary: RunSummary) -> Judgement:
    """Return the verdict. A broken threshold outranks one that cannot be judged. An invalid run is never Passed."""
    load, is_searched = measured_load(plan, summary), plan.spec.load.is_search
    asked = Asked(load, plan.spec.thresholds, plan.spec.managed is not None, is_searched, plan.spec.warm_up_s)
    trial = judge_trial(asked, summary)
    verdict, reason, message = (
        _by_end(plan, summary)
        or by_generator_limit(plan, summary)
        or _by_common_refusal(plan, summary)
        or (_of_trial(trial) if _is_untrusted(trial) else None)
        or by_search(plan, summary)
        or (_of_trial(trial) if trial.reason is TrialReason.THRESHOLD_BROKEN else None)
        or capacity_broken(plan, summary)
        or (_of_trial(trial) if trial.verdict is not Verdict.PASSED else None)
        or capacity_kept(plan, summary)
        or _passed(plan, summary, trial.judged)
    )
    if summary.early_end is not None:
        message = f"{message}. {_early(plan, summary.early_end)}"
    stated = (*trial.thresholds, *capacity_results(plan, summary)) if attempts(load, summary).ended else ()
    return Judgement(verdict, reason, message, thresholds=stated)


def _is_untrusted(trial: JudgedTrial) -> bool:
    return isinstance(trial.reason, Invalidity) and trial.reason.outranks_thresholds


def _of_trial(trial: JudgedTrial) -> Conclusion:
    return trial.verdict, Reason(trial.reason), f"{trial.message}{_ADVICE.get(trial.reason, '')}"


def _early(plan: Plan, early: EarlyEnd) -> str:
    return (
        f"The load was ended {early.after_s:.1f} s after its start instead of {plan.load_s:g} s, because nothing"
        f" after that could have met this threshold: {early.threshold}"
    )


def _by_end(plan: Plan, summary: RunSummary) -> Conclusion | None:
    if summary.end is RunEnd.COMPLETED:
        return None
    if summary.login_failure is not None:
        return by_login_failure(plan, summary.login_failure)
    verdict, reason, meaning = _ENDS[summary.end]
    if summary.end is RunEnd.GENERATOR_FAULT and not summary.load.duration_s:
        verdict, meaning = Verdict.ERROR, "the load was not begun, because a worker cannot generate it"
    message = f"{meaning}: {summary.message}" if summary.message else meaning
    return verdict, reason, f"{message}{search_so_far(plan, summary)}"


def _by_common_refusal(plan: Plan, summary: RunSummary) -> Conclusion | None:
    """Return Error if everything failed for the same reason: the test is configured wrongly and measured nothing."""
    tried = attempts(measured_load(plan, summary), summary)
    if tried.failed < tried.ended or tried.failed == 0:
        return None
    failed = [error for error in summary.errors if error.window is Window.MEASURED and error.count > 0]
    outcomes = {error.outcome for error in failed}
    said = next((f" ({error.first_message})" for error in failed if error.first_message), "")
    if outcomes == {Outcome.AUTH_REJECTED}:
        # Any server on the path may have refused.
        fields = [f"{path}.{server.credentials_field}" for path, server in plan.spec.servers.items()]
        message = plan.spec.target.access.all_refused(tried.failed, said, fields)
        return Verdict.ERROR, Reason.CREDENTIALS_REJECTED, message
    if outcomes == {Outcome.HOST_KEY_MISMATCH}:
        fields = [f"{path}.knownHostsSecretRef" for path in plan.spec.servers]
        message = (
            f"a host key is not the known one{said}. Put the right key into the Secret of "
            f"{' or '.join(fields) or MADE_BY_THE_RUN}, or find out who answers in the server's place"
        )
        return Verdict.ERROR, Reason.HOST_KEY_MISMATCH, message
    return None


def _passed(plan: Plan, summary: RunSummary, judged: tuple[Judged, ...]) -> Conclusion:
    load, held = summary.load, held_sessions(measured_load(plan, summary), summary)
    ran = f"{load.succeeded + load.failed} iterations at {load.completed_rate:.1f}/s, {load.failed} failed"
    if held.ended:
        ran += f"; {held.ended - held.failed} of {held.ended} sessions were held to the end"
    ran += _caution(plan, summary, judged)
    if not judged:
        return Verdict.PASSED, Reason.NO_THRESHOLDS, f"the run completed and no threshold was set: {ran}"
    kept = "the threshold was met" if len(judged) == 1 else f"all {len(judged)} thresholds were met"
    return Verdict.PASSED, Reason.THRESHOLDS_MET, f"{kept}: {ran}"


def _caution(plan: Plan, summary: RunSummary, judged: tuple[Judged, ...]) -> str:
    """Return a sentence on how much of the generator's own delay latencies may include; empty if that is little."""
    cautions = [one.caution for one in judged if one.caution]
    unsure = unsure_failures(summary)
    if unsure:
        cautions.append(f"pauses of the generator may have caused {unsure} of the failures")
    if cautions:
        return f". Caution: {'; '.join(cautions)}. {own_delay(summary).figures}"
    spoiled = None if judged else figures_spoiled(summary, plan.spec.scenario.slept_s)
    return f". Caution: {spoiled.message}" if spoiled is not None else ""
