"""Many simulated workers in one process: they join a real master over the real line, and send it real reports.

`python reporting_workers.py PORT WORKERS RATE SECONDS`: for so long, each reports as often as a worker of so many does,
and each time what a worker counts that makes RATE logins with a command per second; then it reports finally.
"""

from gevent import monkey

monkey.patch_all()

import resource  # noqa: E402 - gevent patches before anything else is imported
import sys  # noqa: E402
from collections.abc import Sequence  # noqa: E402
from dataclasses import replace  # noqa: E402
from random import Random  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from locust import __version__ as locust_version  # noqa: E402
from locust.rpc.protocol import Message  # noqa: E402
from locust.rpc.zmqrpc import Client  # noqa: E402
from run_configs import TOKEN  # noqa: E402
from sshload_contract.vocabulary import Outcome, Window  # noqa: E402
from sshload_contract.wire.codec import to_json  # noqa: E402
from sshload_contract.wire.report import Negotiated, Report  # noqa: E402
from sshload_contract.wire.reporting import first_report_s, report_interval_s  # noqa: E402
from sshload_worker.coordination import messages  # noqa: E402
from sshload_worker.coordination.messages import encrypt_lines  # noqa: E402
from sshload_worker.recording.health import HealthMonitor  # noqa: E402
from sshload_worker.recording.recorder import Recorder  # noqa: E402

_STEPS_MS = {
    "startDelay": 0.1, "connect": 1, "banner": 8, "kex": 12, "auth": 15, "login": 36, "channelOpen": 2, "exec": 3,
    "firstByte": 2, "read": 3, "close": 1, "command": 9, "total": 45,
}  # fmt: skip
_SPREAD = 0.5
_connect: Any = Client  # Locust leaves them unannotated
_message: Any = Message
_DIFFERENT_REPORTS = 20
_HEARTBEAT_INTERVAL_S = 1.0
_NEGOTIATED = Negotiated(
    "curve25519-sha256", "aes128-gcm@openssh.com", "implicit", "ssh-ed25519", "SSH-2.0-OpenSSH_10.2"
)


class ReportingWorker:
    """One worker of `of`, which reports so many seconds long what was counted."""

    def __init__(self, port: int, index: int, of: int, seconds: float, counted: Sequence[Report]) -> None:
        self._sent = 0
        self._index = index
        self._of = of
        self._seconds = seconds
        self._counted = counted
        self._name = f"simulated-{index}"
        self._line: Any = _connect("127.0.0.1", port, self._name)

    def run(self) -> None:
        """Join the master, and do as it says until it ends the run."""
        self._say("client_ready", locust_version)
        self._say(messages.HELLO, {"run_id": "test-run", "worker": self._index})
        self._say(messages.READY, {"worker": self._index})
        beating = gevent.spawn(self._beat)
        reporting = None
        while (order := self._line.recv().type) != messages.END:
            if order == messages.START and reporting is None:
                reporting = gevent.spawn(self._report_regularly)
        beating.kill()

    def _say(self, kind: str, fields: Any) -> None:
        self._line.send(_message(kind, fields, self._name))

    def _beat(self) -> None:
        while True:
            self._say("heartbeat", {"state": "ready", "current_cpu_usage": 0, "current_memory_usage": 0})
            gevent.sleep(_HEARTBEAT_INTERVAL_S)

    def _report_regularly(self) -> None:
        interval_s = report_interval_s(self._of)
        gevent.sleep(first_report_s(self._index, self._of))
        for _ in range(round(self._seconds / interval_s)):
            self._report(final=False)
            gevent.sleep(interval_s)
        self._report(final=True)

    def _report(self, *, final: bool) -> None:
        self._sent += 1
        counted = self._counted[self._sent % len(self._counted)]
        until_s = self._sent * report_interval_s(self._of)
        report = replace(counted, worker=self._index, sequence=self._sent, until_s=until_s, final=final)
        self._say(messages.REPORT, {"report": to_json(report)})


def _counted(seed: int, iterations: int) -> Report:
    """Return the report of a worker that has counted so many iterations."""
    recorder, chance = Recorder("test-run", 0), Random(seed)  # noqa: S311 - chance, no secrets
    for _ in range(iterations):
        recorder.started(Window.MEASURED, 0)
        recorder.login(_NEGOTIATED)
        for step, typical_ms in _STEPS_MS.items():
            latency_us = round(typical_ms * 1_000 * chance.lognormvariate(0, _SPREAD))
            recorder.sample(step, Window.MEASURED, Outcome.OK, latency_us)
        recorder.ended(Window.MEASURED, Outcome.OK, at_ns=0)
    return recorder.take_report(HealthMonitor().health(connections=0, overflows=0), final=False)


def main() -> None:
    """Run the workers to the end of the master's run."""
    port, workers = map(int, sys.argv[1:3])
    rate, seconds = map(float, sys.argv[3:])
    encrypt_lines(TOKEN)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    counted = [_counted(seed, round(rate * report_interval_s(workers))) for seed in range(_DIFFERENT_REPORTS)]
    simulated = [ReportingWorker(port, index, workers, seconds, counted) for index in range(workers)]
    gevent.joinall([gevent.spawn(worker.run) for worker in simulated], raise_error=True)


if __name__ == "__main__":
    main()
