"""The verdict on a search: what it found, and never more than its trials say."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import EXTERNAL
from runs import errors, generator, load, steps, summary
from searches import ERRORS, P99, failed, found_118, invalid, passed, search_plan, searched, strained
from sshload_contract.thresholds import ThresholdResult
from sshload_contract.vocabulary import Invalidity, Outcome, RunEnd, SearchEnd, TrialState, Verdict
from sshload_contract.wire.run_summary import RunSummary, StepStats, Trial
from sshload_operator.api.thresholds import RelativeCapacity
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import Reason

MOST_HELD = searched(passed(10), passed(500), passed(500), end=SearchEnd.MOST_HELD, lower=500)
LEAST_BROKEN = searched(failed(10), failed(10), end=SearchEnd.LEAST_BROKEN, upper=10)


def judged(found: RunSummary, above: tuple[float, ...] = ()) -> Judgement:
    return judge(search_plan(above=above), found)


def outcome(judgement: Judgement) -> tuple[Verdict, Reason]:
    return judgement.verdict, judgement.reason


def generator_limit(*, lower: float | None = 240, why: Invalidity = Invalidity.GENERATOR_SATURATED) -> RunSummary:
    """Return a search that ended at 300, with 240 as the highest amount that passed, or none."""
    below = () if lower is None else (passed(10), passed(lower, generator=generator(cpu_share=0.6)), passed(lower))
    beyond = (invalid(300, why), invalid(300, why), invalid(300, why))
    return searched(*below, *beyond, end=SearchEnd.GENERATOR_LIMIT, lower=lower)


def test_a_capacity_that_was_found_passes_and_says_what_breaks_above_it() -> None:
    judgement = judged(found_118())
    assert outcome(judgement) == (Verdict.PASSED, Reason.CAPACITY_FOUND)
    assert judgement.message.startswith("the capacity is 118 arrivals/s (6 trials). At 121 arrivals/s, p99 of")
    assert "p99 of total below 2 s broke first: it was 2.41 s in 2 of 2 trials that failed there" in judgement.message


def test_the_thresholds_of_the_reported_trial_stand_before_those_on_the_capacity() -> None:
    judgement = judged(found_118(), above=(100, 130))
    assert [(result.terms.words, result.observed, result.met) for result in judgement.thresholds] == [
        ("p99 of total below 2 s", "90 ms", True),
        ("error rate below 1 %", "0 % (0 of 600)", True),
        ("capacity above 100 arrivals/s", "118 arrivals/s", True),
        ("capacity above 130 arrivals/s", "118 arrivals/s", False),
    ]


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        pytest.param(117.9, (Verdict.PASSED, Reason.CAPACITY_FOUND), id="kept"),
        pytest.param(118, (Verdict.FAILED, Reason.THRESHOLD_BROKEN), id="no-more-than-promised"),
        pytest.param(120, (Verdict.FAILED, Reason.THRESHOLD_BROKEN), id="between-the-bounds"),
    ],
)
def test_a_promised_capacity_is_held_against_the_lower_bound(above: float, expected: tuple[Verdict, Reason]) -> None:
    judgement = judged(found_118(), above=(above,))
    assert outcome(judgement) == expected
    assert "118 arrivals/s" in judgement.message
    assert "At 121 arrivals/s, p99 of total below 2 s broke first" in judgement.message


def test_the_most_that_was_to_be_tried_is_no_capacity() -> None:
    judgement = judged(MOST_HELD)
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.CAPACITY_ABOVE_MAX)
    assert "the capacity is 500 arrivals/s or more" in judgement.message
    assert "max" in judgement.message


def test_the_most_is_enough_where_less_was_promised() -> None:
    judgement = judged(MOST_HELD, above=(400,))
    assert outcome(judgement) == (Verdict.PASSED, Reason.THRESHOLDS_MET)
    assert judgement.thresholds[-1].observed == "500 arrivals/s or more"


def test_the_most_says_nothing_of_a_promise_of_as_much_or_more() -> None:
    judgement = judged(MOST_HELD, above=(400, 500))
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.CAPACITY_ABOVE_MAX)
    assert [result.met for result in judgement.thresholds] == [True, True, True, None]


def test_the_most_may_be_enough_for_what_is_held_against_a_baseline() -> None:
    relative = search_plan()
    relative = replace(relative, spec=replace(relative.spec, relative_thresholds=(RelativeCapacity(0.1),)))
    assert judge(relative, MOST_HELD).reason is not Reason.CAPACITY_ABOVE_MAX


def test_a_server_that_fails_at_the_least_fails_and_says_what_broke() -> None:
    judgement = judged(LEAST_BROKEN, above=(10,))
    assert outcome(judgement) == (Verdict.FAILED, Reason.CAPACITY_BELOW_MIN)
    assert "below 10 arrivals/s" in judgement.message
    assert "p99 of total below 2 s broke first" in judgement.message
    assert judgement.thresholds[-1].met is False


def test_what_is_below_the_least_may_be_above_a_promise_that_is_lower_still() -> None:
    assert judged(LEAST_BROKEN, above=(5,)).thresholds[-1].met is None


def unjudged(begun: int, succeeded: int) -> Trial:
    """Return a trial of the least in which nothing broke, but p99 could not be stated."""
    said = f"p99 of total below 2 s cannot be judged: p99 needs 299 samples, there are {succeeded}"
    unknown = (ThresholdResult(P99, None, None), ThresholdResult(ERRORS, "0 %", met=True))
    counts = (succeeded, begun - succeeded)
    return replace(failed(10), thresholds=unknown, message=said, load=load(*counts), steps=steps(*counts))


def test_a_least_load_that_makes_too_few_samples_says_nothing_of_the_server() -> None:
    too_few = unjudged(begun=298, succeeded=298)
    judgement = judged(searched(too_few, too_few, end=SearchEnd.LEAST_BROKEN, upper=10), above=(50,))
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES)
    assert "p99 needs 299 samples, there are 298" in judgement.message
    assert "min" in judgement.message
    assert "short of" not in judgement.message
    assert (judgement.thresholds[-1].observed, judgement.thresholds[-1].met) == (None, None)


@pytest.mark.parametrize(
    "trials",
    [
        pytest.param([unjudged(begun=600, succeeded=20)], id="the-server-let-too-few-end-well"),
        pytest.param([unjudged(begun=100, succeeded=100), failed(10)], id="others-broke-a-threshold"),
        pytest.param([failed(10, load=load(100), steps=steps(100, 0))], id="it-broke-a-threshold-all-the-same"),
    ],
)
def test_any_other_failure_at_the_least_is_the_servers(trials: list[Trial]) -> None:
    judgement = judged(searched(*trials, end=SearchEnd.LEAST_BROKEN, upper=10))
    assert outcome(judgement) == (Verdict.FAILED, Reason.CAPACITY_BELOW_MIN)


@pytest.mark.parametrize("end", [SearchEnd.OUT_OF_TIME, SearchEnd.TOO_MANY_TRIALS, SearchEnd.RUN_ENDED])
def test_a_search_that_was_cut_short_is_inconclusive_with_the_bounds_so_far(end: SearchEnd) -> None:
    found = searched(passed(10), failed(140), passed(100), end=end, lower=100, upper=140)
    judgement = judged(found, above=(50, 140))
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.SEARCH_UNFINISHED)
    assert "after 3 trials" in judgement.message
    assert "100 to 140 arrivals/s" in judgement.message
    assert [result.met for result in judgement.thresholds[2:]] == [None, None]


def test_a_search_without_any_bound_knows_nothing() -> None:
    judgement = judged(searched(passed(10), end=SearchEnd.OUT_OF_TIME))
    assert "nothing is known" in judgement.message
    assert "spec.deadline" in judgement.message


def test_an_invalid_trial_that_was_repeated_does_not_matter_and_is_told() -> None:
    judgement = judged(found_118(invalid(118)))
    assert outcome(judgement) == (Verdict.PASSED, Reason.CAPACITY_FOUND)
    assert "7 trials, 1 of them invalid and not counted" in judgement.message


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(found_118(invalid(118), reported=3), id="the-reported-trial-is-invalid"),
        pytest.param(searched(passed(118), failed(121), lower=119, upper=121), id="nobody-tried-the-lower"),
        pytest.param(searched(passed(118), invalid(121), lower=118, upper=121, reported=1), id="upper-never-failed"),
        pytest.param(searched(passed(118), lower=118), id="found-without-an-upper"),
        pytest.param(searched(failed(121), upper=121), id="found-without-a-lower"),
        pytest.param(searched(failed(500), end=SearchEnd.MOST_HELD), id="the-most-without-a-pass"),
    ],
)
def test_a_capacity_that_rests_on_no_judged_trial_is_invalid(found: RunSummary) -> None:
    assert judged(found).verdict is Verdict.INVALID


def test_results_without_a_search_that_was_asked_for_are_unreadable() -> None:
    assert outcome(judged(summary())) == (Verdict.ERROR, Reason.RESULTS_UNREADABLE)


def test_a_run_that_ended_so_is_judged_by_that_and_tells_how_far_it_had_come() -> None:
    found = searched(passed(10), passed(80), end=SearchEnd.RUN_ENDED, lower=80, run_end=RunEnd.WORKER_LOST)
    judgement = judged(found)
    assert outcome(judgement) == (Verdict.INVALID, Reason.WORKER_LOST)
    assert "The search had come to 80 arrivals/s or more, in 2 trials" in judgement.message


def test_where_every_login_of_the_least_is_refused_the_test_is_set_up_wrongly() -> None:
    refused = errors(600, Outcome.AUTH_REJECTED, "no such user")
    found = searched(
        failed(10), end=SearchEnd.LEAST_BROKEN, upper=10, errors=refused, load=load(0, 600), steps=steps(0, 600)
    )
    assert outcome(judged(found)) == (Verdict.ERROR, Reason.CREDENTIALS_REJECTED)


def test_a_reported_trial_that_cannot_be_trusted_makes_the_run_invalid() -> None:
    found = found_118(generator=generator(reports_missing=1))
    assert outcome(judged(found)) == (Verdict.INVALID, Reason.REPORTS_MISSING)


def test_a_capacity_whose_percentile_has_too_few_samples_is_inconclusive() -> None:
    def without_p99(step: StepStats) -> StepStats:
        return replace(step, percentiles_us={**step.percentiles_us, "99": None})

    assert outcome(judged(found_118(steps=tuple(map(without_p99, steps(600, 0)))))) == (
        Verdict.INCONCLUSIVE,
        Reason.TOO_FEW_SAMPLES,
    )


def test_held_sessions_are_judged_by_the_amount_of_the_reported_trial() -> None:
    """The plan's own load is that of the least: 10 sessions, of which 100 held would be ten times too many."""
    held = replace(steps(100, 0)[-1], step="held.hold")
    found = found_118(steps=(*steps(600, 0), held))
    judgement = judge(search_plan("hold"), found)
    assert outcome(judgement) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)
    assert "18 of 718" in judgement.message


