"""PerSourcePenalties came with OpenSSH 9.8: an older sshd is not asked for them in silence."""

import socket
from pathlib import Path

from running_target import WITHIN_S, make_target_folder, started_target, wait_until

EX_CONFIG = 78


def _is_refused(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_S) as probe:
        return not probe.recv(8).startswith(b"SSH-2.0-")


def test_drops_by_penalties_are_counted_apart_and_an_sshd_without_them_refuses(tmp_path: Path) -> None:
    folder = make_target_folder(tmp_path, "LogLevel INFO\nPerSourcePenalties noauth:30 min:1\n")
    with started_target(folder) as target:
        wait_until(lambda: target.http_status("/readyz") == 200 or target.process.poll() is not None, "ready or ended")
        if target.process.poll() is not None:
            assert target.process.returncode == EX_CONFIG
            assert "Bad configuration option: PerSourcePenalties" in folder.termination_log.read_text()
            return
        wait_until(lambda: _is_refused(folder.config.sshd_port), "a penalty for probes that never log in")
        wait_until(lambda: target.stats().dropped_penalty == 1, "the drop counted")
        assert target.stats().dropped_max_startups == 0
        assert not target.stats().dropped_is_lower_bound
