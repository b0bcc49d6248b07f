import pytest
from sshload_contract.vocabulary import Timing, is_of_jump_host, measured_step

PARTS_OF_A_LOGIN = (Timing.CONNECT, Timing.BANNER, Timing.KEX, Timing.AUTH, Timing.LOGIN)


@pytest.mark.parametrize("step", Timing)
def test_a_jump_hosts_timings_are_those_of_its_login_whatever_steps_are_named(step: str) -> None:
    assert is_of_jump_host(measured_step("via1", step)) is (step in PARTS_OF_A_LOGIN)
    assert not is_of_jump_host(measured_step("via", step))
    assert not is_of_jump_host(step)