def test_a_broken_threshold_of_the_reported_trial_outranks_a_capacity() -> None:
    *others, total = steps(600, 0)
    slow = (*others, replace(total, percentiles_us={**total.percentiles_us, "99": 3_000_000}))
    assert outcome(judged(found_118(steps=slow))) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


def test_the_generators_limit_is_invalid_and_says_how_many_workers_it_takes_from_what_the_last_ones_used() -> None:
    judgement = judged(generator_limit())
    assert outcome(judgement) == (Verdict.INVALID, Reason.GENERATOR_SATURATED)
    assert "the capacity is 240 arrivals/s or more" in judgement.message
    assert "trials at 300 arrivals/s cannot be judged (3 of 3)" in judgement.message
    # 2 workers at 60 % for 240; 300 at 72 % of a core each (80 % of the limit of 90 %) takes 2.08 workers, 500 3.47
    assert "about 3 workers with a core each (spec.workers.replicas), 500 arrivals/s about 4" in judgement.message
    assert "at 240 arrivals/s the busiest of 2 used 60% of the CPU that it may use" in judgement.message


@pytest.mark.parametrize(
    ("used", "workers"), [(0.7, 3), (0.9, 4), (1.2, 5)], ids=["below-the-limit", "at-the-limit", "above-it"]
)
def test_the_busier_the_workers_were_the_more_it_takes(used: float, workers: int) -> None:
    busy = searched(
        passed(240, generator=generator(cpu_share=used)),
        *[invalid(300)] * 3,
        end=SearchEnd.GENERATOR_LIMIT,
        lower=240,
    )
    assert f"about {workers} workers" in judged(busy).message


