"""check_name: which names an object may have."""

import pytest
from specs.names import FIT, UNFIT
from sshload_operator.api.names import check_name
from sshload_operator.api.shapes.errors import SpecError


@pytest.mark.parametrize("name", FIT)
def test_a_name_passes_that_kubernetes_accepts(name: str) -> None:
    check_name(name)


@pytest.mark.parametrize("name", ["", *UNFIT])
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match=r"metadata\.name: is"):
        check_name(name)
