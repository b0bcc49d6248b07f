"""What a worker waits for before it makes the logins of the target ready."""

import socket
from dataclasses import replace

import gevent
import pytest
from free_ports import free_port
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.client import Library
from sshload_contract.kerberos import Kdc, Kerberos, Realm
from sshload_worker.scenario.target_login import wait_for_kdcs

_SOON_S = 0.3
_PATIENT_S = 10.0


@pytest.mark.parametrize("is_managed", [True, False])
def test_a_kdc_that_begins_with_the_run_is_waited_for_and_what_it_lacks_is_told(*, is_managed: bool) -> None:
    """Each user who has no ticket would fail at the first login."""
    port = free_port()
    kerberos = Kerberos((Realm("SSHLOAD.TEST", (Kdc("127.0.0.1", port),), ()),), fresh_tickets=False)
    config = run_config(NOWHERE, arrivals(1, 1.0))
    client = replace(config.client, library=Library.ASYNCSSH, kerberos=kerberos)
    config = replace(config, client=client, stats_url="http://127.0.0.1:1" if is_managed else "")
    told: list[str] = []
    waiting = gevent.spawn(wait_for_kdcs, config, told.append)
    gevent.sleep(_SOON_S)
    assert waiting.ready() is not is_managed
    assert set(told) == ({f"the KDC at 127.0.0.1:{port}: Connection refused"} if is_managed else set())
    with socket.create_server(("127.0.0.1", port)):
        waiting.get(timeout=_PATIENT_S)
