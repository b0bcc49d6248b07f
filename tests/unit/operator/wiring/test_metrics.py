import subprocess
from typing import Any

import statuses
from prometheus_client.parser import text_string_to_metric_families
from sshload_operator.control.metrics.server import OperatorMetrics

STEP = statuses.step_json("login", {50: 20.0, 99: 50.0}, count=100, failures=1, meanMs=20.5)
RESULTS = {
    **statuses.RESULTS,
    "offeredRate": 90.0,
    "achievedRate": 89.5,
    "completedRate": 89.0,
    "errorPercent": 1.5,
    "steps": [STEP],
}


def finished(name: str = "t", completed: str = "2026-11-21T06:00:00Z", **status: Any) -> dict[str, Any]:
    done = {"phase": "Finished", "verdict": "Passed", "completionTime": completed, "results": RESULTS}
    return {"metadata": {"namespace": "ns", "name": name, "uid": "u"}, "status": {**done, **status}}


def schedule(name: str, **spec: Any) -> dict[str, Any]:
    created = "2026-11-21T05:00:00Z"
    return {"metadata": {"namespace": "ns", "name": name, "uid": "u", "creationTimestamp": created}, "spec": spec}


def samples(metrics: OperatorMetrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of a series by its labels' values, in the order of the labels' names, namespace left out."""
    found = {}
    for family in text_string_to_metric_families(b"".join(metrics.render()).decode()):
        for sample in family.samples:
            if sample.name == name:
                labels = {key: value for key, value in sample.labels.items() if key != "namespace"}
                found[tuple(labels[key] for key in sorted(labels))] = sample.value
    return found


def test_the_latencies_of_many_tests_are_one_family() -> None:
    metrics = OperatorMetrics()
    for number in range(25):
        metrics.tests.object_changed(None, finished(f"t{number}"))
    name = "sshload_test_step_latency_seconds"
    assert len(samples(metrics, f"{name}_count")) == 25
    assert b"".join(metrics.render()).count(f"# TYPE {name} ".encode()) == 1


def test_latencies_are_published_in_seconds_and_ratios_as_shares() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, finished())
    assert samples(metrics, "sshload_test_step_latency_seconds") == {
        ("0.5", "login", "t"): 0.02,
        ("0.99", "login", "t"): 0.05,
    }
    assert samples(metrics, "sshload_test_step_latency_seconds_count") == {("login", "t"): 100}
    assert samples(metrics, "sshload_test_step_latency_seconds_sum") == {("login", "t"): 2.05}
    assert samples(metrics, "sshload_test_step_failures") == {("login", "t"): 1}
    assert samples(metrics, "sshload_test_error_ratio") == {("t",): 0.015}
    assert samples(metrics, "sshload_test_verdict") == {("t", "Passed"): 1}


class _Untouchable:
    """The figures of a test that nobody has to look at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was looked at")


def test_news_of_a_running_test_cost_no_look_at_all_other_tests() -> None:
    metrics = OperatorMetrics()
    untouchable: Any = _Untouchable()
    metrics.tests.published["ns", "other"] = untouchable
    for iterations in (1, 2):
        status = {"phase": "Running", "progress": {"iterations": iterations}}
        metrics.tests.object_changed("MODIFIED", {**finished(), "status": status})
    assert metrics.tests.published["ns", "t"].phase == "Running"


def test_a_figure_that_could_not_be_stated_is_not_published() -> None:
    metrics = OperatorMetrics()
    silent = {key: value for key, value in RESULTS.items() if key != "errorPercent"}
    metrics.tests.object_changed(None, finished(results={**silent, "steps": [{**STEP, "count": 0}]}))
    metrics.tests.object_changed(None, finished("bare", results={**silent, "steps": []}))
    assert samples(metrics, "sshload_test_error_ratio") == {}


def test_moved_content_and_held_sessions_are_published_where_there_are_any() -> None:
    metrics = OperatorMetrics()
    moving = {**STEP, "step": "sftpRead", "bytesPerSecond": 11e6}
    hold = {"heldMost": 500, "heldLeast": 499}
    metrics.tests.object_changed(None, finished(results={**RESULTS, "steps": [STEP, moving], "hold": hold}))
    metrics.tests.object_changed(None, finished("bare"))
    assert samples(metrics, "sshload_test_step_bytes_per_second") == {("sftpRead", "t"): 11e6}
    assert samples(metrics, "sshload_test_held_sessions_most") == {("t",): 500}
    assert samples(metrics, "sshload_test_held_sessions_least") == {("t",): 499}


def test_a_capacity_is_published_with_its_unit_where_it_was_found_and_its_bounds_where_they_are_known() -> None:
    metrics = OperatorMetrics()
    found = {"end": "found", "unit": "arrivals/s", "value": 118, "lowerBound": 118, "upperBound": 121.5, "trials": []}
    most_held = {"end": "mostHeld", "unit": "sessions", "value": 500, "lowerBound": 500, "trials": []}
    metrics.tests.object_changed(None, finished(capacity=found))
    metrics.tests.object_changed(None, finished("most", capacity=most_held))
    metrics.tests.object_changed(None, finished("none"))
    assert samples(metrics, "sshload_test_capacity") == {("t", "arrivals/s"): 118}
    assert samples(metrics, "sshload_test_capacity_lower_bound") == {
        ("t", "arrivals/s"): 118,
        ("most", "sessions"): 500,
    }
    assert samples(metrics, "sshload_test_capacity_upper_bound") == {("t", "arrivals/s"): 121.5}


def test_tests_that_are_not_finished_are_counted() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, finished("one", phase="Running", verdict=""))
    metrics.tests.object_changed("ADDED", {"metadata": finished("two")["metadata"]})
    metrics.tests.object_changed(None, finished("three"))
    assert samples(metrics, "sshload_tests_running") == {(): 2}
    assert samples(metrics, "sshload_test_phase") == {("Running", "one"): 1, ("Pending", "two"): 1}


