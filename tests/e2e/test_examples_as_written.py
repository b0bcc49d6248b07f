"""The examples exactly as they are written: the API server accepts them, in a namespace that has none of them."""

from pathlib import Path

import pytest
from live_cluster import LiveCluster
from short_examples import EXAMPLES

pytestmark = pytest.mark.xdist_group("examples as they are written")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_api_server_accepts_the_example(path: Path, cluster: LiveCluster) -> None:
    said = cluster.kubectl("create", "--dry-run=server", "--validate=strict", "-f", str(path))
    assert all(line.endswith("created (server dry run)") for line in said.splitlines()), said
