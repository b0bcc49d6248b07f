"""What a login of the target waits for before it is made ready."""

import socket
from dataclasses import replace

import gevent
import pytest
from free_ports import free_port
from run_configs import NOWHERE, arrivals, run_config
from sshload_contract.client import Auth, Library
from sshload_contract.kerberos import Kdc, Kerberos, Realm
from sshload_worker.outcomes import GeneratorFaultError
from sshload_worker.scenario.target_login import prepare_login

_SOON_S = 0.3
_PATIENT_S = 10.0


@pytest.mark.parametrize("is_managed", [True, False])
def test_a_kdc_that_begins_with_the_run_is_waited_for(*, is_managed: bool) -> None:
    """Each user who has no ticket would fail at the first login."""
    port = free_port()
    kerberos = Kerberos((Realm("SSHLOAD.TEST", (Kdc("127.0.0.1", port),), ()),), fresh_tickets=False)
    config = run_config(replace(NOWHERE, host="127.0.0.1", auth=Auth.PUBLICKEY), arrivals(1, 1.0))
    client = replace(config.client, library=Library.ASYNCSSH, kerberos=kerberos)
    config = replace(config, client=client, stats_url="http://127.0.0.1:1" if is_managed else "")
    preparing = gevent.spawn(_fault_of, lambda: prepare_login(config, ()))
    gevent.sleep(_SOON_S)
    assert preparing.ready() is not is_managed
    with socket.create_server(("127.0.0.1", port)):
        assert "private key" in preparing.get(timeout=_PATIENT_S)


def _fault_of(prepare: object) -> str:
    assert callable(prepare)
    with pytest.raises(GeneratorFaultError) as fault:
        prepare()
    return str(fault.value)