@pytest.mark.parametrize(
    ("share", "told"),
    [
        pytest.param(0.43, "others took (ready to run and not run for 43% of the time). Give", id="told"),
        pytest.param(None, "others took. Give", id="not told"),
    ],
)
def test_workers_that_had_idle_cpu_lack_no_cores_but_the_time_that_others_took(share: float | None, told: str) -> None:
    found = searched(
        passed(240, generator=generator(cpu_share=0.2)),
        *[invalid(300, Invalidity.LATE_ARRIVALS, generator=generator(run_delay_share=share))] * 3,
        end=SearchEnd.GENERATOR_LIMIT,
        lower=240,
    )
    judgement = judged(found)
    assert outcome(judgement) == (Verdict.INVALID, Reason.LATE_ARRIVALS)
    assert told in judgement.message
    assert "would need about" not in judgement.message


def test_workers_of_one_pod_are_counted_in_pods_too() -> None:
    made = search_plan(workers={"replicas": 1, "processesPerPod": 2})
    assert "about 3 workers with a core each (2 pods of 2)" in judge(made, generator_limit()).message


def test_a_generator_that_never_kept_up_takes_at_least_one_worker_more() -> None:
    judgement = judged(generator_limit(lower=None))
    assert judgement.verdict is Verdict.INVALID
    assert "300 arrivals/s would need 3 workers with a core each (spec.workers.replicas) or more" in judgement.message
    assert "the capacity is" not in judgement.message


