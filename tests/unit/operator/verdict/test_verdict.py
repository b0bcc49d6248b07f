"""The verdict on a summary: did it end as it should, can it be trusted, and only then: was the promise kept."""

from dataclasses import replace
from typing import Any

import pytest
from plans import EXTERNAL, plan, quickstart
from runs import WARM_UP_LOGINS, errors, generator, held_step, load, retold, steps, summary, target_stats
from specs.external import USERS_OF_A_SECRET
from specs.gateway import GATEWAY
from sshload_contract.judgement.error_rate import Attempts
from sshload_contract.thresholds import Terms
from sshload_contract.vocabulary import Outcome, RunEnd, Timing, Verdict, Window
from sshload_contract.wire.report import ErrorCount
from sshload_contract.wire.run_summary import EarlyEnd, RunSummary
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import Reason

P99_BELOW_2S = {"latency": {"step": "total", "percentile": 99, "below": "2s"}}
P99_BELOW_1MS = {"latency": {"step": "total", "percentile": 99, "below": "1ms"}}
ERRORS_BELOW_1_PERCENT = {"errorRate": {"below": "1%"}}
THROUGHPUT_ABOVE_19 = {"throughput": {"above": 19}}


def judged(found: RunSummary, *thresholds: Any, external: bool = False) -> Judgement:
    changes: dict[str, Any] = {"thresholds": list(thresholds)}
    if external:
        changes["target"] = {"external": EXTERNAL}
    return judge(plan(quickstart(**changes)), found)


def outcome(judgement: Judgement) -> tuple[Verdict, Reason]:
    return judgement.verdict, judgement.reason


def too_few(found: RunSummary) -> RunSummary:
    """Return the summary with no p99 of total."""
    kept = [step for step in found.trial.steps if (step.step, step.window) != (Timing.TOTAL, Window.MEASURED)]
    total = next(step for step in found.trial.steps if (step.step, step.window) == (Timing.TOTAL, Window.MEASURED))
    return retold(found, steps=(*kept, replace(total, percentiles_us={**total.percentiles_us, "99": None})))


def test_a_sound_run_that_keeps_all_promises_passes() -> None:
    judgement = judged(summary(), P99_BELOW_2S, ERRORS_BELOW_1_PERCENT, THROUGHPUT_ABOVE_19)
    assert outcome(judgement) == (Verdict.PASSED, Reason.THRESHOLDS_MET)
    assert [result.met for result in judgement.thresholds] == [True, True, True]


def test_each_threshold_says_what_was_promised_and_what_was_seen() -> None:
    judgement = judged(summary(599, 1), P99_BELOW_2S, ERRORS_BELOW_1_PERCENT, THROUGHPUT_ABOVE_19)
    assert [(result.terms.words, result.observed) for result in judgement.thresholds] == [
        ("p99 of total below 2 s", "90 ms"),
        ("error rate below 1 %", "0.1667 % (1 of 600)"),
        ("throughput above 19/s", "19.97/s"),
    ]


def test_a_run_without_thresholds_passes_for_having_completed() -> None:
    assert outcome(judged(summary())) == (Verdict.PASSED, Reason.NO_THRESHOLDS)


@pytest.mark.parametrize(
    ("found", "threshold"),
    [
        pytest.param(summary(), P99_BELOW_1MS, id="too-slow"),
        pytest.param(summary(588, 12), ERRORS_BELOW_1_PERCENT, id="too-many-errors"),
        pytest.param(summary(560), THROUGHPUT_ABOVE_19, id="too-few-per-second"),
    ],
)
def test_a_broken_threshold_fails(found: RunSummary, threshold: Any) -> None:
    judgement = judged(found, threshold)
    assert outcome(judgement) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)
    assert judgement.thresholds[0].met is False
    assert str(judgement.thresholds[0].observed) in judgement.message


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param(summary(10), "0 % (0 of 10). With 95 % confidence that takes 299 iterations", id="few"),
        pytest.param(summary(590, 10), "takes 811 iterations with as many failures in a hundred", id="somewhat-above"),
        pytest.param(summary(597, 3), "takes 1050 iterations with as many failures in a hundred", id="somewhat-below"),
        pytest.param(summary(594, 6), "It is just at the limit", id="at-the-limit"),
    ],
)
def test_an_error_rate_that_may_be_chance_is_inconclusive(found: RunSummary, says: str) -> None:
    judgement = judged(found, ERRORS_BELOW_1_PERCENT)
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.WITHIN_NOISE)
    assert judgement.thresholds[0].met is None
    assert says in judgement.message


