from time import monotonic

import gevent
import pytest
from run_configs import TOKEN, arrivals, endpoint, run_config
from ssh_server import SshServer
from sshload_worker.coordination.master import Master
from sshload_worker.coordination.worker_line import WorkerLine


def test_no_worker_begins_before_the_time_that_rates_are_of(sshd: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes the master to send the order to start: a shorter time would make every rate too high."""
    begins_s: list[float] = []

    def send_slowly(_: WorkerLine, __: str, *, lead_s: float, **___: object) -> None:
        begins_s.append(monotonic() + lead_s)  # of a worker that hears of it at once
        gevent.sleep(0.3)

    monkeypatch.setattr(WorkerLine, "send", send_slowly)
    master = Master(run_config(endpoint(sshd), arrivals(1, 1.0)), TOKEN)
    assert master._run_trial("")
    assert master.trial.start_s is not None
    assert master.trial.start_s <= begins_s[0]
