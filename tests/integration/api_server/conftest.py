"""Dry runs against the API server."""

import pytest
from api_server import ApiServer
from dry_run import DryRun


@pytest.fixture(scope="session")
def dry_run(api_server: ApiServer) -> DryRun:
    """Return what says of an object whether the API server accepts it."""
    return DryRun(api_server.namespace())
