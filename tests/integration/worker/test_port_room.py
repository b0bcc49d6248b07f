import subprocess
import sys

import pytest
from sshload_contract.wire.report import PORTS_SHARE_LIMIT
from sshload_worker.recording.health import available_ports, has_port_room


@pytest.mark.root
def test_there_is_room_for_few_connections_in_a_network_that_nobody_else_uses() -> None:
    ask = (
        "from sshload_worker.recording.health import has_port_room; print(has_port_room(0, 22), has_port_room(10, 22))"
    )
    command = ["unshare", "--net", sys.executable, "-c", ask]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() == ["True", "True"]


def test_there_is_never_room_for_more_connections_than_a_run_may_use() -> None:
    assert not has_port_room(round(PORTS_SHARE_LIMIT * available_ports()) + 1, 22)
