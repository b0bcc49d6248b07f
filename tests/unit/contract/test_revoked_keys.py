from itertools import pairwise

import pytest
from sshload_contract.wire.target import RevokedKeys


@pytest.mark.parametrize(
    ("share", "users", "revoked"),
    [
        (0.0, 5, []),
        (1.0, 3, [1, 2, 3]),
        (0.5, 5, [2, 4]),
        (0.2, 20, [5, 10, 15, 20]),
        (0.29, 100, 29),
        (0.001, 100_000, 100),
    ],
)
def test_a_share_of_the_users_is_revoked_spread_evenly(share: float, users: int, revoked: list[int] | int) -> None:
    found = list(RevokedKeys(share, 0).of(users))
    assert (len(found) if isinstance(revoked, int) else found) == revoked
    assert all(after - before > 0.9 / share - 1 for before, after in pairwise(found))