def test_a_tenth_may_fail_where_nothing_is_promised_about_errors() -> None:
    assert outcome(judged(summary(541, 59))) == (Verdict.PASSED, Reason.NO_THRESHOLDS)
    assert outcome(judged(summary(540, 60), P99_BELOW_2S)) == (Verdict.FAILED, Reason.MANY_FAILED)
    assert outcome(judged(summary(15, 385))) == (Verdict.FAILED, Reason.MANY_FAILED)
    assert outcome(judged(summary(15, 385), {"errorRate": {"below": "100%"}})) == (
        Verdict.PASSED,
        Reason.THRESHOLDS_MET,
    )


def test_a_fault_that_keeps_the_load_from_beginning_is_an_error_and_not_an_invalid_measurement() -> None:
    never_begun = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.GENERATOR_FAULT, message="no such key")
    judgement = judged(never_begun)
    assert outcome(judgement) == (Verdict.ERROR, Reason.GENERATOR_FAULT)
    assert "was not begun" in judgement.message
    assert "no such key" in judgement.message


def test_a_worker_that_was_lost_before_the_load_began_was_lost_all_the_same() -> None:
    never_begun = summary(0, steps=(), load=load(0, duration_s=0.0), end=RunEnd.WORKER_LOST, message="worker 1 left")
    judgement = judged(never_begun)
    assert outcome(judgement) == (Verdict.INVALID, Reason.WORKER_LOST)
    assert judgement.message.startswith("a worker was lost while the load ran")


HOLD = {"hold": {"sessions": 50, "rampUp": "5s", "duration": "30s", "probeRate": 20}}


def held(to_the_end: int, found: RunSummary | None = None) -> RunSummary:
    """Return a summary of 50 sessions, of which so many were held to the end, beside probes that went well."""
    probes = found or summary()
    return retold(probes, steps=(*probes.trial.steps, held_step("held.hold", to_the_end, 50 - to_the_end)))


def judged_hold(found: RunSummary, *thresholds: Any) -> Judgement:
    return judge(plan(quickstart(load=HOLD, thresholds=list(thresholds))), found)


def test_held_sessions_that_are_lost_are_errors_beside_the_probes() -> None:
    judgement = judged_hold(held(37), ERRORS_BELOW_1_PERCENT)
    assert outcome(judgement) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)
    assert judgement.thresholds[0].observed == "2 % (13 of 650)"


def test_a_session_that_never_logged_in_was_not_held_either() -> None:
    none_begun = retold(summary(), steps=tuple(step for step in summary().trial.steps if "held" not in step.step))
    judgement = judged_hold(none_begun, {"errorRate": {"below": "50%"}})
    assert judgement.thresholds[0].observed == "7.692 % (50 of 650)"


def test_sessions_that_are_all_held_to_the_end_pass() -> None:
    judgement = judged_hold(held(50), ERRORS_BELOW_1_PERCENT)
    assert outcome(judgement) == (Verdict.PASSED, Reason.THRESHOLDS_MET)
    assert "50 of 50 sessions were held to the end" in judgement.message


def test_of_sessions_some_of_which_were_lost_those_that_were_held_are_told() -> None:
    assert "; 48 of 50 sessions were held to the end" in judged_hold(held(48)).message


def test_a_test_that_held_no_session_fails_whatever_it_promised() -> None:
    assert outcome(judged_hold(held(0))) == (Verdict.FAILED, Reason.ALL_FAILED)


def test_held_sessions_can_be_judged_without_any_probe() -> None:
    without_probes = summary(0, steps=(), load=load(0))
    assert outcome(judged_hold(held(50, without_probes))) == (Verdict.PASSED, Reason.NO_THRESHOLDS)


