"""Whether a pod's source ports have room for another trial. A closed connection keeps its port for a minute.

Only those count that a trial needs: as many as the one before has opened. A trial of far more that finds too little
room says so itself (contract judgement/validity.py), and is then tried again with what it needs known.
"""

from sshload_contract.judgement.validity import PORTS_SHARE_LIMIT

from sshload_worker.recording.health import available_ports, waiting_ports

TIME_WAIT_S = 60.0
"""How long Linux keeps a closed connection's port (TCP_TIMEWAIT_LEN in include/net/tcp.h)."""


def has_port_room(needed: int) -> bool:
    """Tell whether so many connections may be opened by all processes of the pod, with none of their ports reused."""
    return waiting_ports() + needed <= PORTS_SHARE_LIMIT * available_ports()
