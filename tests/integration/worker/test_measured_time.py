import socket
from contextlib import closing
from time import monotonic

import gevent
import pytest
from free_ports import free_port
from run_configs import TOKEN, arrivals, endpoint, run_config
from ssh_server import SshServer
from sshload_contract.vocabulary import Outcome
from sshload_worker.clients.tcp import Descriptor, open_socket
from sshload_worker.coordination.connected_workers import WorkerLine
from sshload_worker.coordination.master import Master
from sshload_worker.outcomes import StepFailure


def test_no_worker_begins_before_the_time_that_rates_are_of(sshd: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes the master to send the order to start: a shorter time would make every rate too high."""
    begins_s: list[float] = []

    def send_slowly(_: WorkerLine, *, lead_s: float, **__: object) -> None:
        begins_s.append(monotonic() + lead_s)  # of a worker that hears of it at once
        gevent.sleep(0.3)

    monkeypatch.setattr(WorkerLine, "send_start", send_slowly)
    master = Master(run_config(endpoint(sshd), arrivals(1, 1.0)), TOKEN)
    assert master._run_trial("")
    assert master.trial.start_s is not None
    assert master.trial.start_s <= begins_s[0]


def test_a_connection_that_the_kernel_makes_at_once_waits_for_no_others() -> None:
    others: list[str] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        descriptor = Descriptor(open_socket(socket.AF_INET), quick_ack=True)
        gevent.spawn(others.append, "ran")
        descriptor.connect(server.getsockname())
        assert others == []
        assert descriptor.socket.getpeername() == server.getsockname()
        descriptor.shut_down()


def test_a_refusal_that_the_kernel_hears_at_once_waits_for_no_others() -> None:
    others: list[str] = []
    descriptor = Descriptor(open_socket(socket.AF_INET), quick_ack=True)
    gevent.spawn(others.append, "ran")
    with pytest.raises(StepFailure) as refused:
        descriptor.connect(("127.0.0.1", free_port()))
    assert (refused.value.outcome, others) == (Outcome.REFUSED, [])
    descriptor.shut_down()