def test_sessions_that_are_all_refused_for_their_credentials_are_an_error_of_the_test() -> None:
    refused = (ErrorCount("held.auth", Outcome.AUTH_REJECTED, Window.MEASURED, 50, "no"),)
    without_probes = summary(0, steps=(), load=load(0), errors=refused)
    assert outcome(judged_hold(held(0, without_probes)))[1] is Reason.CREDENTIALS_REJECTED


def test_a_percentile_of_too_few_samples_is_inconclusive_and_says_how_many_it_needs() -> None:
    judgement = judged(too_few(summary(200)), P99_BELOW_2S)
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES)
    assert "needs 299 samples, there are 200" in judgement.message
    assert (judgement.thresholds[0].observed, judgement.thresholds[0].met) == (None, None)


def test_a_step_that_was_never_begun_cannot_be_judged() -> None:
    found = retold(summary(), steps=tuple(step for step in summary().trial.steps if step.step != Timing.EXEC))
    judgement = judged(found, {"latency": {"step": "exec", "percentile": 50, "below": "2s"}})
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES)
    assert "there are 0" in judgement.message


def test_a_broken_threshold_outranks_an_inconclusive_one() -> None:
    judgement = judged(too_few(summary(190, 10)), P99_BELOW_2S, ERRORS_BELOW_1_PERCENT)
    assert outcome(judgement) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


def test_what_the_warm_up_showed_is_not_judged() -> None:
    slow = tuple(
        replace(step, percentiles_us={**step.percentiles_us, "99": 9_000_000})
        if step.window is Window.WARM_UP
        else step
        for step in summary().trial.steps
    )
    assert judged(retold(summary(), steps=slow), P99_BELOW_2S).verdict is Verdict.PASSED


def test_a_run_in_which_nothing_worked_fails_whatever_was_promised() -> None:
    assert outcome(judged(summary(0, 600))) == (Verdict.FAILED, Reason.ALL_FAILED)


def test_a_load_that_was_ended_early_says_when_and_why_beside_its_verdict() -> None:
    cut_short = replace(summary(0, 30), early_end=EarlyEnd(7.5, "error rate below 1 %"))
    judgement = judged(cut_short, {**ERRORS_BELOW_1_PERCENT, "abortOnFail": True})
    assert outcome(judgement) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)
    assert "error rate below 1 %, but it was 100 % (30 of 30)" in judgement.message
    assert "The load was ended 7.5 s after its start instead of 35 s" in judgement.message


@pytest.mark.parametrize(
    ("end", "verdict", "reason"),
    [
        (RunEnd.WORKER_LOST, Verdict.INVALID, Reason.WORKER_LOST),
        (RunEnd.GENERATOR_FAULT, Verdict.INVALID, Reason.GENERATOR_FAULT),
        (RunEnd.WORKERS_MISSING, Verdict.ERROR, Reason.WORKERS_MISSING),
        (RunEnd.TARGET_UNREACHABLE, Verdict.ERROR, Reason.TARGET_UNREACHABLE),
        (RunEnd.TARGET_NOT_ALLOWED, Verdict.ERROR, Reason.TARGET_NOT_ALLOWED),
        (RunEnd.LOGIN_FAILED, Verdict.ERROR, Reason.LOGIN_FAILED),
        (RunEnd.STOPPED, Verdict.ERROR, Reason.MASTER_LOST),
    ],
)
def test_a_run_that_ended_early_is_judged_by_its_end_alone(end: RunEnd, verdict: Verdict, reason: Reason) -> None:
    judgement = judged(summary(end=end, message="worker 1 went silent"), P99_BELOW_2S)
    assert outcome(judgement) == (verdict, reason)
    assert "worker 1 went silent" in judgement.message


def test_every_end_but_completed_has_a_verdict_of_its_own() -> None:
    for end in RunEnd:
        verdict = judged(summary(end=end)).verdict
        assert (verdict is Verdict.PASSED) == (end is RunEnd.COMPLETED)


NEAR_A_PAUSE = summary(1_795, 5, errors=(ErrorCount("exec", Outcome.STEP_TIMEOUT, Window.MEASURED, 5, "late", 5),))
ERRORS_BELOW_1_OF_2000 = {"errorRate": {"below": "0.05%"}}