def test_tests_that_wait_for_their_turn_are_counted_and_those_held_back_by_request_are_not() -> None:
    metrics = OperatorMetrics()
    for number, reason in enumerate(("Queued", "Queued", "Suspended", "InstallationPaused")):
        status = {"phase": "Pending", "reason": reason}
        metrics.tests.object_changed(None, {**finished(f"t{number}"), "status": status})
    metrics.tests.object_changed(None, {**finished("begins"), "status": {"phase": "Running", "reason": "Queued"}})
    assert samples(metrics, "sshload_tests_queued") == {(): 2}


def test_the_owner_of_a_test_is_published_where_a_schedule_or_comparison_made_it() -> None:
    metrics = OperatorMetrics()
    for name, kind in (("s", "SSHLoadTestSchedule"), ("c", "SSHLoadTestComparison"), ("j", "Job")):
        version = "batch/v1" if kind == "Job" else "sshload.dev/v1alpha1"
        reference = {"apiVersion": version, "kind": kind, "name": f"of-{name}", "uid": "u", "controller": True}
        body = finished(name)
        metrics.tests.object_changed(None, {**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}})
    metrics.tests.object_changed(None, finished("alone"))
    assert samples(metrics, "sshload_test_owner_info") == {("", "of-s", "s"): 1, ("of-c", "", "c"): 1}


def test_a_schedule_says_when_it_was_created() -> None:
    metrics = OperatorMetrics()
    metrics.schedules.object_changed(None, schedule("nightly", suspend=True))
    assert samples(metrics, "sshload_schedule_created_timestamp_seconds") == {("nightly",): 1795237200}
    assert samples(metrics, "sshload_schedule_suspended") == {("nightly",): 1}
    metrics.schedules.object_changed("DELETED", schedule("nightly"))
    assert samples(metrics, "sshload_schedule_created_timestamp_seconds") == {}