def test_source_ports_take_more_pods_and_not_more_cores() -> None:
    ports = {"ports_available": 10_000}
    found = searched(
        passed(240, generator=generator(ports_used=8_000, **ports)),
        *[invalid(300, Invalidity.SOURCE_PORTS_USED_UP, generator=generator(ports_used=10_000, **ports))] * 3,
        end=SearchEnd.GENERATOR_LIMIT,
        lower=240,
    )
    judgement = judged(found)
    assert outcome(judgement) == (Verdict.INVALID, Reason.SOURCE_PORTS_USED_UP)
    # 2 pods at 8,000 for 240 are 20,000 for 300, at 7,200 each (80 % of the limit of 90 %)
    assert "about 3 pods" in judgement.message


def test_where_all_workers_share_an_address_more_of_them_have_no_more_ports() -> None:
    made = search_plan()
    made = replace(made, installation=replace(made.installation, one_address=True))
    assert "in a cluster" in judge(made, generator_limit(why=Invalidity.SOURCE_PORTS_USED_UP)).message


@pytest.mark.parametrize(
    "why", [kind for kind in Invalidity if kind not in (Invalidity.GENERATOR_SATURATED, Invalidity.LATE_ARRIVALS)]
)
def test_no_other_invalidity_is_answered_with_cores(why: Invalidity) -> None:
    judgement = judged(generator_limit(why=why))
    assert outcome(judgement) == (Verdict.INVALID, Reason(why))
    assert "core each" not in judgement.message


@pytest.mark.parametrize("times", [1, 2])
def test_an_amount_that_was_judged_after_all_is_not_the_generators_limit(times: int) -> None:
    beyond = [invalid(300)] * 3
    found = searched(
        *[invalid(100)] * times, passed(100), passed(240), *beyond, end=SearchEnd.GENERATOR_LIMIT, lower=240
    )
    assert "trials at 300 arrivals/s cannot be judged (3 of 3)" in judged(found).message


def test_stolen_cpu_time_takes_another_machine_and_is_not_taken_for_the_generators_limit_where_one_was_judged() -> None:
    """Five of six trials of 100 were stolen, and the sixth passed: it was never given up, as those of 300 were."""
    stolen = Invalidity.CPU_STOLEN
    below = [*[invalid(100, stolen)] * 5, passed(100), passed(240)]
    judgement = judged(searched(*below, *[invalid(300, stolen)] * 12, end=SearchEnd.GENERATOR_LIMIT, lower=240))
    assert outcome(judgement) == (Verdict.INVALID, Reason.CPU_STOLEN)
    assert "trials at 300 arrivals/s cannot be judged (12 of 12). Use another machine" in judgement.message
    assert "would need about" not in judgement.message


@pytest.mark.parametrize(
    ("above", "kept"), [((), ""), ((100,), ", as required"), ((100, 110), ", as 2 thresholds require")], ids=str
)
def test_a_capacity_says_how_many_thresholds_it_keeps(above: tuple[float, ...], kept: str) -> None:
    assert judged(found_118(), above).message.startswith(f"the capacity is 118 arrivals/s{kept} (6 trials)")


def test_a_capacity_is_a_plain_number_for_programs_only_if_it_was_found() -> None:
    found, most = judged(found_118(), above=(100,)).thresholds[-1], judged(MOST_HELD, above=(400,)).thresholds[-1]
    assert (found.value, found.low, found.high) == (118, 118, 121)
    assert (most.value, most.low, most.high) == (None, 500, None)