def test_failures_near_a_pause_of_a_generator_that_is_sound_otherwise_do_not_break_a_promise() -> None:
    judgement = judged(NEAR_A_PAUSE, ERRORS_BELOW_1_OF_2000)
    assert outcome(judgement) == (Verdict.INVALID, Reason.GENERATOR_SATURATED)
    assert "may have caused 5 of these failures" in judgement.message


def test_failures_near_a_pause_that_decide_whether_a_promise_is_kept_are_told() -> None:
    late = (ErrorCount("exec", Outcome.STEP_TIMEOUT, Window.MEASURED, 10, "late", 10),)
    judgement = judged(summary(990, 10, errors=late), ERRORS_BELOW_1_PERCENT)
    assert outcome(judgement) == (Verdict.INVALID, Reason.GENERATOR_SATURATED)
    assert "may have caused 10 of these failures" in judgement.message


def test_failures_of_the_warm_up_near_a_pause_excuse_none_of_the_measured_ones() -> None:
    late = ErrorCount("exec", Outcome.STEP_TIMEOUT, Window.WARM_UP, 100, "late", 100)
    code = ErrorCount("exec", Outcome.EXIT_CODE, Window.MEASURED, 5, "code 1")
    found = retold(NEAR_A_PAUSE, errors=(late, code))
    assert outcome(judged(found, ERRORS_BELOW_1_OF_2000)) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


def test_a_share_of_failures_at_its_limit_is_not_below_it() -> None:
    assert [Attempts(ended=1_000, failed=failed).is_below(0.01) for failed in (9, 10)] == [True, False]


def test_failures_far_from_its_pauses_break_it_whatever_else_is_near_one() -> None:
    more = ErrorCount("exec", Outcome.EXIT_CODE, Window.MEASURED, 5, "code 1")
    found = retold(
        NEAR_A_PAUSE, load=load(1_790, 10), steps=steps(1_790, 10), errors=(*NEAR_A_PAUSE.trial.errors, more)
    )
    assert outcome(judged(found, ERRORS_BELOW_1_OF_2000)) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


def test_a_run_that_passes_in_spite_of_failures_near_a_pause_says_so() -> None:
    judgement = judged(NEAR_A_PAUSE)
    assert judgement.verdict is Verdict.PASSED
    assert "pauses of the generator may have caused 5 of the failures" in judgement.message


def test_many_failures_near_a_pause_are_not_the_servers() -> None:
    late = (ErrorCount("exec", Outcome.STEP_TIMEOUT, Window.MEASURED, 100, "late", 95),)
    assert outcome(judged(summary(500, 100, errors=late))) == (Verdict.INVALID, Reason.GENERATOR_SATURATED)
    far = (replace(late[0], near_pause=5),)
    assert outcome(judged(summary(500, 100, errors=far))) == (Verdict.FAILED, Reason.MANY_FAILED)


def test_a_throughput_that_failures_near_a_pause_may_have_cost_is_not_missed() -> None:
    found = retold(NEAR_A_PAUSE, load=load(1_795, 5, duration_s=60.0, completed_rate=29.92))
    judgement = judged(found, {"throughput": {"above": 29.95}})
    assert judgement.verdict is not Verdict.FAILED


def test_a_run_without_a_request_is_invalid_and_shows_no_threshold() -> None:
    judgement = judged(summary(0, steps=(), load=load(0)), ERRORS_BELOW_1_PERCENT)
    assert outcome(judgement) == (Verdict.INVALID, Reason.NO_REQUESTS)
    assert judgement.thresholds == ()


def all_failed(*kinds: tuple[Outcome, int]) -> RunSummary:
    failed = sum(count for _, count in kinds)
    found = tuple(ErrorCount(Timing.TOTAL, kind, Window.MEASURED, count, "said so") for kind, count in kinds)
    return summary(0, failed, errors=found)


def test_credentials_that_are_always_rejected_are_an_error_of_the_setup() -> None:
    judgement = judged(all_failed((Outcome.AUTH_REJECTED, 600)), external=True)
    assert outcome(judgement) == (Verdict.ERROR, Reason.CREDENTIALS_REJECTED)
    assert "credentialsSecretRef" in judgement.message


