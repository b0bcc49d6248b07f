"""Groups that a server chooses: which are taken, and the CPU time of those."""

from time import thread_time

import pytest
from paramiko.kex_group14 import KexGroup14SHA256
from paramiko.kex_group16 import KexGroup16SHA512
from run_configs import client
from sshload_worker.clients.group_exchange import MOST_BITS, GroupError, is_secret, offered, private_exponent

PRIME = KexGroup14SHA256.P
MOST_CPU_S = 0.5  # 50 ms on a machine ten times as slow


@pytest.mark.parametrize(
    ("generator", "prime"),
    [
        pytest.param(2, 2**2_046 + 1, id="too small"),
        pytest.param(2, 2**4_096 + 1, id="too large"),
        pytest.param(2, 2**1_000_000 + 1, id="a million bits"),
        pytest.param(2, PRIME - 1, id="even"),
        pytest.param(0, PRIME, id="generator 0"),
        pytest.param(1, PRIME, id="generator 1"),
        pytest.param(PRIME - 1, PRIME, id="generator p - 1"),
        pytest.param(PRIME, PRIME, id="generator p"),
        pytest.param(2, -PRIME, id="negative"),
    ],
)
def test_a_group_without_a_secret_or_without_bounds_is_refused(generator: int, prime: int) -> None:
    with pytest.raises(GroupError):
        private_exponent(generator, prime)


def test_each_exponent_is_of_full_size_and_another_one() -> None:
    drawn = {private_exponent(2, PRIME) for _ in range(10)}
    assert len(drawn) == 10
    assert {exponent.bit_length() for exponent in drawn} == {1_024}


def test_the_largest_group_takes_no_more_cpu_time_than_a_call_may() -> None:
    prime = KexGroup16SHA512.P
    assert prime.bit_length() == MOST_BITS
    exponent = private_exponent(2, prime)
    begin_s = thread_time()
    assert is_secret(pow(prime // 3, exponent, prime), prime)
    assert thread_time() - begin_s < MOST_CPU_S


@pytest.mark.parametrize(("value", "is_one"), [(0, False), (1, False), (2, True), (21, True), (22, False), (23, False)])
def test_what_everybody_can_guess_is_no_secret(value: int, is_one: bool) -> None:  # noqa: FBT001 - of a table
    assert is_secret(value, 23) is is_one


def test_none_is_offered_that_no_test_names() -> None:
    preferred = ("curve25519-sha256", "diffie-hellman-group-exchange-sha256", "diffie-hellman-group-exchange-sha1")
    assert offered(client(), preferred) == ("curve25519-sha256",)
