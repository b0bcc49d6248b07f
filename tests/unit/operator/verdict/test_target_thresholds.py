"""The verdict on thresholds on what a managed target itself reports: its CPU, its memory and its sessions."""

from typing import Any

import pytest
from plans import plan, quickstart
from runs import summary, target_stats
from sshload_contract.steal import MachineCpu
from sshload_contract.vocabulary import Verdict
from sshload_contract.wire.run_summary import RunSummary, ServerPoint
from sshload_operator.decision.judgement import Judgement
from sshload_operator.decision.load_test.verdict import judge
from sshload_operator.state import Reason

CPU = {"targetCpu": {"below": "80%"}}
MEMORY = {"targetMemory": {"below": "100Mi"}}
SESSIONS = {"sessions": {"below": 10}}
READ = (
    # in the warm-up of 5 s, and across its end
    ServerPoint(at_s=4.0, cores=4.0, stolen_share=None, sessions=90, memory_bytes=900_000_000),
    ServerPoint(at_s=6.0, cores=4.0, stolen_share=None, sessions=90, memory_bytes=900_000_000),
    # in the measured 30 s
    ServerPoint(at_s=8.0, cores=1.0, stolen_share=None, sessions=9, memory_bytes=50_000_000),
    ServerPoint(at_s=14.0, cores=2.0, stolen_share=None, sessions=4, memory_bytes=60_000_000),
    # across its end
    ServerPoint(at_s=36.0, cores=4.0, stolen_share=None, sessions=90, memory_bytes=900_000_000),
)


def read(limit_cores: float | None = 2.0, **changes: Any) -> RunSummary:
    found = summary(server_series=READ)
    assert found.trial.target_after is not None
    after = {"cpu_limit_cores": limit_cores, **changes}
    return summary(server_series=READ, target_after=target_stats(found.trial.target_after.accepted, **after))


def judged(found: RunSummary, *thresholds: Any, **changes: Any) -> Judgement:
    return judge(plan(quickstart(thresholds=list(thresholds), warmUp="5s", **changes)), found)


def outcome(judgement: Judgement) -> tuple[Verdict, Reason]:
    return judgement.verdict, judgement.reason


def test_what_the_target_used_in_the_measured_window_is_held_against_each_limit() -> None:
    judgement = judged(read(), {"targetCpu": {"below": "90%"}}, MEMORY, SESSIONS)
    assert outcome(judgement) == (Verdict.PASSED, Reason.THRESHOLDS_MET)
    assert [(one.terms.words, one.observed, one.value, one.met) for one in judgement.thresholds] == [
        ("CPU of the target below 90 %", "87.5 % (2 readings)", 87.5, True),
        ("memory of the target below 104.9 MB", "60 MB (2 readings)", 60_000_000, True),
        ("sessions of the target below 10", "9 (2 readings)", 9, True),
    ]


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        pytest.param(CPU, "CPU of the target below 80 %, but it was 87.5 % (2 readings)", id="CPU"),
        pytest.param(
            {"targetMemory": {"below": "60M"}},
            "memory of the target below 60 MB, but it was 60 MB (2 readings)",
            id="memory",
        ),
        pytest.param(
            {"sessions": {"below": 9}}, "sessions of the target below 9, but it was 9 (2 readings)", id="sessions"
        ),
    ],
)
def test_a_target_that_reaches_a_limit_breaks_the_threshold(threshold: Any, said: str) -> None:
    judgement = judged(read(), threshold)
    assert (*outcome(judgement), judgement.message) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN, said)


def test_without_a_limit_the_share_is_of_the_cores_of_its_machine() -> None:
    machine = MachineCpu(total_s=1_000.0, stolen_s=0.0, cpus=7)
    assert judged(read(None, machine_cpu=machine), CPU).thresholds[0].value == pytest.approx(25.0)


def test_a_share_of_an_unknown_number_of_cores_decides_nothing() -> None:
    judgement = judged(read(None, machine_cpu=None), CPU)
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.TARGET_UNREAD)
    assert "neither the target's CPU limit nor the number of its machine's cores is known" in judgement.message


@pytest.mark.parametrize("threshold", [CPU, MEMORY, SESSIONS], ids=["CPU", "memory", "sessions"])
def test_a_target_that_was_not_read_in_the_measured_window_decides_nothing(threshold: Any) -> None:
    judgement = judged(summary(server_series=READ[:2]), threshold)
    assert outcome(judgement) == (Verdict.INCONCLUSIVE, Reason.TARGET_UNREAD)
    assert judgement.message.endswith("not read within the measured window, which must last a few seconds")


def test_an_upper_bound_of_the_memory_shows_that_a_limit_was_kept_and_never_that_it_was_not() -> None:
    upper_bound = read(memory_is_upper_bound=True)
    assert judged(upper_bound, MEMORY).thresholds[0].met is True
    above = judged(upper_bound, {"targetMemory": {"below": "50Mi"}})
    assert (*outcome(above), above.thresholds[0].met) == (Verdict.INCONCLUSIVE, Reason.TARGET_UNREAD, None)
    assert above.thresholds[0].observed == "at most 60 MB (2 readings)"


def test_a_broken_threshold_outranks_a_figure_that_was_not_read() -> None:
    late = {"latency": {"step": "total", "percentile": 99, "below": "1ms"}}
    assert outcome(judged(summary(), CPU, late)) == (Verdict.FAILED, Reason.THRESHOLD_BROKEN)


def test_what_is_read_before_held_sessions_end_counts() -> None:
    judgement = judged(summary(server_series=READ, target_held=target_stats(0, sessions=40)), SESSIONS)
    assert (judgement.thresholds[0].observed, judgement.thresholds[0].met) == ("40 (3 readings)", False)