@pytest.mark.parametrize(
    ("spec", "whose"),
    [
        ({"target": {"external": EXTERNAL}}, "spec.target.external.credentialsSecretRef"),
        (
            {"target": {"external": EXTERNAL}, "via": [EXTERNAL, EXTERNAL]},
            (
                "spec.target.external.credentialsSecretRef or spec.via[0].credentialsSecretRef or"
                " spec.via[1].credentialsSecretRef"
            ),
        ),
        ({}, "the run, which sshload made: somebody has changed it"),
        ({**USERS_OF_A_SECRET, "via": [EXTERNAL]}, "spec.client.users or spec.via[0].credentialsSecretRef"),
    ],
    ids=["external", "behind jump hosts", "managed", "of a population"],
)
def test_whoever_may_have_refused_the_credentials_is_named(spec: dict[str, Any], whose: str) -> None:
    judgement = judge(plan(quickstart(**spec)), all_failed((Outcome.AUTH_REJECTED, 600)))
    assert outcome(judgement) == (Verdict.ERROR, Reason.CREDENTIALS_REJECTED)
    assert judgement.message == (
        "every one of the 600 logins was refused for its credentials (said so). Check the user and the Secret of"
        f" {whose}"
    )


@pytest.mark.parametrize(
    ("target", "whose"),
    [
        (GATEWAY["target"], "the Secret of spec.target.gateway.tokenSecretRef"),
        ({"managed": {"gateway": {"policy": "pool"}}}, "the run, which sshload made: somebody has changed it"),
    ],
    ids=["external", "managed"],
)
def test_a_token_that_the_gateway_always_refuses_is_an_error_of_the_setup(target: Any, whose: str) -> None:
    judgement = judge(plan(quickstart(target=target)), all_failed((Outcome.AUTH_REJECTED, 600)))
    assert outcome(judgement) == (Verdict.ERROR, Reason.CREDENTIALS_REJECTED)
    assert judgement.message == (
        f"the gateway refused the token of every one of the 600 requests (said so). Check {whose}: the token may have"
        " expired"
    )


def test_only_failures_that_happened_in_the_window_tell_what_all_of_them_were() -> None:
    rejected = ErrorCount(Timing.TOTAL, Outcome.AUTH_REJECTED, Window.MEASURED, 600, "")
    others = (
        replace(rejected, outcome=Outcome.REFUSED, window=Window.WARM_UP, first_message="of the warm-up"),
        replace(rejected, outcome=Outcome.REFUSED, count=0, first_message="of none"),
    )
    judgement = judged(summary(0, 600, errors=(*others, rejected)), external=True)
    assert outcome(judgement) == (Verdict.ERROR, Reason.CREDENTIALS_REJECTED)
    assert "refused for its credentials. Check" in judgement.message


def test_a_host_key_that_is_never_the_known_one_is_an_error_of_the_setup() -> None:
    judgement = judged(all_failed((Outcome.HOST_KEY_MISMATCH, 600)), external=True)
    assert outcome(judgement) == (Verdict.ERROR, Reason.HOST_KEY_MISMATCH)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(summary(1, 599, errors=errors(599, Outcome.AUTH_REJECTED)), id="one-login-worked"),
        pytest.param(all_failed((Outcome.AUTH_REJECTED, 599), (Outcome.REFUSED, 1)), id="one-failed-otherwise"),
    ],
)
def test_credentials_that_are_sometimes_rejected_are_the_servers_failures(found: RunSummary) -> None:
    assert outcome(judged(found, ERRORS_BELOW_1_PERCENT)) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


