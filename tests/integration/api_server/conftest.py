"""Dry runs against the API server."""

import pytest
from api_server import ApiServer, DryRun


@pytest.fixture(scope="module")
def dry_run(api_server: ApiServer) -> DryRun:
    """Return what says of an object whether the API server accepts it.

    Each file has one of its own: the server closes connections that were idle for 90 s, as they are between files.
    """
    return DryRun(api_server.namespace())
