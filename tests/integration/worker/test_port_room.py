from sshload_contract.judgement.validity import PORTS_SHARE_LIMIT
from sshload_worker.recording.health import available_ports
from sshload_worker.recording.port_room import has_port_room


def test_there_is_room_for_few_connections_and_never_for_more_than_a_run_may_use() -> None:
    assert has_port_room(0)
    assert not has_port_room(round(PORTS_SHARE_LIMIT * available_ports()) + 1)
