"""The verdict on a whole summary: how the run ended, whether it can be trusted, and only then its thresholds.

The generator's own delay does not make a whole run Invalid: each threshold is judged by what the delay can change.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sshload_contract.judgement.error_rate import Attempts, attempts, held_sessions, unsure_failures
from sshload_contract.judgement.own_delay import own_delay
from sshload_contract.judgement.trial import Asked, JudgedTrial
from sshload_contract.judgement.trial import judge as judge_trial
from sshload_contract.judgement.validity import figures_spoiled
from sshload_contract.load import Load
from sshload_contract.thresholds import Judged
from sshload_contract.vocabulary import Invalidity, Outcome, RunEnd, TrialReason, Verdict, Window
from sshload_contract.wire.run_summary import EarlyEnd, RunSummary, Trial

from sshload_operator.api.targets.access import MADE_BY_THE_RUN
from sshload_operator.decision.capacity.generator_limit import by_generator_limit
from sshload_operator.decision.capacity.trials import Searched, search_of
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


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that has ended: the load of the trial that is reported, its judgement, and the search, if it was one."""

    plan: Plan
    summary: RunSummary
    load: Load
    trial: JudgedTrial
    found: Searched | None

    @property
    def tried(self) -> Attempts:
        """The attempts of the trial."""
        return attempts(self.load, self.summary.trial)

    @property
    def by_trial(self) -> Conclusion:
        """What the trial alone says."""
        trial = self.trial
        return trial.verdict, Reason(trial.reason), f"{trial.message}{_ADVICE.get(trial.reason, '')}"


def judge(plan: Plan, summary: RunSummary) -> Judgement:
    """Return the verdict, by the first rule that applies."""
    spec, load, found = plan.spec, plan.spec.load.trial_at(summary.trial.amount), search_of(plan, summary)
    asked = Asked(load, spec.thresholds, spec.managed is not None, spec.load.is_search, spec.warm_up_s)
    run = _Run(plan, summary, load, judge_trial(asked, summary.trial), found)
    verdict, reason, message = next(said for rule in _RULES if (said := rule(run)) is not None)
    if summary.early_end is not None:
        message = f"{message}. {_early(plan, summary.early_end)}"
    of_search = () if found is None else capacity_results(plan, found)
    stated = (*run.trial.thresholds, *of_search) if run.tried.ended else ()
    return Judgement(verdict, reason, message, thresholds=stated)


def _untrusted(run: _Run) -> Conclusion | None:
    reason = run.trial.reason
    return run.by_trial if isinstance(reason, Invalidity) and reason.outranks_thresholds else None


def _broken(run: _Run) -> Conclusion | None:
    return run.by_trial if run.trial.reason is TrialReason.THRESHOLD_BROKEN else None


def _not_passed(run: _Run) -> Conclusion | None:
    return run.by_trial if run.trial.verdict is not Verdict.PASSED else None


def _unreported_search(run: _Run) -> Conclusion | None:
    if run.found is not None or not run.plan.spec.load.is_search:
        return None
    message = "the master's results do not include the search. Run the test again"
    return Verdict.ERROR, Reason.RESULTS_UNREADABLE, message


def _of_search(rule: Callable[[Plan, Searched], Conclusion | None]) -> Callable[[_Run], Conclusion | None]:
    """Return a rule about a search as one about any run."""
    return lambda run: None if run.found is None else rule(run.plan, run.found)


def _early(plan: Plan, early: EarlyEnd) -> str:
    if not early.threshold:
        return f"The load ended {early.after_s:.1f} s after its start, when each user had logged in once"
    return (
        f"The load was ended {early.after_s:.1f} s after its start instead of {plan.load_s:g} s, because nothing"
        f" after that could have met this threshold: {early.threshold}"
    )


def _by_end(run: _Run) -> Conclusion | None:
    plan, summary = run.plan, run.summary
    if summary.end is RunEnd.COMPLETED:
        return None
    if summary.login_failure is not None:
        return by_login_failure(plan, summary.login_failure)
    verdict, reason, meaning = _ENDS[summary.end]
    if summary.end is RunEnd.GENERATOR_FAULT and not summary.trial.load.duration_s:
        verdict, meaning = Verdict.ERROR, "the load was not begun, because a worker cannot generate it"
    message = f"{meaning}: {summary.message}" if summary.message else meaning
    return verdict, reason, message if run.found is None else f"{message}{search_so_far(plan, run.found)}"


def _by_common_refusal(run: _Run) -> Conclusion | None:
    """Return Error if everything failed for the same reason: the test is configured wrongly and measured nothing."""
    plan, tried = run.plan, run.tried
    if tried.failed < tried.ended or tried.failed == 0:
        return None
    failed = [error for error in run.summary.trial.errors if error.window is Window.MEASURED and error.count > 0]
    outcomes = {error.outcome for error in failed}
    said = next((f" ({error.first_message})" for error in failed if error.first_message), "")
    if outcomes == {Outcome.AUTH_REJECTED}:
        # Any server on the path may have refused.
        of_servers = {path: f"{path}.{server.credentials_field}" for path, server in plan.spec.servers.items()}
        if plan.spec.users is not None and plan.spec.managed is None:
            of_servers["spec.target.external"] = "spec.client.users"
        fields = list(of_servers.values())
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


def _passed(run: _Run) -> Conclusion:
    load, held, judged = run.summary.trial.load, held_sessions(run.load, run.summary.trial), run.trial.judged
    ran = f"{load.succeeded + load.failed} iterations at {load.completed_rate:.1f}/s, {load.failed} failed"
    if held.ended:
        ran += f"; {held.ended - held.failed} of {held.ended} sessions were held to the end"
    ran += _caution(run.plan, run.summary.trial, judged)
    if not judged:
        return Verdict.PASSED, Reason.NO_THRESHOLDS, f"the run completed and no threshold was set: {ran}"
    kept = "the threshold was met" if len(judged) == 1 else f"all {len(judged)} thresholds were met"
    return Verdict.PASSED, Reason.THRESHOLDS_MET, f"{kept}: {ran}"


def _caution(plan: Plan, trial: Trial, judged: tuple[Judged, ...]) -> str:
    """Return a sentence on how much of the generator's own delay latencies may include; empty if that is little."""
    cautions = [one.caution for one in judged if one.caution]
    unsure = unsure_failures(trial)
    if unsure:
        cautions.append(f"pauses of the generator may have caused {unsure} of the failures")
    if cautions:
        return f". Caution: {'; '.join(cautions)}. {own_delay(trial).figures}"
    spoiled = None if judged else figures_spoiled(trial, plan.spec.scenario.slept_s)
    return f". Caution: {spoiled.message}" if spoiled is not None else ""


_RULES: tuple[Callable[[_Run], Conclusion | None], ...] = (
    _by_end,
    _of_search(by_generator_limit),
    _by_common_refusal,
    _untrusted,
    _unreported_search,
    _of_search(by_search),
    _broken,
    _of_search(capacity_broken),
    _not_passed,
    _of_search(capacity_kept),
    _passed,
)
"""A broken threshold outranks one that cannot be judged. An invalid run is never Passed."""