def test_a_schedule_has_six_series() -> None:
    metrics = OperatorMetrics()
    times = dict.fromkeys(("lastScheduleTime", "lastSuccessfulTime"), "2026-11-21T06:00:00Z")
    metrics.schedules.object_changed(None, {**schedule("s"), "status": {**times, "lastVerdict": "Passed"}})
    assert b"".join(metrics.schedules.render()).count(b'schedule="s"') == 6


def test_nothing_is_published_of_a_deleted_test() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed("ADDED", finished())
    metrics.tests.object_changed("DELETED", finished())
    assert b'"t"' not in b"".join(metrics.render())


def test_the_deletion_of_a_former_test_that_is_told_late_leaves_what_is_published_of_the_new_one() -> None:
    metrics = OperatorMetrics()
    former, new = finished(), finished(verdict="Failed")
    new["metadata"]["uid"] = "new"
    metrics.tests.object_changed("ADDED", former)
    metrics.tests.object_changed("ADDED", new)
    metrics.tests.object_changed("DELETED", former)
    assert samples(metrics, "sshload_test_verdict") == {("t", "Failed"): 1}
    metrics.tests.object_changed("DELETED", new)
    assert samples(metrics, "sshload_test_verdict") == {}


def test_results_are_published_of_the_hundred_that_finished_last_and_verdicts_of_all() -> None:
    metrics = OperatorMetrics()
    for number in range(150):
        metrics.tests.object_changed(
            "ADDED", finished(f"t{number}", f"2026-11-21T06:{number // 60:02}:{number % 60:02}Z")
        )
    assert set(samples(metrics, "sshload_test_offered_rate")) == {(f"t{number}",) for number in range(50, 150)}
    assert len(samples(metrics, "sshload_test_verdict")) == 150


def test_results_come_back_once_newer_tests_are_deleted() -> None:
    metrics = OperatorMetrics()
    for number in range(101):
        metrics.tests.object_changed(
            "ADDED", finished(f"t{number}", f"2026-11-21T06:{number // 60:02}:{number % 60:02}Z")
        )
    assert ("t0",) not in samples(metrics, "sshload_test_offered_rate")
    metrics.tests.object_changed("DELETED", finished("t100"))
    assert set(samples(metrics, "sshload_test_offered_rate")) == {(f"t{number}",) for number in range(100)}
    assert samples(metrics, "sshload_test_step_latency_seconds")["0.5", "login", "t0"] == 0.02


def test_requests_are_counted_by_verb_and_resource() -> None:
    metrics = OperatorMetrics()
    metrics.count_api_request("list", "pods")
    metrics.count_api_request("list", "pods")
    assert samples(metrics, "sshload_operator_api_requests_total") == {("pods", "list"): 2}


def test_promtool_finds_nothing_to_complain_of() -> None:
    metrics = OperatorMetrics()
    search = {"end": "found", "unit": "users", "value": 118, "lowerBound": 118, "upperBound": 121.5, "trials": []}
    metrics.tests.object_changed(None, finished(capacity=search))
    metrics.count_api_request("list", "pods")
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=b"".join(metrics.render()), capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_a_time_that_nobody_can_compute_with_keeps_no_other_figures_from_being_published() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, finished(completed="0000-01-01T00:00:00Z"))
    assert samples(metrics, "sshload_test_verdict") == {("t", "Passed"): 1}
    never = {"lastScheduleTime": "0000-01-01T00:00:00Z", "lastSuccessfulTime": "2026-01-01t00:00:00z"}
    body = {**schedule("s"), "status": {**never, "lastVerdict": "Passed"}}
    metrics.schedules.object_changed(None, body)
    assert samples(metrics, "sshload_schedule_last_verdict") == {("s", "Passed"): 1}
    assert samples(metrics, "sshload_schedule_last_schedule_timestamp_seconds") == {}


def test_a_latency_too_large_to_be_summed_keeps_no_other_figures_from_being_published() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, finished(results={**RESULTS, "steps": [{**STEP, "meanMs": 1e308}]}))
    assert samples(metrics, "sshload_test_step_failures") == {("login", "t"): 1}


