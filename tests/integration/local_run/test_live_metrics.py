"""The metrics that a run really serves are those that the reference explains."""

import json
import re
from pathlib import Path

from guide import ROOT
from local_cli import interrupt, metrics, start, wait_until, write_test

LIMITS_OF_A_CONTAINER = {
    "sshload_target_cpu_limit_cores",
    "sshload_target_memory_limit_bytes",
    "sshload_target_processes_limit",
}
LONG = {"users": {"stages": [{"users": 2, "duration": "5m"}]}}


def documented(title: str) -> set[str]:
    text = (ROOT / "docs/reference/metrics.md").read_text()
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return set(re.findall(r"^\| `(\w+)`", found[1], re.MULTILINE))


def served(port: int) -> set[str]:
    return set(re.findall(r"^# TYPE (sshload_\w+)", metrics(port), re.MULTILINE))


def test_master_and_target_serve_what_the_reference_explains(tmp_path: Path) -> None:
    started = start("run", write_test(tmp_path, load=LONG))
    try:
        wait_until(lambda: "Running" in started.said(), "the load")
        target: int = json.loads((started.folder() / "target.json").read_text())["stats_port"]
        wait_until(
            lambda: "sshload_generator_cpu_ratio" in served(started.metrics_port()), "a whole second of the load"
        )
        assert served(started.metrics_port()) == documented("The master of a run")
        assert served(target) == documented("A managed target") - LIMITS_OF_A_CONTAINER
    finally:
        interrupt(started)
        started.wait()
