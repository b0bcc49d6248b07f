"""What limits a server: the threshold that breaks at the lowest failing amount, and what the server lacked there."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import EXTERNAL
from runs import NEGOTIATED, load, retold, target_stats
from searches import ERRORS, P99, TRIAL_S, failed, found_118, invalid, passed, search_plan, searched, strained
from sshload_contract.steal import MachineCpu
from sshload_contract.thresholds import Terms, ThresholdResult
from sshload_contract.vocabulary import Outcome, SearchEnd, Timing, Window
from sshload_contract.wire.report import ErrorCount, NegotiatedCount
from sshload_contract.wire.run_summary import RunSummary, Trial
from sshload_operator.decision.capacity.limited_by import LimitedBy, Strain, limited_by, sentence, shortages, strain
from sshload_operator.decision.capacity.trials import search_of
from sshload_operator.state import Resource

TWO_CORES = {"cpu_limit_cores": 2.0}
HALF_A_CORE = {"cpu_limit_cores": 0.5}
MEMORY = {"memory_limit_bytes": 500_000_000}
# What each resource's shortage looks like, and the figure that must stand there.
SHORT: dict[str, tuple[Resource, Trial, str]] = {
    "cpu": (Resource.CPU, strained(121, cpu_s=76, limits=TWO_CORES), "1.90 of its limit of 2 cores (95%)"),
    "cpu-in-bursts": (
        Resource.CPU,
        strained(121, cpu_s=40, cpu_throttled_s=9, limits=TWO_CORES),
        "limit of 2 cores held it up for 9.0 s in 40.0 s",
    ),
    "cpu-at-the-limit": (
        Resource.CPU,
        strained(121, cpu_s=72, limits=TWO_CORES),
        "it used 1.80 of its limit of 2 cores (90%)",
    ),
    "part-of-a-core-in-bursts": (
        Resource.CPU,
        strained(121, cpu_s=10, cpu_throttled_s=4.1, limits=HALF_A_CORE),
        "its limit of 0.5 cores held it up for 4.1 s in 40.0 s, summed over the CPUs that it ran on",
    ),
    "memory-at-the-limit": (
        Resource.MEMORY,
        strained(121, limits={**MEMORY, "memory_bytes": 450_000_000}),
        "its working set was 450 of 500 MB (90%)",
    ),
    "processes-at-the-limit": (
        Resource.PROCESSES,
        strained(121, limits={"processes": 95, "processes_limit": 100}),
        "95 processes ran, of 100 that it may have (95%)",
    ),
    "memory": (
        Resource.MEMORY,
        strained(121, limits={**MEMORY, "memory_bytes": 480_000_000}),
        "480 of 500 MB (96%)",
    ),
    "killed-for-memory": (Resource.MEMORY, strained(121, oom_kills=3), "3 of its processes were killed"),
    "processes": (
        Resource.PROCESSES,
        strained(121, limits={"processes": 98, "processes_limit": 100}),
        "98 processes ran, of 100",
    ),
    "forks": (Resource.PROCESSES, strained(121, refused_forks=7), "7 processes could not be started"),
    "max-startups": (Resource.MAX_STARTUPS, strained(121, dropped_max_startups=57), "57 connections were dropped"),
    "max-startups-at-least": (
        Resource.MAX_STARTUPS,
        strained(121, dropped_max_startups=57, limits={"dropped_is_lower_bound": True}),
        "at least 57 connections were dropped",
    ),
    "penalties": (Resource.PENALTIES, strained(121, dropped_penalty=5), "5 connections were dropped for penalties"),
    "backlog": (Resource.LISTEN_BACKLOG, strained(121, listen_overflows=11), "11 connections were lost"),
}
# Just below each limit.
AT_EASE: dict[str, Trial] = {
    "cpu-below": strained(121, cpu_s=71, limits=TWO_CORES),
    "held-up-a-little": strained(121, cpu_s=40, cpu_throttled_s=8.0, limits=TWO_CORES),
    "part-of-a-core-held-up-a-little": strained(121, cpu_s=10, cpu_throttled_s=4.0, limits=HALF_A_CORE),
    "no-core-at-all": strained(121, cpu_s=10, cpu_throttled_s=40, limits={"cpu_limit_cores": 0.0}),
    "no-cpu-limit": strained(121, cpu_s=320),
    "memory-below": strained(121, limits={**MEMORY, "memory_bytes": 440_000_000}),
    "memory-without-limit": strained(121, limits={"memory_bytes": 10**12}),
    "only-the-peak": strained(121, limits={**MEMORY, "memory_peak_bytes": 500_000_000}),
    "memory-counted-twice": strained(
        121, limits={**MEMORY, "memory_bytes": 480_000_000, "memory_is_upper_bound": True}
    ),
    "processes-below": strained(121, limits={"processes": 94, "processes_limit": 100}),
    "processes-without-limit": strained(121, limits={"processes": 10**6}),
}


def at_upper(*trials: Trial, **changes: Any) -> RunSummary:
    """Return a search whose trials at the upper bound are these."""
    return searched(passed(118), *trials, lower=118, upper=121, **changes)


def limit_of(found: RunSummary, **changes: Any) -> LimitedBy:
    plan = search_plan(**changes)
    search = search_of(plan, found)
    assert search is not None
    limit = limited_by(plan, search)
    assert limit is not None
    return limit


def broken_first(found: RunSummary) -> Terms | None:
    threshold = limit_of(found).threshold
    return None if threshold is None else threshold.terms


def short_of(found: RunSummary, **changes: Any) -> list[Resource]:
    return [shortage.resource for shortage in limit_of(found, **changes).short_of]


def test_the_threshold_that_broke_in_most_trials_at_the_upper_bound_broke_first() -> None:
    found = at_upper(failed(121, errors=True), failed(121, p99=False, errors=True), failed(121))
    assert (broken_first(found), limit_of(found).broken, limit_of(found).failed) == (P99, 2, 3)
    found = at_upper(failed(121, errors=True), failed(121, p99=False, errors=True))
    assert (broken_first(found), limit_of(found).seen) == (ERRORS, "3.5 % (21 of 600)")


def test_of_thresholds_that_broke_equally_often_the_first_of_the_spec_is_named() -> None:
    assert broken_first(at_upper(failed(121, errors=True))) == P99
    assert broken_first(at_upper(failed(121, p99=False, errors=True), failed(121))) == P99


def test_what_broke_far_above_the_limit_does_not_count() -> None:
    found = at_upper(failed(500, p99=False, errors=True), failed(121))
    assert (broken_first(found), limit_of(found).amount, limit_of(found).failed) == (P99, 121, 1)


def test_passes_at_the_upper_bound_do_not_count() -> None:
    assert limit_of(at_upper(passed(121), failed(121), invalid(121), failed(121))).failed == 2


def test_a_trial_that_failed_without_a_broken_threshold_says_itself_what_broke() -> None:
    nothing = replace(failed(121), thresholds=(), message="not one of 600 iterations succeeded")
    limit = limit_of(at_upper(nothing))
    assert (limit.threshold, limit.seen) == (None, "not one of 600 iterations succeeded")
    assert "At 121 arrivals/s, no trial held: not one of 600" in sentence(limit, search_plan())


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(searched(passed(500), end=SearchEnd.MOST_HELD, lower=500), id="nothing-failed"),
        pytest.param(searched(passed(118), lower=118, upper=121), id="nobody-tried-the-upper"),
        pytest.param(
            searched(
                replace(failed(10), thresholds=(ThresholdResult(P99, None, None),), load=load(298)),
                end=SearchEnd.LEAST_BROKEN,
                upper=10,
            ),
            id="too-few-samples-at-the-least",
        ),
    ],
)
def test_where_no_amount_is_known_to_fail_nothing_limits(found: RunSummary) -> None:
    search = search_of(search_plan(), found)
    assert search is not None
    assert limited_by(search_plan(), search) is None


@pytest.mark.parametrize(("resource", "trial", "figure"), SHORT.values(), ids=SHORT)
def test_each_shortage_is_stated_with_its_figure_and_what_to_change(
    resource: Resource, trial: Trial, figure: str
) -> None:
    limit = limit_of(at_upper(trial))
    assert [shortage.resource for shortage in limit.short_of] == [resource]
    assert figure in limit.short_of[0].figure
    assert limit.short_of[0].remedy
    assert f"short of {resource}: {limit.short_of[0].figure}" in sentence(limit, search_plan())


@pytest.mark.parametrize("trial", AT_EASE.values(), ids=AT_EASE)
def test_below_its_stated_limit_nothing_is_short(trial: Trial) -> None:
    limit = limit_of(at_upper(trial))
    assert limit.short_of == ()
    assert "short of nothing that sshload sees" in limit.message
    assert "UseDNS" in limit.message


@pytest.mark.parametrize(
    ("managed", "said"),
    [
        ({}, "what remains is the network"),
        ({"proxy": {"kind": "haproxy"}}, "what remains is the proxy before it, the network"),
        ({"gateway": {"policy": "pool"}}, "what remains is the gateway before it (its policy, its limits, its one"),
    ],
)
def test_where_nothing_is_short_what_stands_before_the_server_is_named_first(managed: Any, said: str) -> None:
    found = at_upper(strained(121, cpu_s=71, limits=TWO_CORES))
    assert said in limit_of(found, target={"managed": managed}).message


@pytest.mark.parametrize("cpu_s", [76, 20], ids=["short of CPU", "short of nothing"])
@pytest.mark.parametrize("stolen_s", [20, 1])
def test_steal_on_the_targets_machine_stands_beside_the_cores_that_were_used(cpu_s: float, stolen_s: float) -> None:
    trial = strained(121, cpu_s=cpu_s, limits={**TWO_CORES, "machine_cpu": MachineCpu(180.0, 1.0 + stolen_s)})
    before = replace(trial.target_before, machine_cpu=MachineCpu(100.0, 1.0)) if trial.target_before else None
    limit = limit_of(at_upper(replace(trial, target_before=before)))
    found = f"{limit.message} {limit.short_of}"
    told = "the host of its machine gave 25% of the machine's CPU time to others (steal)"
    assert (told in found) is (stolen_s == 20), found


def test_without_a_cpu_limit_the_cores_that_were_used_are_told() -> None:
    limit = limit_of(at_upper(AT_EASE["no-cpu-limit"]))
    assert "8.00 cores used (it has no CPU limit" in limit.message


def test_drops_that_may_be_of_an_earlier_trial_are_no_count_of_this_one() -> None:
    trial = strained(121, dropped_max_startups=57, limits={"dropped_is_lower_bound": True})
    before = replace(target_stats(0), dropped_is_lower_bound=True, cpu_s=10.0, at_unix_s=1_800_000_000.0)
    (shortage,) = limit_of(at_upper(replace(trial, target_before=before))).short_of
    assert shortage.resource is Resource.MAX_STARTUPS
    assert "sshd reported 57, and some may be of an earlier trial" in shortage.figure
    assert "at least" not in shortage.figure


def test_drops_that_the_log_may_have_kept_to_itself_are_not_denied() -> None:
    limit = limit_of(at_upper(strained(121, limits={"dropped_is_lower_bound": True})))
    assert "no connection dropped, as far as its log tells" in limit.message


def test_drops_in_too_few_trials_to_explain_them_are_not_denied_either() -> None:
    quiet, last = strained(121), strained(121, dropped_max_startups=2)
    limit = limit_of(at_upper(quiet, quiet, last))
    assert limit.short_of == ()
    assert "In the last of them: 0.00 cores used" in limit.message
    assert limit.message.endswith("2 connections dropped")


def test_what_was_held_counts_as_it_was_while_it_was_held() -> None:
    trial = strained(121, limits=MEMORY)
    held = target_stats(0, memory_bytes=490_000_000, processes=900)
    assert short_of(at_upper(replace(trial, target_held=held))) == [Resource.MEMORY]


def test_what_one_trial_of_three_shows_is_not_what_limits() -> None:
    seldom = strained(121, listen_overflows=1, cpu_s=79, limits=TWO_CORES)
    others = strained(121, cpu_s=78, limits=TWO_CORES)
    limit = limit_of(at_upper(seldom, others, others))
    assert [(shortage.resource, "98%" in shortage.figure) for shortage in limit.short_of] == [(Resource.CPU, True)]


def test_a_trial_that_broke_something_else_does_not_tell_what_was_short() -> None:
    other = replace(strained(121, oom_kills=1), thresholds=failed(121, p99=False, errors=True).thresholds)
    quiet = strained(121)
    assert short_of(at_upper(quiet, other, quiet)) == []


def test_an_external_targets_shortages_are_not_known_and_that_is_said() -> None:
    limit = limit_of(at_upper(SHORT["cpu"][1]), target={"external": EXTERNAL})
    assert limit.short_of == ()
    assert "external" in limit.message
    assert "MaxStartups" in limit.message


def test_an_external_server_that_says_why_it_drops_is_quoted_with_what_to_change() -> None:
    dropped = failed(121, errors=True, failed_by={Outcome.THROTTLED: 21, Outcome.STEP_TIMEOUT: 1})
    (shortage,) = limit_of(at_upper(dropped), target={"external": EXTERNAL}).short_of
    assert shortage.resource is Resource.MAX_STARTUPS
    assert shortage.figure == '21 of 22 failures were connections that it dropped with "Exceeded MaxStartups"'
    assert "Raise MaxStartups" in shortage.remedy


def test_an_external_server_that_says_why_it_drops_a_few_is_not_quoted() -> None:
    dropped = failed(121, errors=True, failed_by={Outcome.THROTTLED: 1, Outcome.STEP_TIMEOUT: 21})
    assert limit_of(at_upper(dropped), target={"external": EXTERNAL}).short_of == ()


@pytest.mark.parametrize("outcome", [Outcome.THROTTLED, Outcome.DROPPED_UNKNOWN])
def test_half_of_the_failures_are_not_most_of_them(outcome: Outcome) -> None:
    dropped = failed(121, errors=True, failed_by={outcome: 11, Outcome.STEP_TIMEOUT: 11})
    limit = limit_of(at_upper(dropped), target={"external": EXTERNAL})
    assert (limit.short_of, "sshload does not know what it was short of" in limit.message) == ((), True)
    more = failed(121, errors=True, failed_by={outcome: 12, Outcome.STEP_TIMEOUT: 11})
    limit = limit_of(at_upper(more), target={"external": EXTERNAL})
    assert "12 of 23 failures were connections that" in f"{limit.short_of} {limit.message}"


def test_failures_of_all_trials_at_the_upper_bound_count() -> None:
    most = failed(121, failed_by={Outcome.THROTTLED: 30})
    last = failed(121, failed_by={Outcome.STEP_TIMEOUT: 20})
    (shortage,) = limit_of(at_upper(most, last), target={"external": EXTERNAL}).short_of
    assert shortage.figure.startswith("30 of 50 failures were connections that it dropped")


def test_what_half_of_the_trials_show_is_not_what_limits() -> None:
    assert short_of(at_upper(strained(121, oom_kills=1), strained(121))) == []


def test_the_figure_is_that_of_the_last_trial_that_shows_it() -> None:
    (shortage,) = limit_of(at_upper(strained(121, oom_kills=3), strained(121, oom_kills=5), strained(121))).short_of
    assert shortage.figure == "5 of its processes were killed for lack of memory"


def test_all_drops_of_the_last_trial_are_told_where_they_do_not_explain_it() -> None:
    quiet = strained(121)
    last = strained(
        121, cpu_s=20, dropped_max_startups=2, dropped_penalty=3, listen_overflows=4, limits={"cpu_limit_cores": 3.0}
    )
    limit = limit_of(at_upper(quiet, quiet, last))
    assert limit.message.endswith("In the last of them: 0.50 of 3 cores used, 9 connections dropped")


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (MachineCpu(180.0, 1.0, cpus=8), "it has no CPU limit, and its machine has 8"),
        (MachineCpu(180.0, 1.0), "it has no CPU limit"),
        (None, "it has no CPU limit"),
    ],
)
def test_the_cpus_of_the_machine_are_told_where_there_is_no_limit_and_they_are_known(
    machine: MachineCpu | None, told: str
) -> None:
    limit = limit_of(at_upper(strained(121, cpu_s=20, limits={"machine_cpu": machine})))
    assert f"0.50 cores used ({told}), no connection dropped" in limit.message


def test_a_counter_that_is_not_known_has_not_grown() -> None:
    unknown = target_stats(0, cpu_throttled_s=None)
    for before, after in ((target_stats(0), unknown), (unknown, target_stats(0))):
        assert Strain(before, after, ()).grown("cpu_throttled_s") == 0


def test_refused_channels_of_the_worst_step_are_counted() -> None:
    more = ErrorCount("other", Outcome.CHANNEL_REFUSED, Window.MEASURED, 50, "open failed")
    other = ErrorCount("other", Outcome.STEP_TIMEOUT, Window.MEASURED, 90, "late")
    (shortage,) = limit_of(retold(LEAST, errors=(*REFUSED, more, other))).short_of
    assert shortage.figure == "50 channels were refused on connections that were logged in"


def test_what_may_be_wanting_elsewhere_is_a_sentence_of_its_own() -> None:
    external: dict[str, Any] = {"target": {"external": EXTERNAL}}
    limit = limit_of(at_upper(SHORT["cpu"][1]), **external)
    assert sentence(limit, search_plan(**external)).startswith(
        "At 121 arrivals/s, p99 of total below 2 s broke first: it was 2.41 s. The target is external, so sshload"
    )


def test_one_trial_that_failed_is_not_counted() -> None:
    limit = limit_of(at_upper(strained(121, oom_kills=1)))
    assert sentence(limit, search_plan()).startswith(
        "At 121 arrivals/s, p99 of total below 2 s broke first: it was 2.41 s. The server was short of memory: 1 of"
    )


def test_a_threshold_of_which_nothing_was_seen_broke_all_the_same() -> None:
    limit = replace(limit_of(at_upper(strained(121, oom_kills=1))), seen="")
    assert sentence(limit, search_plan()).startswith("At 121 arrivals/s, p99 of total below 2 s broke first. The")


def test_a_trial_that_says_nothing_says_nothing() -> None:
    limit = limit_of(at_upper(replace(strained(121, oom_kills=1), thresholds=(), message="")))
    assert (limit.threshold, limit.seen) == (None, "")
    assert sentence(limit, search_plan()).startswith("At 121 arrivals/s, no trial held. The server was short of")


def test_an_external_server_that_does_not_say_by_which_rule_it_drops_is_quoted_with_both() -> None:
    dropped = failed(121, errors=True, failed_by={Outcome.DROPPED_UNKNOWN: 21})
    limit = limit_of(at_upper(dropped), target={"external": EXTERNAL})
    assert limit.short_of == ()
    assert '21 of 21 failures were connections that the server dropped with "Not allowed at this time"' in limit.message
    assert "PerSourcePenalt" in limit.message


def test_a_server_that_is_not_openssh_is_not_looked_at_for_an_option_of_openssh() -> None:
    dropbear = NegotiatedCount(replace(NEGOTIATED, server_version="SSH-2.0-dropbear_2025.88"), 600)
    found = at_upper(failed(121, failed_by={Outcome.RESET_BEFORE_BANNER: 21}), negotiated=(dropbear,))
    assert "MaxStartups" not in limit_of(found, target={"external": EXTERNAL}).message


@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(failed(121, target_before=None), id="not-read-before"),
        pytest.param(failed(121, target_after=None), id="not-read-after"),
        pytest.param(strained(121, wall_s=0.0, cpu_s=9, limits=TWO_CORES), id="read-once"),
        pytest.param(strained(121, accepted=-5, oom_kills=1), id="started-anew"),
    ],
)
def test_a_target_that_was_not_counted_says_nothing(trial: Trial) -> None:
    assert "not known" in limit_of(at_upper(trial)).message
    assert short_of(at_upper(trial)) == []


REFUSED = (ErrorCount(Timing.CHANNEL_OPEN, Outcome.CHANNEL_REFUSED, Window.MEASURED, 40, "open failed"),)
LEAST = searched(failed(10), end=SearchEnd.LEAST_BROKEN, upper=10, errors=REFUSED)


def test_refused_channels_of_the_reported_trial_are_a_want_of_max_sessions() -> None:
    limit = limit_of(LEAST)
    assert [shortage.resource for shortage in limit.short_of] == [Resource.MAX_SESSIONS]
    assert "40 channels were refused" in limit.short_of[0].figure


@pytest.mark.parametrize(
    ("found", "changes"),
    [
        pytest.param(found_118(errors=REFUSED), {}, id="errors-of-another-trial"),
        pytest.param(
            retold(LEAST, errors=(replace(REFUSED[0], window=Window.WARM_UP),)), {}, id="errors-of-the-warm-up"
        ),
        pytest.param(retold(LEAST, errors=()), {}, id="no-errors"),
        pytest.param(
            LEAST,
            {
                "scenario": {
                    "steps": [{"forward": {"name": "there", "host": "db", "port": 5432, "send": "a", "expect": "b"}}]
                }
            },
            id="a-forward-may-be-refused-for-other-reasons",
        ),
        pytest.param(
            LEAST,
            {
                "scenario": {
                    "steps": [
                        {"exec": {"name": "first", "command": "true"}},
                        {"forward": {"name": "there", "host": "db", "port": 5432, "send": "a", "expect": "b"}},
                    ]
                }
            },
            id="one-of-several-steps-is-a-forward",
        ),
        pytest.param(
            LEAST,
            {"scenario": {"locustfile": {"configMapRef": {"name": "mixed"}, "key": "mixed.py"}}},
            id="a-locustfile-opens-what-it-likes",
        ),
    ],
)
def test_no_other_refused_channel_is(found: RunSummary, changes: dict[str, Any]) -> None:
    assert short_of(found, **changes) == []


_AMOUNT = st.integers(0, 10**9)
_LIMIT = st.one_of(st.none(), st.integers(1, 10**9))


@st.composite
def strains(draw: st.DrawFn) -> Strain:
    """Draw what a target may have gone through."""
    names = ("cpu_throttled_s", "oom_kills", "refused_forks", "dropped_max_startups", "dropped_penalty")
    grown: dict[str, Any] = {name: draw(st.one_of(st.just(0), _AMOUNT)) for name in (*names, "listen_overflows")}
    limits = {
        "cpu_limit_cores": draw(st.one_of(st.none(), st.floats(0.01, 128))),
        "memory_limit_bytes": draw(_LIMIT),
        "processes_limit": draw(_LIMIT),
        "memory_bytes": draw(_AMOUNT),
        "processes": draw(_AMOUNT),
        "dropped_is_lower_bound": draw(st.booleans()),
        "memory_is_upper_bound": draw(st.booleans()),
    }
    wall_s = draw(st.floats(0.1, 10**5))
    found = strain(strained(121, wall_s=wall_s, limits=limits, cpu_s=draw(st.floats(0, 10**6)), **grown))
    assert found is not None
    return found


@pytest.mark.slow
@given(found=strains())
def test_no_shortage_is_claimed_without_the_figure_that_shows_it(found: Strain) -> None:
    after, claimed = found.after, {shortage.resource: shortage.figure for shortage in shortages(found)}
    assert all(any(character.isdigit() for character in figure) for figure in claimed.values())
    shows: dict[Resource, bool] = {
        Resource.CPU: after.cpu_limit_cores is not None,
        Resource.MEMORY: found.grown("oom_kills") > 0 or after.memory_limit_bytes is not None,
        Resource.PROCESSES: found.grown("refused_forks") > 0 or after.processes_limit is not None,
        Resource.MAX_STARTUPS: found.grown("dropped_max_startups") > 0,
        Resource.PENALTIES: found.grown("dropped_penalty") > 0,
        Resource.LISTEN_BACKLOG: found.grown("listen_overflows") > 0,
    }
    assert all(shows[resource] for resource in claimed)
    certain = (Resource.MAX_STARTUPS, Resource.PENALTIES, Resource.LISTEN_BACKLOG)
    assert all(resource in claimed for resource in certain if shows[resource])


@pytest.mark.slow
@given(found=strains())
def test_shortages_always_come_in_the_same_order(found: Strain) -> None:
    order = [list(Resource).index(shortage.resource) for shortage in shortages(found)]
    assert order == sorted(set(order))


def test_the_time_of_a_trial_is_that_between_the_two_readings() -> None:
    found = strain(strained(121))
    assert found is not None
    assert found.wall_s == TRIAL_S
