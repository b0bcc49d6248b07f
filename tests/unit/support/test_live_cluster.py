"""When the API server serves the kind of a CRD, by what the CRD's status says."""

from typing import Any

import pytest
from live_cluster import is_established

AT_ONCE = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}
"""What a real API server answers to the creation."""
NAMED = {"type": "NamesAccepted", "status": "True"}


@pytest.mark.parametrize(
    ("status", "is_served"),
    [
        pytest.param(AT_ONCE, False, id="just created"),
        pytest.param({}, False, id="without a status"),
        pytest.param({"conditions": [NAMED, {"type": "Established", "status": "False"}]}, False, id="being installed"),
        pytest.param({"conditions": [NAMED, {"type": "Established", "status": "True"}]}, True, id="established"),
    ],
)
def test_a_kind_is_served_once_its_crd_says_so(status: dict[str, Any], *, is_served: bool) -> None:
    assert is_established(status) is is_served
