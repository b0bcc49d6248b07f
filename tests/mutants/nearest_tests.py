"""Which tests are the nearest of a module, and which are mutated by turns: those that judge, decide, count, share.

Of any other module of the product, the nearest tests are those that import it most directly.
"""

from collections.abc import Mapping

from importing_tests import PRODUCT, importing

_OPERATOR = "operator/sshload_operator"
_DECISION = f"{_OPERATOR}/decision"
_CONTROL = f"{_OPERATOR}/control"
_WORKER = "workers/sshload_worker"
_TARGET = "targets/sshload_target"
_GATEWAY = "gateway/sshload_gateway"
_CONTRACT = "contract/sshload_contract"
_WIRING = "tests/unit/operator/wiring"
_LIVE = tuple(
    f"{_WIRING}/test_{name}.py"
    for name in (
        "live_kinds",
        "live_objects",
        "live_over_time",
        "live_owners",
        "live_schedules",
        "live_comparisons",
        "live_tests",
        "made_tests",
        "owned_tests",
        "owned_tests_by_version",
        "owner_pass",
        "room",
        "tests_that_wait",
        "turns",
    )
)

NEAREST: Mapping[str, tuple[str, ...]] = {
    f"{_CONTRACT}/judgement": (
        "tests/unit/contract/test_binomial.py",
        "tests/unit/contract/test_pauses.py",
        "tests/unit/contract/test_validity.py",
        "tests/unit/operator/results",
        "tests/unit/operator/verdict",
    ),
    f"{_CONTRACT}/judgement/binomial.py": ("tests/unit/contract/test_binomial.py",),
    f"{_CONTRACT}/judgement/pauses.py": ("tests/unit/contract/test_pauses.py", "tests/unit/operator/verdict"),
    f"{_CONTRACT}/allow_list.py": ("tests/unit/contract/test_allow_list.py", "tests/unit/contract/test_addresses.py"),
    f"{_CONTRACT}/front": (
        "tests/unit/contract/test_admission.py",
        "tests/unit/contract/test_heads.py",
        "tests/unit/contract/test_text_port.py",
    ),
    f"{_CONTRACT}/front/cpu_share.py": ("tests/unit/contract/test_cpu_share.py",),
    f"{_CONTRACT}/kernel_sockets.py": (
        "tests/unit/contract/test_kernel_sockets.py",
        "tests/unit/target/test_listen_queue.py",
    ),
    f"{_CONTRACT}/load": (
        "tests/unit/contract/test_load_models.py",
        "tests/unit/contract/test_most_begun_within.py",
        "tests/unit/contract/test_replay.py",
        "tests/unit/contract/test_capacity.py",
        "tests/unit/operator/parse/test_load.py",
        "tests/unit/operator/parse/test_tables.py",
        "tests/unit/operator/plan/test_plan.py",
        "tests/unit/worker/test_load.py",
    ),
    f"{_CONTRACT}/load/search.py": (
        "tests/unit/contract/test_search.py",
        "tests/unit/operator/search/test_likely_trials.py",
        "tests/unit/operator/parse/test_load.py",
    ),
    f"{_CONTRACT}/load/waves.py": ("tests/unit/contract/test_waves.py", "tests/unit/operator/parse/test_tables.py"),
    f"{_CONTRACT}/percentiles.py": ("tests/unit/contract/test_percentile.py", "tests/unit/contract/test_spread.py"),
    f"{_CONTRACT}/steal.py": ("tests/unit/contract/test_steal.py",),
    f"{_CONTRACT}/thresholds": (
        "tests/unit/contract/test_thresholds.py",
        "tests/unit/operator/verdict/test_target_thresholds.py",
        "tests/unit/operator/status/test_thresholds.py",
        "tests/unit/operator/preflight/test_search_preflight.py",
    ),
    f"{_CONTRACT}/judgement/validity.py": ("tests/unit/contract/test_validity.py", "tests/unit/operator/verdict"),
    f"{_CONTRACT}/wire/master_log.py": ("tests/unit/contract/test_master_log.py",),
    f"{_OPERATOR}/api/status/measured.py": (
        "tests/unit/operator/status/test_measured.py",
        "tests/unit/operator/results/test_results.py",
        "tests/unit/operator/comparison/test_figures.py",
    ),
    f"{_DECISION}/baseline": ("tests/unit/operator/baseline",),
    f"{_DECISION}/capacity": ("tests/unit/operator/capacity", "tests/unit/operator/verdict"),
    f"{_DECISION}/comparison": tuple(
        f"tests/unit/operator/comparison/test_{name}.py"
        for name in ("compare", "decide_comparison", "figures", "identity_and_causes", "milliseconds", "other_logins")
    ),
    f"{_DECISION}/comparison/plan.py": tuple(
        f"tests/unit/operator/comparison/test_{name}.py" for name in ("comparison_hash", "decide_comparison")
    ),
    f"{_DECISION}/comparison/facts.py": tuple(
        f"tests/unit/operator/comparison/test_{name}.py" for name in ("decide_comparison", "identity_and_causes")
    ),
    f"{_OPERATOR}/api/status/compared.py": tuple(
        f"tests/unit/operator/comparison/test_{name}.py"
        for name in ("compare", "figures", "decide_comparison", "milliseconds")
    ),
    f"{_DECISION}/comparison/interval.py": ("tests/unit/operator/comparison/test_interval.py",),
    f"{_DECISION}/comparison/milliseconds.py": ("tests/unit/operator/comparison/test_milliseconds.py",),
    f"{_DECISION}/comparison/decide.py": tuple(
        f"tests/unit/operator/comparison/test_{name}.py" for name in ("decide_comparison", "identity_and_causes")
    ),
    f"{_DECISION}/lease.py": ("tests/unit/operator/lease",),
    f"{_DECISION}/load_test/verdict.py": (
        "tests/unit/operator/verdict",
        "tests/unit/operator/capacity/test_capacity_verdict.py",
    ),
    f"{_DECISION}/load_test/thresholds.py": (
        "tests/unit/operator/status/test_thresholds.py",
        "tests/unit/operator/status/test_status.py",
    ),
    f"{_DECISION}/load_test/noise.py": ("tests/unit/operator/results/test_noise.py",),
    f"{_DECISION}/load_test/busy_machine.py": (
        "tests/unit/operator/results/test_busy_machine.py",
        "tests/unit/operator/results/test_scope.py",
    ),
    f"{_DECISION}/load_test/scope.py": ("tests/unit/operator/results/test_scope.py",),
    f"{_DECISION}/load_test/hold.py": ("tests/unit/operator/results/test_hold.py",),
    f"{_DECISION}/load_test/steps.py": ("tests/unit/operator/results",),
    f"{_DECISION}/load_test/results.py": ("tests/unit/operator/results",),
    f"{_DECISION}/load_test/login_failure.py": ("tests/unit/operator/verdict/test_login_failure.py",),
    f"{_DECISION}/load_test/blockers.py": ("tests/unit/operator/decide", "tests/unit/operator/conditions"),
    f"{_DECISION}/load_test/conditions.py": ("tests/unit/operator/decide", "tests/unit/operator/conditions"),
    f"{_DECISION}/load_test/situation.py": ("tests/unit/operator/decide", "tests/unit/operator/conditions"),
    f"{_DECISION}/load_test/decide.py": (
        "tests/unit/operator/decide",
        "tests/unit/operator/conditions",
        "tests/unit/operator/capacity/test_capacity_life.py",
        "tests/unit/operator/baseline/test_which.py",
    ),
    f"{_DECISION}/load_test": (
        "tests/unit/operator/decide",
        "tests/unit/operator/baseline",
        "tests/unit/operator/conditions",
        "tests/unit/operator/results",
        "tests/unit/operator/verdict",
    ),
    f"{_DECISION}/life_cycle.py": ("tests/unit/operator/decide", "tests/unit/operator/comparison"),
    f"{_DECISION}/max_startups": ("tests/unit/operator/max_startups",),
    f"{_DECISION}/max_startups/setting.py": (
        "tests/unit/operator/max_startups/test_setting.py",
        "tests/unit/operator/max_startups/test_burst.py",
    ),
    f"{_DECISION}/max_startups/even_arrivals.py": ("tests/unit/operator/max_startups/test_even_arrivals.py",),
    f"{_DECISION}/max_startups/fit.py": (
        "tests/unit/operator/max_startups/test_fit.py",
        "tests/unit/operator/max_startups/test_advice.py",
    ),
    f"{_DECISION}/max_startups/advice.py": ("tests/unit/operator/max_startups/test_advice.py",),
    f"{_DECISION}/owner.py": (
        "tests/unit/operator/comparison",
        "tests/unit/operator/schedule",
        "tests/unit/operator/channels/test_notification.py",
        f"{_WIRING}/test_metrics.py",
    ),
    f"{_DECISION}/schedule": ("tests/unit/operator/schedule",),
    f"{_DECISION}/turns.py": ("tests/unit/operator/decide",),
    f"{_OPERATOR}/api/targets": ("tests/unit/operator/targets", "tests/unit/operator/parse"),
    f"{_OPERATOR}/api/targets/access.py": (
        "tests/unit/operator/targets",
        "tests/unit/operator/verdict",
        "tests/unit/operator/conditions",
    ),
    **{
        f"{_OPERATOR}/planning/{name}.py": ("tests/unit/operator/cautions", "tests/unit/operator/samples")
        for name in ("cautions", "estimates", "managed_cautions")
    },
    f"{_OPERATOR}/planning/search_cautions.py": ("tests/unit/operator/cautions", "tests/unit/operator/preflight"),
    f"{_OPERATOR}/planning/admitted.py": (
        "tests/unit/operator/plan/test_admitted.py",
        "tests/unit/operator/baseline/test_which.py",
    ),
    f"{_OPERATOR}/planning/differs.py": tuple(
        f"tests/unit/operator/baseline/test_{name}.py" for name in ("candidates", "differs", "other_logins", "which")
    ),
    f"{_OPERATOR}/planning/installation.py": (
        "tests/unit/operator/installation",
        "tests/unit/operator/manifests/test_pods.py",
    ),
    f"{_OPERATOR}/planning/one_form.py": ("tests/unit/operator/plan",),
    f"{_OPERATOR}/planning/plan.py": ("tests/unit/operator/plan", "tests/unit/operator/manifests/test_pods.py"),
    f"{_OPERATOR}/planning/proxy_programs.py": (
        "tests/golden/manifests",
        "tests/unit/operator/local_files/test_prepare.py",
        "tests/unit/operator/cautions/test_cautions.py",
    ),
    f"{_OPERATOR}/planning/preflight.py": ("tests/unit/operator/preflight",),
    f"{_CONTROL}/api_server/announcement.py": (f"{_WIRING}/test_announcement.py",),
    f"{_CONTROL}/api_server/client.py": (f"{_WIRING}/test_api_client.py",),
    f"{_CONTROL}/api_server/cluster.py": (
        f"{_WIRING}/test_cluster.py",
        f"{_WIRING}/test_requests.py",
        f"{_WIRING}/test_cluster_world.py",
        f"{_WIRING}/test_api_client.py",
        f"{_WIRING}/test_baseline_look.py",
    ),
    f"{_CONTROL}/api_server/lean_json.py": (f"{_WIRING}/test_lean_json.py",),
    f"{_CONTROL}/api_server/lease.py": (f"{_WIRING}/test_lease.py", f"{_WIRING}/test_lease_over_time.py"),
    f"{_CONTROL}/api_server/watch_session.py": (
        f"{_WIRING}/test_watch_session.py",
        f"{_WIRING}/test_refusals_in_a_row.py",
        f"{_WIRING}/test_cluster.py",
        f"{_WIRING}/test_api_client.py",
    ),
    f"{_CONTROL}/live": _LIVE,
    f"{_CONTROL}/live/objects.py": (f"{_WIRING}/test_live_objects.py", f"{_WIRING}/test_live_over_time.py"),
    f"{_CONTROL}/live/tests.py": (
        f"{_WIRING}/test_after_a_pass.py",
        f"{_WIRING}/test_live_tests.py",
        f"{_WIRING}/test_tests_that_wait.py",
        f"{_WIRING}/test_steady_clock.py",
    ),
    f"{_CONTROL}/live/owned_tests.py": (
        f"{_WIRING}/test_live_owners.py",
        f"{_WIRING}/test_owned_tests.py",
        f"{_WIRING}/test_owned_tests_by_version.py",
    ),
    f"{_CONTROL}/live/room.py": (f"{_WIRING}/test_room.py", f"{_WIRING}/test_turns.py"),
    f"{_CONTROL}/turns.py": (f"{_WIRING}/test_turns.py",),
    f"{_CONTROL}/metrics": (
        f"{_WIRING}/test_metrics.py",
        f"{_WIRING}/test_metrics_page.py",
        f"{_WIRING}/test_front.py",
    ),
    f"{_CONTROL}/metrics/bearer_check.py": (f"{_WIRING}/test_bearer_check.py",),
    f"{_CONTROL}/metrics/certificate_end.py": (f"{_WIRING}/test_serving_certificate.py",),
    f"{_CONTROL}/metrics/self_signed.py": (f"{_WIRING}/test_serving_certificate.py",),
    f"{_CONTROL}/metrics/serving_certificate.py": (f"{_WIRING}/test_serving_certificate.py",),
    f"{_CONTROL}/run/caller_token.py": (f"{_WIRING}/test_caller_token.py",),
    f"{_CONTROL}/run/baseline.py": (f"{_WIRING}/test_baseline_look.py",),
    f"{_OPERATOR}/world/execute.py": (f"{_WIRING}/test_execute.py",),
    f"{_CONTROL}/run/judging.py": (f"{_WIRING}/test_judging.py",),
    f"{_OPERATOR}/world/keys.py": (f"{_WIRING}/test_keys.py",),
    f"{_CONTROL}/run/pod_facts.py": (f"{_WIRING}/test_pod_facts.py", f"{_WIRING}/test_observations.py"),
    f"{_CONTROL}/run/reconcile.py": tuple(
        f"{_WIRING}/test_{name}.py" for name in ("reconcile", "parsed_spec", "refusals_in_a_row")
    ),
    f"{_CONTROL}/run": tuple(
        f"{_WIRING}/test_{name}.py"
        for name in (
            "observe",
            "observations",
            "pod_facts",
            "judging",
            "reconcile",
            "cluster_world",
            "parsed_spec",
            "refusals_in_a_row",
            "baseline_look",
            "status_keys",
            "tests_that_wait",
        )
    ),
    f"{_OPERATOR}/world": tuple(f"{_WIRING}/test_{name}.py" for name in ("execute", "keys", "program", "steady_clock")),
    f"{_CONTROL}/channels": ("tests/unit/operator/channels",),
    f"{_CONTROL}/otlp": ("tests/unit/operator/otlp",),
    f"{_CONTROL}/pages/streams.py": (
        "tests/unit/operator/pages/test_streams.py",
        "tests/unit/operator/pages/test_streams_over_time.py",
    ),
    f"{_CONTROL}/pages/index.py": (
        "tests/unit/operator/pages/test_index.py",
        "tests/unit/operator/pages/test_streams_over_time.py",
    ),
    f"{_CONTROL}/pages/reports.py": ("tests/unit/operator/pages/test_reports.py",),
    f"{_OPERATOR}/manifests": (
        *(
            f"tests/unit/operator/manifests/test_{name}.py"
            for name in ("membership", "names", "network_policy", "orphans", "pods", "run_config", "secret")
        ),
        "tests/golden/manifests",
    ),
    f"{_OPERATOR}/manifests/target.py": (
        "tests/unit/operator/manifests/test_pods.py",
        "tests/unit/operator/sshd_config",
        "tests/golden/manifests",
    ),
    f"{_OPERATOR}/manifests/owned_test.py": ("tests/unit/operator/manifests/test_owned_test.py",),
    f"{_OPERATOR}/manifests/results.py": ("tests/unit/operator/manifests/test_results.py",),
    f"{_OPERATOR}/api/inert_text.py": ("tests/unit/operator/terminal/test_inert_text.py",),
    f"{_OPERATOR}/report/distribution.py": ("tests/unit/operator/report/test_charts.py",),
    f"{_OPERATOR}/report/over_time.py": ("tests/unit/operator/report/test_charts.py",),
    f"{_OPERATOR}/report/waterfall.py": ("tests/unit/operator/report/test_document.py",),
    f"{_OPERATOR}/cli/record/sshd_log.py": ("tests/unit/operator/trace",),
    f"{_GATEWAY}/ssh/pool.py": ("tests/unit/gateway/test_pool.py", "tests/unit/gateway/test_pool_over_time.py"),
    f"{_GATEWAY}/ssh/lane.py": ("tests/unit/gateway/test_pool.py", "tests/unit/gateway/test_pool_over_time.py"),
    f"{_GATEWAY}/ssh/turns.py": ("tests/unit/gateway/test_turns.py",),
    f"{_GATEWAY}/ssh/floods.py": ("tests/unit/gateway/test_floods.py",),
    f"{_GATEWAY}/ssh/destinations.py": ("tests/unit/gateway/test_destinations.py",),
    f"{_GATEWAY}/sessions.py": ("tests/unit/gateway/test_sessions.py",),
    f"{_GATEWAY}/identity": (
        "tests/unit/gateway/test_key_set.py",
        "tests/unit/gateway/test_rate_limit.py",
        "tests/unit/gateway/test_tokens.py",
        "tests/unit/gateway/test_under_way.py",
    ),
    f"{_GATEWAY}/store/remembered.py": ("tests/unit/gateway/test_remembered.py",),
    f"{_WORKER}/summary": (
        "tests/unit/worker/test_held.py",
        "tests/unit/worker/test_hopeless.py",
        "tests/unit/worker/test_live.py",
        "tests/unit/worker/test_merge.py",
        "tests/unit/worker/test_progress_over_time.py",
        "tests/unit/worker/test_refusals.py",
        "tests/unit/worker/test_report.py",
        "tests/unit/worker/test_search_course.py",
        "tests/unit/worker/test_server_series.py",
        "tests/unit/worker/test_slices.py",
        "tests/unit/worker/test_summary_figures.py",
        "tests/unit/worker/test_trial_course.py",
        "tests/unit/worker/test_trial_verdict.py",
    ),
    f"{_WORKER}/recording": (
        "tests/unit/worker/test_rated_time.py",
        "tests/unit/worker/test_recorder.py",
        "tests/unit/worker/test_report.py",
        "tests/unit/worker/test_histogram.py",
        "tests/unit/worker/test_slices.py",
        "tests/unit/worker/test_merge.py",
        "tests/unit/worker/test_held.py",
    ),
    f"{_WORKER}/pacing/generator.py": ("tests/unit/worker/test_generator.py",),
    f"{_WORKER}/recording/health.py": ("tests/unit/worker/test_health_figures.py",),
    f"{_WORKER}/pacing": (
        "tests/unit/worker/test_load.py",
        "tests/unit/worker/test_replay_rate.py",
        "tests/unit/worker/test_search_course.py",
        "tests/unit/worker/test_trial_course.py",
    ),
    f"{_WORKER}/login/login.py": ("tests/unit/worker/test_login.py",),
    f"{_WORKER}/login": (
        "tests/unit/worker/test_agent.py",
        "tests/unit/worker/test_certificate.py",
        "tests/unit/worker/test_host_certificate.py",
        "tests/unit/worker/test_known_hosts.py",
        "tests/unit/worker/test_offers.py",
        "tests/unit/worker/test_private_key.py",
    ),
    f"{_WORKER}/scenario/iteration.py": ("tests/unit/worker/test_iteration.py",),
    f"{_WORKER}/scenario/gateway_sessions.py": ("tests/unit/worker/test_gateway_sessions.py",),
    f"{_WORKER}/scenario/held_sessions.py": ("tests/unit/worker/test_held_sessions.py",),
    f"{_WORKER}/scenario/sessions.py": (
        "tests/unit/worker/test_connector.py",
        "tests/unit/worker/test_session_pool.py",
        "tests/unit/worker/test_sessions_given_back.py",
    ),
    f"{_WORKER}/scenario/first_login.py": ("tests/unit/worker/test_first_login_over_time.py",),
    f"{_WORKER}/scenario/step_clock.py": (
        "tests/unit/worker/test_step_clock.py",
        "tests/unit/worker/test_time_limit.py",
        "tests/unit/worker/test_command_step.py",
        "tests/unit/worker/test_held_sessions.py",
        "tests/unit/worker/test_recorder.py",
        "tests/unit/worker/test_report.py",
    ),
    f"{_WORKER}/scenario/steps": (
        "tests/unit/worker/test_awaited_text.py",
        "tests/unit/worker/test_command_step.py",
        "tests/unit/worker/test_expectation.py",
        "tests/unit/worker/test_expression.py",
        "tests/unit/worker/test_git_protocol.py",
        "tests/unit/worker/test_payload.py",
        "tests/unit/worker/test_pkt_line.py",
        "tests/unit/worker/test_stdout.py",
    ),
    f"{_WORKER}/search": (
        "tests/unit/worker/test_ladder.py",
        "tests/unit/worker/test_capacity_search.py",
        "tests/unit/worker/test_search_course.py",
    ),
    f"{_WORKER}/coordination/master.py": ("tests/unit/worker/test_master.py",),
    f"{_WORKER}/coordination/run_metrics.py": ("tests/unit/worker/test_run_metrics.py",),
    f"{_WORKER}/coordination/trial_part.py": ("tests/unit/worker/test_trial_part.py",),
    f"{_WORKER}/coordination/worker.py": ("tests/unit/worker/test_worker.py",),
    f"{_WORKER}/coordination/settling.py": ("tests/unit/worker/test_settling_over_time.py",),
    f"{_WORKER}/coordination/stats.py": ("tests/unit/worker/test_stats.py",),
    f"{_WORKER}/coordination/connected_workers.py": (
        "tests/unit/worker/test_worker_registry.py",
        "tests/unit/worker/test_worker_line.py",
    ),
    f"{_WORKER}/coordination/messages.py": ("tests/unit/worker/test_locust_line.py",),
    f"{_WORKER}/coordination/roles.py": ("tests/unit/worker/test_roles.py",),
    f"{_WORKER}/coordination/processes.py": ("tests/unit/worker_parent/test_process_signals.py",),
    **{
        f"{_WORKER}/clients/{library}": (  # each is imported by its name
            "tests/unit/worker/test_library_errors.py",
            "tests/unit/worker/test_library_limits.py",
            "tests/unit/worker/test_answers_before_the_end.py",
        )
        for library in ("asyncssh", "mina", "openssh", "paramiko", "ssh2")
    },
    f"{_WORKER}/clients/ssh2/shared_driver.py": ("tests/unit/worker/test_shared_driver.py",),
    f"{_WORKER}/clients/inflation.py": ("tests/unit/worker/test_inflation.py",),
    f"{_TARGET}/sshd/listen_queue.py": ("tests/unit/target/test_listen_queue.py",),
    f"{_TARGET}/sshd/log.py": ("tests/unit/target/test_sshd_log.py", "tests/unit/target/test_log_counts.py"),
    f"{_TARGET}/sshd/log_line.py": ("tests/unit/target/test_log_line.py",),
    f"{_TARGET}/sshd/network.py": ("tests/unit/target/test_network.py",),
    f"{_TARGET}/sshd/program.py": ("tests/unit/target/test_sshd_config.py",),
    f"{_TARGET}/fixtures.py": ("tests/unit/target/test_fixtures.py", "tests/integration/target/test_repositories.py"),
    f"{_TARGET}/pid1.py": ("tests/unit/target/test_pid1.py",),
    f"{_TARGET}/metrics.py": ("tests/unit/target/test_metrics.py",),
    f"{_TARGET}/observer.py": ("tests/unit/target/test_metrics.py",),
    f"{_TARGET}/usage": (
        "tests/unit/target/test_cgroups.py",
        "tests/unit/target/test_metrics.py",
        "tests/unit/target/test_process_tree.py",
        "tests/unit/target/test_resources.py",
    ),
}
MUTATED = tuple(NEAREST)


def nearest(path: str) -> tuple[str, ...]:
    """Return the nearest tests of a module: those of the longest entry that it is below, else those that import it.

    There are none of a module that no test imports, because it runs in processes of its own.
    """
    entry = max((entry for entry in NEAREST if path.startswith(entry)), key=len, default=None)
    if entry is not None:
        return NEAREST[entry]
    return importing(path) if path.startswith(tuple(f"{folder}/" for folder in PRODUCT)) else ()