WHOLE_RUN = {
    **RESULTS,
    "hold": {"heldMost": 500, "heldLeast": 499},
    "target": {"cpuCores": 1.5, "cpuPerLoginMs": 30.0, "cpuPerIterationMs": 40.0, "memoryPeakBytes": 1_000},
    "proxy": {"memoryPeakBytes": 2_000, "cpuPerLoginMs": 3.0, "cpuPerIterationMs": 4.0},
    "gateway": {"memoryPeakBytes": 3_000, "cpuPerIterationMs": 5.0},
    "generator": {"cpuPerIterationMs": 6.0, "memoryPeakBytes": 4_000},
}
IN_BASE_UNITS = {
    "offered_rate": 90.0,
    "achieved_rate": 89.5,
    "completed_rate": 89.0,
    "error_ratio": 0.015,
    "held_sessions_most": 500,
    "held_sessions_least": 499,
    "cpu_cores": 1.5,
    "cpu_per_login_seconds": 0.03,
    "cpu_per_iteration_seconds": 0.04,
    "memory_peak_bytes": 1_000,
    "proxy_memory_peak_bytes": 2_000,
    "proxy_cpu_per_login_seconds": 0.003,
    "proxy_cpu_per_iteration_seconds": 0.004,
    "gateway_memory_peak_bytes": 3_000,
    "gateway_cpu_per_iteration_seconds": 0.005,
    "generator_cpu_per_iteration_seconds": 0.006,
    "generator_memory_peak_bytes": 4_000,
}


def test_each_figure_of_a_run_is_published_in_base_units() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, finished(results=WHOLE_RUN))
    for name, value in IN_BASE_UNITS.items():
        assert samples(metrics, f"sshload_test_{name}") == {("t",): value}, name


def test_each_figure_of_an_object_names_its_namespace() -> None:
    metrics = OperatorMetrics()
    search = {"end": "found", "unit": "users", "value": 118, "lowerBound": 118, "upperBound": 121.5, "trials": []}
    step = {**STEP, "bytesPerSecond": 1.0}
    metrics.tests.object_changed(None, finished(results={**WHOLE_RUN, "steps": [step]}, capacity=search))
    metrics.tests.object_changed(None, {**finished("waits"), "status": {"phase": "Pending", "reason": "Queued"}})
    metrics.schedules.object_changed(None, {**schedule("s"), "status": {"lastVerdict": "Passed"}})
    families = text_string_to_metric_families(b"".join(metrics.render()).decode())
    of_objects = [one for family in families for one in family.samples if not one.name.startswith(OF_ITSELF)]
    assert len({one.name for one in of_objects}) > 30
    assert {one.labels.get("namespace") for one in of_objects} == {"ns"}


OF_ITSELF = ("sshload_operator_", "process_")


def test_all_quantiles_that_are_stated_are_published_and_no_others() -> None:
    metrics = OperatorMetrics()
    step = statuses.step_json("login", {50: 1.0, 90: 2.0, 95: 3.0, 99: 4.0, 99.9: 5.0}, failures=0)
    metrics.tests.object_changed(None, finished(results={**RESULTS, "steps": [step]}))
    published = samples(metrics, "sshload_test_step_latency_seconds")
    assert {quantile: value for (quantile, _, _), value in published.items()} == {
        "0.5": 0.001,
        "0.9": 0.002,
        "0.95": 0.003,
        "0.99": 0.004,
        "0.999": 0.005,
    }


def test_the_end_of_a_run_is_published_with_its_verdict_and_of_no_running_one() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed(None, finished())
    metrics.tests.object_changed(None, {**finished("other"), "status": {"phase": "Running"}})
    assert samples(metrics, "sshload_test_completion_timestamp_seconds") == {("t",): 1795240800}
    assert samples(metrics, "sshload_test_verdict") == {("t", "Passed"): 1}
    assert samples(metrics, "sshload_test_phase") == {("Running", "other"): 1}


