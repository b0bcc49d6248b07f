"""The chart brings CRDs and cluster roles, so its tests have an API server that no other tests use."""

import pytest
from api_server import ApiServer


@pytest.fixture
def api_server(own_api_server: ApiServer) -> ApiServer:
    """Return an API server whose CRDs and cluster roles may be changed."""
    return own_api_server