INVALID = {
    "a-worker-lost": (summary(generator=generator(workers_lost=1)), Reason.WORKER_LOST),
    "a-worker-never-there": (summary(generator=generator(workers_connected=1)), Reason.WORKER_LOST),
    "a-report-missing": (summary(generator=generator(reports_missing=1)), Reason.REPORTS_MISSING),
    "ports": (summary(generator=generator(ports_used=25_409)), Reason.SOURCE_PORTS_USED_UP),
    "overflow": (summary(generator=generator(overflows=1)), Reason.COUNTS_DISAGREE),
    "due-but-neither-begun-nor-dropped": (summary(load=load(600, scheduled=601)), Reason.COUNTS_DISAGREE),
    "begun-but-never-ended": (summary(load=load(600, scheduled=601, started=601)), Reason.COUNTS_DISAGREE),
    "counted-but-not-timed": (summary(steps=steps(599, 0)), Reason.COUNTS_DISAGREE),
    "fewer-logins-at-the-server": (
        summary(target_after=target_stats(599 + WARM_UP_LOGINS)),
        Reason.COUNTS_DISAGREE,
    ),
    "server-silent-at-the-end": (summary(target_after=None), Reason.COUNTS_DISAGREE),
    "server-silent-at-the-start": (summary(target_before=None), Reason.COUNTS_DISAGREE),
    "the-workers-own-fault": (
        summary(599, 1, errors=errors(1, Outcome.GENERATOR_FAULT, "a system call of the worker failed")),
        Reason.GENERATOR_FAULT,
    ),
}


@pytest.mark.parametrize(("found", "reason"), INVALID.values(), ids=INVALID.keys())
@pytest.mark.parametrize("threshold", [P99_BELOW_2S, P99_BELOW_1MS], ids=["threshold-met", "threshold-broken"])
def test_a_measurement_beyond_a_limit_is_invalid_whatever_the_thresholds_say(
    found: RunSummary, reason: Reason, threshold: Any
) -> None:
    assert outcome(judged(found, threshold)) == (Verdict.INVALID, reason)


VALID = {
    "waiting-for-a-cpu-to-no-effect": summary(generator=generator(run_delay_share=0.6)),
    "ports": summary(generator=generator(ports_used=25_408)),
    "more-logins-at-the-server": summary(target_after=target_stats(605 + WARM_UP_LOGINS)),
}


@pytest.mark.parametrize("found", VALID.values(), ids=VALID.keys())
def test_a_measurement_at_the_limit_is_valid(found: RunSummary) -> None:
    assert judged(found, P99_BELOW_2S).verdict is Verdict.PASSED


DROPPED = summary(load=load(600, scheduled=601, dropped=1))


def test_arrivals_that_found_no_room_make_a_promise_that_held_worthless() -> None:
    assert outcome(judged(DROPPED, P99_BELOW_2S)) == (Verdict.INVALID, Reason.ARRIVALS_DROPPED)


def test_arrivals_that_found_no_room_make_a_run_without_promises_invalid() -> None:
    assert outcome(judged(DROPPED)) == (Verdict.INVALID, Reason.ARRIVALS_DROPPED)


def test_a_promise_broken_under_less_load_than_was_asked_for_is_broken() -> None:
    assert outcome(judged(DROPPED, P99_BELOW_1MS)) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


def test_an_external_target_has_no_counts_to_agree_with() -> None:
    found = summary(target_before=None, target_after=None)
    assert judged(found, P99_BELOW_2S, external=True).verdict is Verdict.PASSED


def test_an_invalid_run_names_every_limit_that_it_broke() -> None:
    found = summary(generator=generator(reports_missing=1, ports_used=25_409))
    message = judged(found).message
    assert "1 reports of workers never reached the master" in message
    assert "25409 of its 28232 source ports" in message


def test_each_result_says_its_terms_and_what_was_seen_for_programs() -> None:
    judgement = judged(summary(), P99_BELOW_2S, ERRORS_BELOW_1_PERCENT, THROUGHPUT_ABOVE_19)
    terms = [
        Terms("latency", 2_000, "ms", "total", 99),
        Terms("errorRate", 1, "%"),
        Terms("throughput", 19, "/s"),
    ]
    assert [result.terms for result in judgement.thresholds] == terms
    latency, errors_seen, throughput = (result.value for result in judgement.thresholds)
    assert latency is not None
    assert 0 < latency < 2_000
    assert errors_seen == 0
    assert throughput == summary().trial.load.completed_rate


def test_of_what_was_not_seen_no_value_is_told() -> None:
    (result,) = judged(too_few(summary()), P99_BELOW_2S).thresholds
    assert (result.terms, result.value) == (Terms("latency", 2_000, "ms", "total", 99), None)
