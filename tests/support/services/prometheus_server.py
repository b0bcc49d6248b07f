"""A real Prometheus that scrapes a test's processes, and promtool's opinion of what they answer."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

import pytest
from free_ports import free_port
from running_target import wait_until

Values = Mapping[tuple[str, ...], float]

_INSTALL = "install the Debian package prometheus (it brings promtool)"


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus, asked through its HTTP API."""

    port: int

    def query(self, expression: str) -> Values:
        """Return the values of an instant query by their labels' values, in the order of the labels' names.

        The labels `__name__`, `job` and `instance` are left out.
        """
        answer = self._ask("/api/v1/query", {"query": expression})
        assert answer["resultType"] == "vector", answer
        return {_label_values(result["metric"]): float(result["value"][1]) for result in answer["result"]}

    def value(self, expression: str) -> float:
        """Return the value of a query that has one result, once it has: a scrape that failed leaves it without."""
        seen: list[float] = []

        def keep(values: Values) -> bool:
            seen[:] = values.values()
            return len(seen) == 1

        self.wait_until(expression, keep, "to have one result")
        return seen[0]

    def wait_for(self, expression: str, expected: float) -> None:
        """Wait until a query has one result, and that value (but for rounding)."""
        self.wait_until(expression, lambda values: [*values.values()] == [pytest.approx(expected)], f"to be {expected}")

    def wait_until(self, expression: str, holds: Callable[[Values], bool], what: str) -> None:
        """Wait until the values of a query are as they should be; a scrape that came late is only waited for."""
        seen: list[Values] = []

        def arrived() -> bool:
            seen[:] = [self.query(expression)]
            return holds(seen[0])

        try:
            wait_until(arrived, f"{expression} {what}")
        except AssertionError as error:
            raise AssertionError(f"{error}; last seen: {seen}") from None

    def label_names(self, selector: str) -> set[str]:
        """Return the names of the labels of all series that were ever scraped and match."""
        series = self._ask("/api/v1/series", {"match[]": selector})
        return {name for labels in series for name in labels}

    def wait_for_refusal(self, job: str, said: str) -> None:
        """Wait until a scrape of a job has failed, and Prometheus says this of it."""

        def refused() -> bool:
            targets = self._ask("/api/v1/targets", {"state": "active"})["activeTargets"]
            return any(said in target["lastError"] for target in targets if target["scrapePool"] == job)

        wait_until(refused, f"a scrape of {job} that ends with {said!r}")

    def ready(self) -> bool:
        """Tell whether it serves."""
        try:
            return self._get("/-/ready")[0] == HTTPStatus.OK
        except OSError:
            return False

    def _ask(self, path: str, arguments: Mapping[str, str]) -> Any:
        status, body = self._get(f"{path}?{urlencode(arguments)}")
        assert status == HTTPStatus.OK, body
        return json.loads(body)["data"]

    def _get(self, path: str) -> tuple[int, bytes]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()


@contextmanager
def prometheus(
    folder: Path,
    ports_by_job: Mapping[str, int],
    more_by_job: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    rules: Sequence[Path] = (),
) -> Iterator[Prometheus]:
    """Run a Prometheus that scrapes /metrics at these ports of loopback each second, and evaluates the files of rules.

    `more_by_job` is what its configuration says more of a job, such as the credentials.
    """
    program = shutil.which("prometheus")
    assert program is not None, _INSTALL
    config = folder / "prometheus.yml"
    written = {**_config(ports_by_job, more_by_job), "rule_files": list(map(str, rules))}
    config.write_text(json.dumps(written))  # JSON is YAML
    port = free_port()
    command = [program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
               f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"]  # fmt: skip
    log_path = folder / "prometheus.log"
    with log_path.open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        server = Prometheus(port)

        def ready() -> bool:
            assert process.poll() is None, log_path.read_text()
            return server.ready()

        try:
            wait_until(ready, "Prometheus serves")
            yield server
        finally:
            process.terminate()
            process.wait(timeout=300)


def promtool_faults(page: str) -> str:
    """Return what `promtool check metrics` finds wrong with a page of metrics, empty where nothing."""
    program = shutil.which("promtool")
    assert program is not None, _INSTALL
    check = subprocess.run(
        [program, "check", "metrics"], input=page, capture_output=True, text=True, check=False, timeout=60
    )
    faults = check.stdout + check.stderr
    return faults or ("" if check.returncode == 0 else f"exit code {check.returncode}")


def _config(ports_by_job: Mapping[str, int], more_by_job: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    jobs = [
        {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}], **more_by_job.get(job, {})}
        for job, port in ports_by_job.items()
    ]
    return {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}


def _label_values(labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(value for name, value in sorted(labels.items()) if name not in {"__name__", "job", "instance"})