def test_a_schedule_says_all_that_became_of_it() -> None:
    metrics = OperatorMetrics()
    status = {
        "lastScheduleTime": "2026-11-21T06:00:00Z",
        "lastSuccessfulTime": "2026-11-21T05:00:00Z",
        "lastVerdict": "Failed",
        "activeCount": 2,
    }
    metrics.schedules.object_changed(None, {**schedule("s"), "status": status})
    metrics.schedules.object_changed(None, schedule("new"))
    assert samples(metrics, "sshload_schedule_last_schedule_timestamp_seconds") == {("s",): 1795240800}
    assert samples(metrics, "sshload_schedule_last_passed_timestamp_seconds") == {("s",): 1795237200}
    assert samples(metrics, "sshload_schedule_last_verdict") == {("s", "Failed"): 1}
    assert samples(metrics, "sshload_schedule_active_tests") == {("s",): 2, ("new",): 0}
    assert samples(metrics, "sshload_schedule_suspended") == {("s",): 0, ("new",): 0}


def test_a_page_has_what_became_of_an_object_since_the_last_one() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed("ADDED", finished())
    assert samples(metrics, "sshload_test_verdict") == {("t", "Passed"): 1}
    metrics.tests.object_changed("MODIFIED", finished(verdict="Failed"))
    assert samples(metrics, "sshload_test_verdict") == {("t", "Failed"): 1}
    metrics.tests.forget(lambda key: key == ("ns", "t"))
    assert samples(metrics, "sshload_test_verdict") == {}


def test_of_what_is_gone_only_that_is_forgotten() -> None:
    metrics = OperatorMetrics()
    for name in ("stays", "goes"):
        metrics.tests.object_changed("ADDED", finished(name))
    metrics.tests.forget(lambda key: key == ("ns", "goes"))
    assert samples(metrics, "sshload_test_verdict") == {("stays", "Passed"): 1}
    metrics.tests.object_changed("DELETED", finished("goes"))
    assert samples(metrics, "sshload_test_verdict") == {("stays", "Passed"): 1}


def test_a_page_is_made_again_only_where_an_object_has_changed() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed("ADDED", finished())
    before = list(metrics.tests.render())
    metrics.tests.published["ns", "unseen"] = metrics.tests.published["ns", "t"]
    assert list(metrics.tests.render()) == before


def test_the_operator_counts_what_it_does() -> None:
    metrics = OperatorMetrics()
    metrics.count_failed_pass()
    metrics.count_started_run()
    metrics.count_started_run()
    metrics.count_notification("one", "delivered", 0)
    metrics.count_notification("two", "refused")
    metrics.count_push("partial", 3)
    metrics.set_pending_notifications("one", 7)
    metrics.set_certificate_end("metrics", 1.5e9)
    assert samples(metrics, "sshload_operator_failed_passes_total") == {(): 1}
    assert samples(metrics, "sshload_operator_started_runs_total") == {(): 2}
    assert samples(metrics, "sshload_operator_notifications_total") == {
        ("one", "delivered"): 0,
        ("two", "refused"): 1,
    }
    assert samples(metrics, "sshload_operator_otlp_pushes_total") == {("partial",): 3}
    assert samples(metrics, "sshload_operator_notifications_pending") == {("one",): 7}
    assert samples(metrics, "sshload_operator_certificate_expiry_timestamp_seconds") == {("metrics",): 1.5e9}
    assert set(samples(metrics, "process_cpu_seconds_total")) == {()}


def test_what_is_collected_for_a_collector_of_others_is_what_is_on_the_page() -> None:
    metrics = OperatorMetrics()
    metrics.tests.object_changed("ADDED", finished())
    metrics.schedules.object_changed("ADDED", schedule("s"))
    on_page = {family.name for family in text_string_to_metric_families(b"".join(metrics.render()).decode())}
    assert {family.name for family in metrics.collect()} >= {name for name in on_page if not name.endswith("_created")}