def test_a_run_that_ended_before_any_bound_says_so() -> None:
    found = searched(invalid(10), end=SearchEnd.RUN_ENDED, run_end=RunEnd.WORKER_LOST)
    assert "The search had come to no bound yet, in 1 trial, 1 of them invalid" in judged(found).message


def test_a_server_that_fails_at_the_least_without_a_bound_has_no_known_capacity() -> None:
    assert judged(searched(failed(10), end=SearchEnd.LEAST_BROKEN)).message.startswith("the capacity is not known,")


@pytest.mark.parametrize(
    ("why", "reason"),
    [(Invalidity.CPU_STOLEN, Reason.CPU_STOLEN), (None, Reason(Invalidity.GENERATOR_FAULT))],
    ids=["it says why", "it does not"],
)
def test_a_reported_trial_that_could_not_be_judged_gives_its_reason(why: Invalidity | None, reason: Reason) -> None:
    reported = replace(invalid(118), invalidity=why)
    assert outcome(judged(found_118(reported, reported=3))) == (Verdict.INVALID, reason)


def limit_of(*trials: Trial, lower: float | None = None) -> str:
    """Return what is said of a search by two workers that ended at the generator's limit."""
    return judged(searched(*trials, end=SearchEnd.GENERATOR_LIMIT, lower=lower)).message


def test_the_cores_are_those_of_the_judged_trial_next_below() -> None:
    below = passed(100, generator=generator(cpu_share=0.5))
    above = failed(400, generator=generator(cpu_share=0.9))
    said = limit_of(passed(10), below, *[invalid(300)] * 3, above, lower=100)
    assert "300 arrivals/s would need about 5 workers with a core each (spec.workers.replicas)" in said
    assert "at 100 arrivals/s the busiest of 2 used 50% of the CPU that it may use" in said


def using(amount: float, cpu_share: float | None) -> Trial:
    return passed(amount, generator=generator(cpu_share=cpu_share))


@pytest.mark.parametrize(
    "below",
    [
        pytest.param([using(240, 0.6), invalid(250)], id="one above it could not be judged"),
        pytest.param([using(240, 0.6), using(300, 0.7)], id="one of the limit was judged"),
        pytest.param([using(100, 0.9), using(240, 0.6)], id="a lower one cost more"),
        pytest.param([using(240, 0.2), using(240, 0.6)], id="the first of it cost less"),
        pytest.param([using(240, 0.6), using(240, 0.2)], id="the last of it cost less"),
        pytest.param([using(240, None), using(240, 0.6)], id="the first of it was too short to tell"),
        pytest.param([using(240, 0.6), using(240, None)], id="the last of it was too short to tell"),
    ],
)
def test_of_the_judged_trials_of_the_highest_amount_below_the_busiest_tells_the_cores(below: list[Trial]) -> None:
    said = limit_of(*below, *[invalid(300)] * 12, lower=240)
    assert "300 arrivals/s would need about 3 workers" in said
    assert "at 240 arrivals/s the busiest of 2 used 60%" in said


def test_as_many_workers_as_there_are_should_be_enough() -> None:
    """2 workers at 57 % for 240 are 1.98 at 72 % of a core for 300."""
    said = limit_of(passed(240, generator=generator(cpu_share=0.57)), *[invalid(300)] * 3, lower=240)
    assert "The number of workers should be enough: at 240 arrivals/s the busiest of 2 used 57%" in said
    more = limit_of(passed(240, generator=generator(cpu_share=0.58)), *[invalid(300)] * 3, lower=240)
    assert "would need about 3 workers" in more


def test_what_the_most_would_need_is_told_where_that_is_more() -> None:
    said = limit_of(passed(240, generator=generator(cpu_share=0.6)), *[invalid(500)] * 3, lower=240)
    assert "500 arrivals/s would need about 4 workers with a core each (spec.workers.replicas): at 240" in said


@pytest.mark.parametrize(("cpu_share", "workers"), [(0.1, 3), (2.0, 6)], ids=["idle", "busy"])
def test_a_generator_that_never_kept_up_is_told_a_rough_number(cpu_share: float, workers: int) -> None:
    said = limit_of(*[invalid(300, generator=generator(cpu_share=cpu_share))] * 3)
    assert f"300 arrivals/s would need {workers} workers with a core each (spec.workers.replicas) or more" in said
    assert "This is a rough estimate, because no trial could be judged" in said


