"""The examples exactly as they are written: the API server accepts them, in a namespace that has none of them."""

from live_cluster import LiveCluster
from short_examples import EXAMPLES


def test_the_api_server_accepts_every_example(cluster: LiveCluster) -> None:
    files = [f"--filename={path}" for path in sorted(EXAMPLES.glob("*.yaml"))]
    said = cluster.kubectl("create", "--dry-run=server", "--validate=strict", *files).splitlines()
    assert len(said) >= len(files)
    assert all(line.endswith("created (server dry run)") for line in said), said
