"""Student's t, held against the tables."""

import pytest
from sshload_contract.students_t import two_sided_t


@pytest.mark.parametrize(
    ("degrees", "t"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (7, 2.3646), (9, 2.2622), (30, 2.0423), (49, 2.0096)],
)
def test_students_t_is_the_tables(degrees: int, t: float) -> None:
    assert two_sided_t(0.95, degrees) == pytest.approx(t, abs=1e-4)