def test_trials_that_are_too_short_to_see_the_cpu_are_to_be_longer() -> None:
    said = limit_of(*[invalid(300, generator=generator(cpu_share=None))] * 3)
    assert (
        "Trials of less than a second do not show how many workers 300 arrivals/s would need: lengthen the load" in said
    )


@pytest.mark.parametrize(
    ("used", "available", "pods"), [(10_000, 10_000, 3), (100, 10_000, 3), (30_000, 10_000, 9), (10, 0, 28)]
)
def test_without_a_judged_trial_ports_are_those_of_the_last_one(used: int, available: int, pods: int) -> None:
    """Two pods have so many ports each, of which 72 % are to be used; it takes one pod more at least."""
    ports = generator(ports_used=used, ports_available=available)
    said = limit_of(*[invalid(300, Invalidity.SOURCE_PORTS_USED_UP, generator=ports)] * 3)
    assert (
        f"300 arrivals/s would need about {pods} pods (spec.workers.replicas): each has its own address with"
        f" {available} source ports"
    ) in said


def test_of_amounts_that_were_given_up_the_lowest_is_the_limit_and_its_last_trial_speaks() -> None:
    last = invalid(300, message="the last of 300")
    others = (invalid(200), *[invalid(400)] * 3, invalid(300), last, *[invalid(350)] * 3)
    said = limit_of(passed(100), *others, lower=100)
    assert "trials at 300 arrivals/s cannot be judged (2 of 2)" in said
    assert said.endswith("The last one says: the last of 300")


def test_without_an_amount_that_was_given_up_it_is_the_last_trial_that_could_not_be_judged() -> None:
    said = limit_of(passed(100), invalid(300), invalid(200, message="the last of all"), lower=100)
    assert "trials at 200 arrivals/s cannot be judged (1 of 1)" in said


def test_a_generators_limit_without_a_trial_that_could_not_be_judged_is_a_contradiction() -> None:
    judgement = judged(searched(passed(100), end=SearchEnd.GENERATOR_LIMIT, lower=100))
    assert outcome(judgement) == (Verdict.INVALID, Reason.COUNTS_DISAGREE)
    assert "it has no such trial. Run the test again" in judgement.message


def test_a_trial_that_does_not_say_why_it_cannot_be_judged_is_the_generators_fault() -> None:
    judgement = judged(
        searched(passed(100), *[replace(invalid(300), invalidity=None)] * 3, end=SearchEnd.GENERATOR_LIMIT, lower=100)
    )
    assert outcome(judgement) == (Verdict.INVALID, Reason(Invalidity.GENERATOR_FAULT))
    assert "See the logs of the workers and of the target" in judgement.message


_AMOUNTS = (10.0, 100.0, 118.0, 121.0, 500.0)
_TRIALS = st.sampled_from(
    [make(amount) for amount in _AMOUNTS for make in (passed, failed, invalid)]
    + [strained(121, cpu_s=80, limits={"cpu_limit_cores": 2.0})]
)
_BOUND = st.one_of(st.none(), st.sampled_from(_AMOUNTS))


@st.composite
def searches(draw: st.DrawFn) -> RunSummary:
    """Draw a search with whatever bounds, and whatever trials."""
    return searched(
        *draw(st.lists(_TRIALS, max_size=8)),
        end=draw(st.sampled_from(SearchEnd)),
        lower=draw(_BOUND),
        upper=draw(_BOUND),
        reported=draw(st.integers(0, 9)),
    )


@pytest.mark.slow
@given(found=searches(), above=st.sampled_from([(), (50,), (118,), (400,)]), external=st.booleans())
def test_whatever_a_search_says_it_passes_only_by_a_trial_that_passed_at_its_lower_bound(
    found: RunSummary, above: tuple[float, ...], *, external: bool
) -> None:
    changes: dict[str, Any] = {"target": {"external": EXTERNAL}} if external else {}
    judgement = judge(search_plan(above=above, **changes), found)
    assert judgement.message
    if judgement.verdict is Verdict.PASSED:
        assert found.search is not None
        assert found.search.end in (SearchEnd.FOUND, SearchEnd.MOST_HELD)
        seen = {(trial.amount, trial.state) for trial in found.trials}
        assert (found.search.lower, TrialState.PASSED) in seen
        assert all(result.met for result in judgement.thresholds)
