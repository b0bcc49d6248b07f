"""A real Prometheus scrapes a real target and answers questions about it."""

from pathlib import Path

from prometheus_server import prometheus, promtool_faults
from running_target import make_target_folder, ready_target

MOST_SERIES = 20
BOUNDED_LABELS = {"__name__", "job", "instance", "reason", "version"}
FAMILIES = {
    "sshload_target_sshd_info",
    "sshload_target_ready",
    "sshload_target_accepted_total",
    "sshload_target_auth_failed_total",
    "sshload_target_dropped_total",
    "sshload_target_dropped_is_lower_bound",
    "sshload_target_sessions",
    "sshload_target_cpu_seconds_total",
    "sshload_target_cpu_throttled_seconds_total",
    "sshload_target_machine_stolen_seconds_total",
    "sshload_target_memory_working_set_bytes",
    "sshload_target_memory_peak_bytes",
    "sshload_target_processes",
    "sshload_target_oom_kills_total",
    "sshload_target_refused_forks_total",
    "sshload_target_listen_overflows_total",
}


def test_prometheus_knows_what_the_target_saw(tmp_path: Path) -> None:
    folder = make_target_folder(tmp_path, "LogLevel INFO\n")
    ports = {"target": folder.config.stats_port}
    with ready_target(folder) as target, prometheus(tmp_path, ports) as server:
        server.wait_for("sshload_target_ready", 1)
        for _ in range(3):
            target.run("true")
        server.wait_for("sshload_target_accepted_total", 3)
        server.wait_for("sshload_target_sessions", 0)
        no_drops = {("maxStartups",): 0, ("penalty",): 0}
        server.wait_until("sshload_target_dropped_total", lambda dropped: dropped == no_drops, "to be none")
        server.wait_for("sshload_target_cpu_seconds_total > bool 0", 1)
        server.wait_for("sshload_target_memory_working_set_bytes > bool 1000000", 1)
        server.wait_for(f'sshload_target_sshd_info{{version="{target.stats().sshd_version}"}}', 1)
        assert server.value('count({__name__=~"sshload_target_.*"})') <= MOST_SERIES
        assert server.label_names('{__name__=~"sshload_.*"}') <= BOUNDED_LABELS


def test_the_targets_page_has_every_family_and_promtool_takes_it(tmp_path: Path) -> None:
    with ready_target(make_target_folder(tmp_path, "LogLevel INFO\n")) as target:
        page = target.get("/metrics")
    assert promtool_faults(page) == ""
    assert {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")} == FAMILIES
