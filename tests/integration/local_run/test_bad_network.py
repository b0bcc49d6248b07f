"""A share of what `make chaos WHAT=network` runs whole: bad networks between a worker and a real sshd."""

from pathlib import Path

import pytest
from bad_network import NETWORK_FAULTS, bad_network, far_server, problems, run_through
from ssh_server import make_keys
from sshload_contract.client import Library


@pytest.mark.root
@pytest.mark.parametrize(
    ("name", "library"),
    [
        pytest.param("50 ms each way", Library.SSH2_PYTHON, marks=pytest.mark.full),
        ("a packet of 10 is lost", Library.PARAMIKO),
        ("silence in the middle of the output", Library.ASYNCSSH),
        pytest.param("packets of more than 600 bytes vanish", Library.OPENSSH, marks=pytest.mark.full),
        ("reset in the middle of the output", Library.SSH2_PYTHON),
    ],
)
def test_a_run_through_a_bad_network_ends_in_its_outcomes_and_counts_them(
    tmp_path: Path, name: str, library: Library
) -> None:
    fault = NETWORK_FAULTS[name]
    with bad_network() as network, far_server(network, tmp_path, make_keys(tmp_path)) as server:
        ended, passed = run_through(network, server, tmp_path, fault, library)
    assert list(problems(fault, ended)) == []
    assert passed.passed
