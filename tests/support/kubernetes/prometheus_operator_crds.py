"""The CRDs of the Prometheus operator, as its own module has them.

As a program, it fetches them: `make test` does so early, and the tests wait for nothing.
"""

import json
import shutil
from pathlib import Path
from typing import Final

from go_programs import Go, compiled

KINDS: Final = ("PodMonitor", "PrometheusRule", "ServiceMonitor")
"""The kinds of which the chart makes objects."""

_SOURCES: Final = Path(__file__).parent / "prometheus_operator"
_MODULE: Final = "github.com/prometheus-operator/prometheus-operator"


def crds() -> list[Path]:
    """Return the CRDs of the kinds, fetched where they are not there yet, from a module whose hash go.sum locks."""
    return sorted(compiled("prometheus_operator", [*_SOURCES.iterdir(), Path(__file__)], _fetch).iterdir())


def _fetch(go: Go, made: Path) -> None:
    module = Path(json.loads(go.run(_SOURCES, "mod", "download", "-json", _MODULE))["Dir"])
    for kind in KINDS:
        shutil.copy(module / f"example/prometheus-operator-crd/monitoring.coreos.com_{kind.lower()}s.yaml", made)


if __name__ == "__main__":
    crds()
